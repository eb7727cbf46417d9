package scenario

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/faults"
	"github.com/unwedge/unwedge/internal/strictyaml"
)

// Bounds of a scenario. They keep a typo from starting thousands of processes or a run that never ends.
const (
	maxServers = 100
	maxSteps   = 1000
	maxSpawns  = 100_000
)

// name is what a server may be called: calls are written "server.tool", and targets put the name before a tool's.
var name = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$`)

// report is how a public report is cited.
var report = regexp.MustCompile(`^[\w.-]+/[\w.-]+#\d+$`)

// Problem is one thing that is wrong in a scenario.
type Problem struct {
	Path       string // where, as YAML paths are written: "steps[2].call"
	Message    string
	Suggestion string // the word that was probably meant, or ""
}

func (p *Problem) Error() string {
	s := p.Message
	if p.Path != "" {
		s = p.Path + ": " + s
	}
	if p.Suggestion != "" {
		s += fmt.Sprintf(" (did you mean %q?)", p.Suggestion)
	}
	return s
}

// Problems takes the error of Validate apart.
func Problems(err error) []*Problem {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var out []*Problem
		for _, e := range joined.Unwrap() {
			out = append(out, Problems(e)...)
		}
		return out
	}
	if p, ok := errors.AsType[*Problem](err); ok {
		return []*Problem{p}
	}
	return nil
}

// Validate says whether the scenario can be run. The error joins one *Problem for each thing that is wrong, in the order of the
// file; see Problems.
func Validate(s Scenario) error {
	v := &validator{s: s, on: map[string]string{}}
	v.header()
	v.servers()
	if len(s.Steps) == 0 {
		v.add("steps", "a scenario needs at least one step")
	}
	if len(s.Steps) > maxSteps {
		v.add("steps", "%d steps are more than the %d that a scenario may have", len(s.Steps), maxSteps)
		return v.err()
	}
	for i, st := range s.Steps {
		v.step(fmt.Sprintf("steps[%d]", i), st)
		v.started = v.started || st.Before == ""
	}
	v.rules()
	return v.err()
}

type validator struct {
	s        Scenario
	on       map[string]string // server -> the fault that is on there, by the steps so far
	started  bool              // the steps so far need a target that was started
	life     string            // what the steps so far did to the target; "" when it runs
	problems []error
}

func (v *validator) err() error { return errors.Join(v.problems...) }

func (v *validator) add(path, format string, args ...any) {
	v.problems = append(v.problems, &Problem{Path: path, Message: fmt.Sprintf(format, args...)})
}

// word demands one of a list of words.
func (v *validator) word(path, what, value string, known []string) bool {
	if slices.Contains(known, value) {
		return true
	}
	v.problems = append(v.problems, &Problem{
		Path:       path,
		Message:    fmt.Sprintf("unknown %s %q: write one of %s", what, value, strings.Join(known, ", ")),
		Suggestion: strictyaml.Suggest(value, known),
	})
	return false
}

func (v *validator) header() {
	s := v.s
	if s.Class != "" {
		if _, ok := faults.ClassBySlug(s.Class); !ok {
			v.problems = append(v.problems, &Problem{
				Path: "class", Message: fmt.Sprintf("unknown class %q", s.Class), Suggestion: strictyaml.Suggest(s.Class, classSlugs()),
			})
		}
	}
	for i, r := range s.Reports {
		if !report.MatchString(r) {
			v.add(fmt.Sprintf("reports[%d]", i), "%q is no report: write owner/repo#123", r)
		}
	}
	for i, e := range s.Eras {
		v.word(fmt.Sprintf("eras[%d]", i), "era", string(e), eraWords)
	}
	if s.Expect != "" {
		v.word("expect", "recovery class", s.Expect, classWords)
	}
	if s.Spawns < 0 || s.Spawns > maxSpawns {
		v.add("spawns", "%d does not lie between 0 and %d", s.Spawns, maxSpawns)
	}
	if s.Spawns > 1 && s.NoRespawn {
		v.add("no_respawn", "it allows one spawn, spawns allows %d: leave one of them out", s.Spawns)
	}
	for _, key := range slices.Sorted(maps.Keys(s.Settings)) {
		if v.word("settings."+key, "setting", key, settingWords) && s.Settings[key] < -1 {
			v.add("settings."+key, "%d is less than -1", s.Settings[key])
		}
	}
	for i, n := range s.Needs {
		v.word(fmt.Sprintf("needs[%d]", i), "need", n, needWords)
	}
	if len(s.Servers) > 0 && len(s.InEras()) == 0 {
		v.add("eras", "its faults exist in none of the eras that it applies to")
	}
}

func classSlugs() []string {
	var slugs []string
	for _, c := range faults.Classes() {
		slugs = append(slugs, c.Slug)
	}
	return slugs
}

func (v *validator) servers() {
	if len(v.s.Servers) == 0 {
		v.add("servers", "a scenario needs at least one server, as in servers: {srv: stdio}")
	}
	if len(v.s.Servers) > maxServers {
		v.add("servers", "%d servers are more than the %d that a scenario may have", len(v.s.Servers), maxServers)
	}
	for _, n := range v.names() {
		path, srv := fmt.Sprintf("servers[%q]", n), v.s.Servers[n]
		if name.MatchString(n) {
			path = "servers." + n
		} else {
			v.add(path, "%q is no name for a server: letters, digits, - and _, at most 32 of them", n)
		}
		v.word(path+".transport", "transport", srv.Transport, transports)
		if srv.Proxy && srv.Transport == faults.Stdio {
			v.add(path+".proxy", "only an http server can stand behind a proxy")
		}
		if srv.Launcher != "" && v.word(path+".launcher", "launcher", srv.Launcher, launcherWords) && srv.Transport != faults.Stdio {
			v.add(path+".launcher", "only a stdio server is launched by the target")
		}
		v.script(path+".script", srv)
	}
}

func (v *validator) script(path string, srv Server) {
	for _, p := range script.Problems(script.Validate(srv.Script)) {
		problem := &Problem{Path: path, Message: p.Message, Suggestion: strictyaml.Suggest(p.Value, p.Known)}
		if p.Path != "" {
			problem.Path += "." + p.Path
		}
		v.problems = append(v.problems, problem)
	}
	for i, r := range srv.Script.Rules {
		for j, a := range r.Do {
			where := fmt.Sprintf("%s.rules[%d].do[%d]", path, i, j)
			if srv.Transport == faults.Stdio && a.HTTPOnly() {
				v.add(where, "%s needs an http server", a.Verb())
			}
			if srv.Transport == faults.HTTP && a.StdioOnly() {
				v.add(where, "%s needs a stdio server", a.Verb())
			}
		}
	}
}

// rules refuses two faults whose rules would wake together: a server has one phase.
func (v *validator) rules() {
	ruled := map[string]faults.Info{}
	for _, in := range v.s.Injections() {
		i := in.Fault.What()
		if len(i.Rules) == 0 {
			continue
		}
		if first, ok := ruled[in.Server]; ok && first.ID != i.ID {
			v.add(fmt.Sprintf("steps[%d]", in.Step), "%s and %s would both be on from the first injection: "+
				"a server can have one fault that is a script; put the other one on another server", i.ID, first.ID)
			continue
		}
		ruled[in.Server] = i
	}
}

func (v *validator) names() []string { return slices.Sorted(maps.Keys(v.s.Servers)) }
