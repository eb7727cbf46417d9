package target

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestSettingsCarryTimingsAndOverrides(t *testing.T) {
	s, err := BuiltIn().Settings(map[string]int64{"liveness_ms": -1, "retries": 2})
	if err != nil {
		t.Fatal(err)
	}
	if s.CallTimeoutMS != 5000 || s.CooldownMS != 600 || s.LivenessMS != -1 || s.Retries != 2 || s.DemandIntervalMS != 300 {
		t.Fatalf("%+v", s)
	}
	if s, err := (Profile{}).Settings(nil); err != nil || s.CallTimeoutMS != 0 {
		t.Fatal(s, err)
	}
	if (Profile{}).CallTimeout() != UndeclaredCall || BuiltIn().CallTimeout().Seconds() != 5 {
		t.Fatal("call timeout")
	}
}

func TestProgramsOfATestBinaryMustBeGiven(t *testing.T) {
	if _, err := FindPrograms(t.Context(), "", ""); !errors.Is(err, ErrNoProgram) {
		t.Fatal(err)
	}
	dir := t.TempDir()
	unwedge := filepath.Join(dir, "unwedge")
	if _, err := FindPrograms(t.Context(), unwedge, ""); !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(unwedge, "#!/bin/sh\n")
	helper := filepath.Join(dir, "unwedge-helper")
	for text, want := range map[string]string{
		"#!/bin/sh\necho 0.0.1-other\n":          "",
		"#!/bin/sh\nexit 1\n":                    "",
		"#!/bin/sh\necho unwedge-helper 0.1.0\n": helper,
	} {
		write(helper, text)
		p, err := FindPrograms(t.Context(), unwedge, "")
		if err != nil || p.Helper != want {
			t.Errorf("%q: %+v %v", text, p, err)
		}
	}
	p := Programs{Unwedge: "/u"}
	if got := p.Small("keeper"); len(got) != 3 || got[1] != "internal" {
		t.Fatal(got)
	}
}

const good = `
name: mygw
version: 0.11.0
command: [node, "{{here}}/driver.mjs"]
env: {MODE: test}
eras: [legacy]
spawns: per-session
transports: [stdio]
timings: {call: 300s, connect: 60s, cooldown: 60s, strikes: 3, backoff_min: 1s, backoff_max: 60s}
`

func TestProfileFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mine.yaml")
	if err := os.WriteFile(file, []byte(good), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := Resolve(file)
	if err != nil {
		t.Fatal(err)
	}
	if p.Kind != KindDriver || p.Name != "mygw" || p.Timings.Cooldown.D() != time.Minute || p.BuiltIn {
		t.Fatalf("%+v", p)
	}
	if got := p.command(Programs{}); got[1] != filepath.Join(filepath.Dir(file), "driver.mjs") {
		t.Fatal(got)
	}
	if p, err := Parse("x/other.yaml", []byte("command: [a]")); err != nil || p.Name != "other" || p.Timings != nil {
		t.Fatal(p, err)
	}
}

func TestProfileMistakesAreLocated(t *testing.T) {
	for text, want := range map[string]string{
		"comand: [x]":                           `m.yaml:1:1: unknown field "comand"; did you mean "command"?`,
		"name: x":                               "m.yaml:1:1: a driver needs a command",
		"command: [x]\nspawns: per-serv":        `did you mean "per-server"?`,
		"command: [x]\ntimings: {cooldown: 1s}": "m.yaml:2:10: timings need call",
		"command: [x]\neras: [modrn]":           `m.yaml:2:8: "modrn" is none of legacy, modern; did you mean "modern"?`,
		"command: [x]\nkind: gateway":           `"gateway" is none of driver`,
		"command: [x]\ntimings: {call: 5}":      "m.yaml:2:17",
		"command: [x]\ntimings: {call: 5s, connect: 1s, backoff_min: 2s, backoff_max: 1s}": "less than backoff_min",
		"command: [x]\ntimings: {call: 5s, connect: 1s, retries: -1}":                      "m.yaml:2:43: -1 is negative",
	} {
		_, err := Parse("m.yaml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestUnknownTargets(t *testing.T) {
	var u *UnknownError
	if _, err := Resolve("bulitin"); !errors.As(err, &u) || u.Suggestion != BuiltInName {
		t.Fatal(err)
	}
	if _, err := Resolve("no/such.yaml"); !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"": BuiltInName, "builtin": BuiltInName, "bare": BareName, "naive": NaiveName} {
		if p, err := Resolve(name); err != nil || p.Name != want {
			t.Fatal(p, err)
		}
	}
}
