package target

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/faults"
	"github.com/unwedge/unwedge/internal/strictyaml"
)

// Words of Profile.Spawns: when a target starts a stdio server.
const (
	SpawnsPerServer  = "per-server" // the default: once, and again when it has died
	SpawnsPerSession = "per-session"
	SpawnsPerRequest = "per-request"
)

var (
	kinds      = []string{KindDriver}
	spawns     = []string{SpawnsPerServer, SpawnsPerSession, SpawnsPerRequest}
	transports = []string{faults.Stdio, faults.HTTP}
	eras       = []string{string(script.Legacy), string(script.Modern)}
	supports   = []string{"reconnect", "status", "events"}
)

// UnknownError says that a target is neither a built-in profile nor a file.
type UnknownError struct {
	Name       string
	Suggestion string // may be empty
}

func (e *UnknownError) Error() string {
	s := fmt.Sprintf("unknown target %q: write %s or the name of a profile file (.yaml)", e.Name, strings.Join(ownNames(), ", "))
	if e.Suggestion != "" {
		s += fmt.Sprintf("; did you mean %q?", e.Suggestion)
	}
	return s
}

// Resolve finds a target by its name or by its profile's file. Empty is the built-in supervisor. Errors: *UnknownError, those of
// Parse, or why the file cannot be read.
func Resolve(nameOrFile string) (Profile, error) {
	if nameOrFile == "" {
		return BuiltIn(), nil
	}
	for _, p := range Own() {
		if p.Name == nameOrFile {
			return p, nil
		}
	}
	data, err := os.ReadFile(nameOrFile)
	if err != nil {
		if looksLikeFile(nameOrFile) {
			return Profile{}, fmt.Errorf("reading the target's profile: %w", err)
		}
		return Profile{}, &UnknownError{
			Name: nameOrFile, Suggestion: strictyaml.Suggest(nameOrFile, ownNames()),
		}
	}
	return Parse(nameOrFile, data)
}

func ownNames() []string {
	var names []string
	for _, p := range Own() {
		names = append(names, p.Name)
	}
	return names
}

func looksLikeFile(name string) bool {
	return strings.ContainsAny(name, `/\`) || slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(name))
}

// Parse reads a profile file. The error is a *strictyaml.Error, or joins several. It never panics.
func Parse(file string, data []byte) (Profile, error) {
	p := Profile{Kind: KindDriver}
	if err := strictyaml.Decode(file, data, &p); err != nil {
		return Profile{}, err
	}
	abs, err := filepath.Abs(file)
	if err != nil {
		return Profile{}, err
	}
	p.File = abs
	if p.Name == "" {
		p.Name = strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	}
	c := checker{file: file, data: data}
	c.check(p)
	if len(c.errs) == 1 {
		return Profile{}, c.errs[0]
	}
	if len(c.errs) > 1 {
		return Profile{}, errors.Join(c.errs...)
	}
	return p, nil
}

// checker finds what is well-formed and still wrong.
type checker struct {
	file string
	data []byte
	errs []error
}

func (c *checker) add(path, format string, args ...any) {
	c.errs = append(c.errs, strictyaml.At(c.file, c.data, path, fmt.Sprintf(format, args...), ""))
}

func (c *checker) word(path, value string, known []string) {
	if !slices.Contains(known, value) {
		c.errs = append(c.errs, strictyaml.At(c.file, c.data, path,
			fmt.Sprintf("%q is none of %s", value, strings.Join(known, ", ")), strictyaml.Suggest(value, known)))
	}
}

func (c *checker) check(p Profile) {
	c.word("kind", p.Kind, kinds)
	if len(p.Command) == 0 || p.Command[0] == "" {
		c.add("command", "a driver needs a command: a list of the program and its arguments")
	}
	for i, e := range p.Eras {
		c.word(fmt.Sprintf("eras[%d]", i), string(e), eras)
	}
	if p.Spawns != "" {
		c.word("spawns", p.Spawns, spawns)
	}
	for i, t := range p.Transports {
		c.word(fmt.Sprintf("transports[%d]", i), t, transports)
	}
	for i, s := range p.Supports {
		c.word(fmt.Sprintf("supports[%d]", i), s, supports)
	}
	t := p.Timings
	if t == nil {
		return
	}
	if t.Call <= 0 {
		c.add("timings", "timings need call, the timeout of a call: without it no bound is known")
	}
	if t.Connect <= 0 {
		c.add("timings", "timings need connect, the timeout of a connect")
	}
	for _, n := range []struct {
		name  string
		value int
	}{{"strikes", t.Strikes}, {"retries", t.Retries}, {"liveness_misses", t.LivenessMisses}} {
		if n.value < 0 {
			c.add("timings."+n.name, "%d is negative", n.value)
		}
	}
	if t.BackoffMax > 0 && t.BackoffMax < t.BackoffMin {
		c.add("timings.backoff_max", "it is less than backoff_min")
	}
}
