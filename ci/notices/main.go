// Command notices writes NOTICES.md: the licence texts of every module that is linked into the programs.
//
//	go run ./ci/notices
package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	text, err := notices()
	if err == nil {
		err = os.WriteFile("NOTICES.md", text, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "notices:", err)
		os.Exit(1)
	}
}

// notices collects the texts, each once, with the modules it covers.
func notices() ([]byte, error) {
	const format = `{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}`
	out, err := exec.Command("go", "list", "-deps", "-f", format, "./cmd/...").Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	slices.Sort(lines)
	var order []string
	covers := map[string][]string{}
	for _, l := range slices.Compact(lines) {
		f := strings.Fields(l)
		if len(f) != 3 {
			continue
		}
		text, err := licence(f[2])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f[0], err)
		}
		if covers[text] == nil {
			order = append(order, text)
		}
		covers[text] = append(covers[text], f[0]+" "+f[1])
	}
	var b bytes.Buffer
	b.WriteString("# Notices\n\nThe unwedge programs contain the modules below, under these licences. Made by `go run ./ci/notices`.\n")
	for _, text := range order {
		fmt.Fprintf(&b, "\n## %s\n\n```\n%s\n```\n", strings.Join(covers[text], ", "), text)
	}
	return b.Bytes(), nil
}

// licence reads the licence files at the root of a module.
func licence(dir string) (string, error) {
	var parts []string
	for _, glob := range []string{"LICEN[CS]E*", "COPYING*", "NOTICE*"} {
		files, err := filepath.Glob(filepath.Join(dir, glob))
		if err != nil {
			return "", err
		}
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err != nil {
				return "", err
			}
			parts = append(parts, strings.ReplaceAll(strings.TrimSpace(string(data)), "```", "'''"))
		}
	}
	if len(parts) == 0 {
		return "", fmt.Errorf("no licence file in %s", dir)
	}
	return strings.Join(parts, "\n\n"), nil
}
