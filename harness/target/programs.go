package target

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/unwedge/unwedge/internal/buildinfo"
)

// ErrNoProgram says that this process is not the unwedge command and was not told where that is.
var ErrNoProgram = errors.New("the unwedge program is not known: set Options.Unwedge (a test binary has no verbs)")

const (
	mainPackage = "github.com/unwedge/unwedge/cmd/unwedge"
	helperName  = "unwedge-helper"
	versionWait = 10 * time.Second // the helper says its version in a few milliseconds
)

// Programs are what the harness starts. One installed file is enough: without a helper, `unwedge internal` does the same, slower.
type Programs struct {
	Unwedge string
	Helper  string // empty: `unwedge internal`
}

// FindPrograms fills in what is not given: the running program, and the helper beside it when its version matches.
func FindPrograms(ctx context.Context, unwedge, helper string) (Programs, error) {
	if unwedge == "" {
		info, ok := debug.ReadBuildInfo()
		if !ok || info.Path != mainPackage {
			return Programs{}, ErrNoProgram
		}
		self, err := os.Executable()
		if err != nil {
			return Programs{}, fmt.Errorf("finding the unwedge program: %w", err)
		}
		unwedge = self
	}
	unwedge, err := filepath.Abs(unwedge) // labs have folders of their own
	if err != nil {
		return Programs{}, err
	}
	if _, err := os.Stat(unwedge); err != nil {
		return Programs{}, fmt.Errorf("finding the unwedge program: %w", err)
	}
	p := Programs{Unwedge: unwedge, Helper: helper}
	if helper == "" {
		p.Helper = besides(ctx, unwedge)
	} else if p.Helper, err = filepath.Abs(helper); err != nil {
		return Programs{}, err
	}
	return p, nil
}

// besides is the helper in the same folder, empty when there is none of this version.
func besides(ctx context.Context, unwedge string) string {
	name := helperName
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	path := filepath.Join(filepath.Dir(unwedge), name)
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, versionWait)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "version").Output()
	if err != nil {
		return ""
	}
	words := strings.Fields(string(bytes.TrimSpace(out)))
	if len(words) == 0 || words[len(words)-1] != buildinfo.Version {
		return ""
	}
	return path
}

// Small is the command line of a verb that both programs have: "stdio", "holder", "keeper".
func (p Programs) Small(verb string, args ...string) []string {
	if p.Helper != "" {
		return append([]string{p.Helper, verb}, args...)
	}
	return p.Internal(verb, args...)
}

// Internal is the command line of a verb that only unwedge has: "http", "proxy".
func (p Programs) Internal(verb string, args ...string) []string {
	return append([]string{p.Unwedge, "internal", verb}, args...)
}
