// Package state is the folder that all lives of one fake server share: its script, the phase, how many lives there were,
// one-shot tokens, which life served last, the changed tool set, and where the journal is. It is on disk so that it outlives any
// death and works when somebody else's gateway spawns the fake.
//
// Everything that is changed is replaced by an atomic rename; everything that is counted is a file created exclusively. So any
// number of processes may use one folder at once, and none needs a lock. Only the standard library is imported.
package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/unwedge/unwedge/fakeservers/script"
)

// Names inside the folder.
const (
	scriptFile  = "script.json"
	phaseFile   = "phase"
	livesDir    = "lives"
	tokensDir   = "tokens"
	servingFile = "serving"
	toolsFile   = "tools.json"
	journalFile = "journal.jsonl"
)

// Dir is one fake server's folder. Its methods are safe for concurrent use by any number of processes.
type Dir struct{ path string }

// Create makes the folder and writes the script. A folder that already holds a script is refused, and so is a script that
// script.Validate refuses.
func Create(dir string, s script.Script) (*Dir, error) {
	if err := script.Validate(s); err != nil {
		return nil, fmt.Errorf("writing script: %w", err) // before there is a folder
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	d := &Dir{path: abs}
	for _, sub := range []string{livesDir, tokensDir} {
		if err := os.MkdirAll(d.join(sub), 0o700); err != nil {
			return nil, fmt.Errorf("making state folder: %w", err)
		}
	}
	if _, err := os.Stat(d.join(scriptFile)); err == nil {
		return nil, fmt.Errorf("state folder %s is in use: %w", abs, fs.ErrExist)
	}
	return d, d.SetScript(s)
}

// SetScript replaces the script for lives to come; those that run keep theirs.
func (d *Dir) SetScript(s script.Script) error {
	if err := script.Validate(s); err != nil {
		return fmt.Errorf("writing script: %w", err)
	}
	b, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("writing script: %w", err)
	}
	return d.replace(scriptFile, b)
}

// Open opens a folder made by Create.
func Open(dir string) (*Dir, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	d := &Dir{path: abs}
	if _, err := os.Stat(d.join(scriptFile)); err != nil {
		return nil, fmt.Errorf("opening state folder: %w", err)
	}
	return d, nil
}

// Path is the folder's absolute path.
func (d *Dir) Path() string { return d.path }

// JournalPath is where all lives of this server append what they see.
func (d *Dir) JournalPath() string { return d.join(journalFile) }

// Script reads the script.
func (d *Dir) Script() (script.Script, error) {
	var s script.Script
	b, err := os.ReadFile(d.join(scriptFile))
	if err != nil {
		return s, fmt.Errorf("reading script: %w", err)
	}
	if err := json.Unmarshal(b, &s); err != nil {
		return s, fmt.Errorf("reading script: %w", err)
	}
	return s, nil
}

// Phase reads the phase; it is Baseline until SetPhase.
func (d *Dir) Phase() script.Phase {
	b, err := os.ReadFile(d.join(phaseFile))
	if p := strings.TrimSpace(string(b)); err == nil && p != "" {
		return script.Phase(p)
	}
	return script.Baseline
}

// SetPhase changes the phase for all lives to come. Live ones are told by control.Send.
func (d *Dir) SetPhase(p script.Phase) error { return d.replace(phaseFile, []byte(p)) }

// NewLife counts one more life, of process pid, and returns its number, from 1. Two processes never get the same.
func (d *Dir) NewLife(pid int) (int, error) {
	n, err := d.Lives()
	if err != nil {
		return 0, err
	}
	for n++; ; n++ {
		err := d.exclusive(filepath.Join(livesDir, strconv.Itoa(n)), strconv.Itoa(pid))
		if err == nil {
			return n, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return 0, fmt.Errorf("counting lives: %w", err)
		}
	}
}

// Lives returns how many lives there were so far.
func (d *Dir) Lives() (int, error) {
	es, err := os.ReadDir(d.join(livesDir))
	if err != nil {
		return 0, fmt.Errorf("counting lives: %w", err)
	}
	most := 0
	for _, e := range es {
		if n, err := strconv.Atoi(e.Name()); err == nil {
			most = max(most, n)
		}
	}
	return most, nil
}

// Take takes a one-shot token: true for exactly one caller over all processes and all time.
func (d *Dir) Take(token string) bool {
	return d.exclusive(filepath.Join(tokensDir, fileName(token)), "") == nil
}

// Serving returns the life that answered the latest baseline call.
func (d *Dir) Serving() (life int, ok bool) {
	b, err := os.ReadFile(d.join(servingFile))
	if err != nil {
		return 0, false
	}
	life, err = strconv.Atoi(strings.TrimSpace(string(b)))
	return life, err == nil && life > 0
}

// SetServing records the life that answered the latest baseline call.
func (d *Dir) SetServing(life int) error {
	return d.replace(servingFile, []byte(strconv.Itoa(life)))
}

// Tools returns the tool set as changed by a script; ok is false while it was never changed.
func (d *Dir) Tools() (names []string, ok bool) {
	b, err := os.ReadFile(d.join(toolsFile))
	if err != nil || json.Unmarshal(b, &names) != nil {
		return nil, false
	}
	return names, true
}

// SetTools changes the tool set for this and all later lives.
func (d *Dir) SetTools(names []string) error {
	if names == nil {
		names = []string{}
	}
	b, err := json.Marshal(names)
	if err != nil {
		return err
	}
	return d.replace(toolsFile, b)
}

// File returns the path of a further file in the folder, for the packages that keep their own there (control).
func (d *Dir) File(name string) string { return d.join(name) }

// WriteFile replaces a file of the folder atomically, readable by its owner only.
func (d *Dir) WriteFile(name string, b []byte) error { return d.replace(name, b) }

func (d *Dir) join(name string) string { return filepath.Join(d.path, name) }

// replace writes a new file and renames it over the old one: a reader sees the old or the new, never half of one.
func (d *Dir) replace(name string, b []byte) error {
	f, err := os.CreateTemp(d.path, "."+name+"-*")
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	_, err = f.Write(b)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), d.join(name))
	}
	if err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}

// exclusive creates a file that must not exist yet.
func (d *Dir) exclusive(name, content string) error {
	f, err := os.OpenFile(d.join(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// fileName makes any token a plain file name, different tokens giving different names.
func fileName(token string) string {
	var b strings.Builder
	for _, c := range []byte(token) {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "_%02x", c)
		}
	}
	return "t" + b.String()
}
