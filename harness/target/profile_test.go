package target

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
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
