package target

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// scrubbed is the whole environment of a target: nothing of the harness's but what finding programs needs, and a home of its own inside
// the lab's folder, so that no configuration or cache of the machine takes part and none is touched.
func scrubbed(dir string, extra map[string]string) ([]string, error) {
	home := filepath.Join(dir, "home")
	env := map[string]string{
		"PATH":            os.Getenv("PATH"),
		"LANG":            "C.UTF-8",
		"HOME":            home,
		"TMPDIR":          filepath.Join(dir, "tmp"),
		"XDG_CONFIG_HOME": filepath.Join(home, ".config"),
		"XDG_CACHE_HOME":  filepath.Join(home, ".cache"),
		"XDG_DATA_HOME":   filepath.Join(home, ".local", "share"),
		"XDG_STATE_HOME":  filepath.Join(home, ".local", "state"),
		"XDG_RUNTIME_DIR": filepath.Join(dir, "run"),
	}
	for name, path := range env {
		if name == "PATH" || name == "LANG" {
			continue
		}
		if err := os.MkdirAll(path, 0o700); err != nil {
			return nil, fmt.Errorf("making the target's folders: %w", err)
		}
	}
	if runtime.GOOS == "windows" {
		env["USERPROFILE"], env["TEMP"], env["TMP"] = home, env["TMPDIR"], env["TMPDIR"]
		for _, needed := range []string{"SystemRoot", "ComSpec", "PATHEXT"} { // programs do not start without
			env[needed] = os.Getenv(needed)
		}
	}
	maps.Copy(env, extra)
	var out []string
	for _, name := range slices.Sorted(maps.Keys(env)) {
		out = append(out, name+"="+env[name])
	}
	return out, nil
}

// fill replaces {{unwedge}} by the program and {{here}} by the folder of the profile's file.
func (p Profile) fill(progs Programs, s string) string {
	here := "."
	if p.File != "" {
		here = filepath.Dir(p.File)
	}
	return strings.NewReplacer("{{unwedge}}", progs.Unwedge, "{{here}}", here).Replace(s)
}

func (p Profile) command(progs Programs) []string {
	var argv []string
	for _, a := range p.Command {
		argv = append(argv, p.fill(progs, a))
	}
	return argv
}

func (p Profile) environment(progs Programs) map[string]string {
	env := map[string]string{}
	for k, v := range p.Env {
		env[k] = p.fill(progs, v)
	}
	return env
}
