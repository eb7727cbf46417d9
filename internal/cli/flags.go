package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/unwedge/unwedge/fakeservers/script"
)

// RunFlags are the flags of every verb that runs scenarios.
type RunFlags struct {
	Target      string
	Eras        []string
	Run         string
	Labels      []string
	Jobs        int
	Seed        string
	Out         string
	MaxRecovery time.Duration
	FailOn      string
	NoRerun     bool
	Verbose     bool
	Quiet       bool
}

// Register adds the flags to a verb.
func (f *RunFlags) Register(fs *pflag.FlagSet) {
	fs.StringVarP(&f.Target, "target", "t", "builtin", "what to test: builtin, naive, bare, or a profile file")
	fs.StringSliceVar(&f.Eras, "era", nil, "protocol eras: legacy, modern (default both, where they apply)")
	fs.StringVar(&f.Run, "run", "", "only scenarios whose id matches this glob, such as 'child-*'")
	fs.StringArrayVarP(&f.Labels, "label", "l", nil, "only scenarios with this label (class, group, transport, field); may be repeated, all must match")
	fs.IntVarP(&f.Jobs, "jobs", "j", 0, "scenarios side by side (default: by the number of cores)")
	fs.StringVar(&f.Seed, "seed", "", "seed of a run to repeat, as its first line shows it")
	fs.StringVarP(&f.Out, "out", "o", "", "write the report into this folder: summary.md, verdicts.json, junit.xml, history.jsonl")
	fs.DurationVar(&f.MaxRecovery, "max-recovery", 10*time.Minute, "never wait longer than this for a recovery")
	fs.StringVar(&f.FailOn, "fail-on", "", "comma-separated classes and findings that make exit code 1 (default: all failing ones)")
	fs.BoolVar(&f.NoRerun, "no-rerun", false, "report on the evidence of one run")
	fs.Lookup("no-rerun").Hidden = true // for our own tools: an accusation needs two runs
	fs.BoolVarP(&f.Verbose, "verbose", "v", false, "print every row and story")
	fs.BoolVarP(&f.Quiet, "quiet", "q", false, "no progress, only the report")
}

// eras turns the --era values into eras.
func (f *RunFlags) eras() ([]script.Era, error) {
	var out []script.Era
	for _, s := range f.Eras {
		switch e := script.Era(strings.TrimSpace(s)); e {
		case script.Legacy, script.Modern:
			out = append(out, e)
		default:
			return nil, fmt.Errorf("--era %s: there is %s and %s%s", s, script.Legacy, script.Modern,
				didYouMean(s, []string{string(script.Legacy), string(script.Modern)}))
		}
	}
	return out, nil
}

// seed reads the --seed value; 0 asks for a fresh one.
func (f *RunFlags) seed() (uint64, error) {
	if f.Seed == "" {
		return 0, nil
	}
	v, err := strconv.ParseUint(f.Seed, 16, 64)
	if err != nil {
		return 0, fmt.Errorf("--seed %s: a seed is a hexadecimal number, as the first line of a run shows it", f.Seed)
	}
	return v, nil
}
