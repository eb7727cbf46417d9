// Package redact removes configured secrets from texts that people will see: errors, events,
// logs, the tail of a server's stderr (SUP-13).
//
// A newcomer most often changes variants, the list of ways in which a value may be written.
// The package imports the standard library only.
package redact

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Mark stands where a secret was.
const Mark = "[redacted]"

// minSecret is the shortest value that is treated as a secret. Shorter ones ("1", "on") cannot be
// told from ordinary text, and removing them would make every message unreadable.
const minSecret = 4

// minTrace is how much of a secret may stand at the end of a text that is still growing before
// it is hidden as well.
const minTrace = 2

// A Redactor knows secrets. The nil Redactor knows none. It is safe for concurrent use.
type Redactor struct {
	secrets []string // longest first, so that a secret that holds another one goes whole
	replace *strings.Replacer
}

// New returns a redactor of these values and of the ways in which they are usually written:
// quoted, in JSON, in URLs, base64, and the part after the scheme of an Authorization value.
func New(values ...string) *Redactor {
	var all []string
	for _, v := range values {
		all = append(all, v)
		if _, token, ok := strings.Cut(v, " "); ok { // "Bearer abc"
			all = append(all, strings.TrimSpace(token))
		}
	}
	var secrets []string
	for _, v := range all {
		if len(v) >= minSecret {
			secrets = append(secrets, variants(v)...)
		}
	}
	slices.SortFunc(secrets, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	secrets = slices.Compact(secrets)
	if len(secrets) == 0 {
		return nil
	}
	pairs := make([]string, 0, 2*len(secrets))
	for _, s := range secrets {
		pairs = append(pairs, s, Mark)
	}
	return &Redactor{secrets: secrets, replace: strings.NewReplacer(pairs...)}
}

func variants(v string) []string {
	quoted := strconv.Quote(v)
	out := []string{
		v, quoted[1 : len(quoted)-1], url.QueryEscape(v), url.PathEscape(v),
		base64.StdEncoding.EncodeToString([]byte(v)),
	}
	if j, err := json.Marshal(v); err == nil {
		out = append(out, string(j[1:len(j)-1]))
	}
	for line := range strings.Lines(v) { // a key in PEM form is printed line by line
		if line = strings.TrimSpace(line); len(line) >= 2*minSecret && line != v {
			out = append(out, line)
		}
	}
	return out
}

// String returns s without secrets.
func (r *Redactor) String(s string) string {
	if r == nil {
		return s
	}
	return r.replace.Replace(s)
}

// Longest is the length of the longest secret. Whoever keeps only the end of a stream must keep so
// many bytes more, or half of a secret may stand at the cut.
func (r *Redactor) Longest() int {
	if r == nil {
		return 0
	}
	return len(r.secrets[0])
}

// Tail returns the last bytes of a stream that may go on, without secrets: neither whole ones, nor
// the beginning of one whose rest has not come yet, nor, when cut says that the front of raw was cut
// off somewhere, the end of one at the front. At most limit bytes are returned.
func (r *Redactor) Tail(raw []byte, cut bool, limit int) string {
	if r == nil {
		return string(raw[max(0, len(raw)-limit):])
	}
	raw = raw[:len(raw)-r.unfinished(raw)]
	if cut {
		raw = raw[r.orphaned(raw):]
	}
	s := r.replace.Replace(string(raw))
	return s[max(0, len(s)-limit):]
}

// unfinished is the length of the longest end of raw that is a beginning of a secret.
func (r *Redactor) unfinished(raw []byte) int {
	longest := 0
	for _, s := range r.secrets {
		for n := min(len(s)-1, len(raw)); n >= minTrace && n > longest; n-- {
			if bytes.HasSuffix(raw, []byte(s[:n])) {
				longest = n
				break
			}
		}
	}
	return longest
}

// orphaned is the length of the longest beginning of raw that is an end of a secret.
func (r *Redactor) orphaned(raw []byte) int {
	longest := 0
	for _, s := range r.secrets {
		for n := min(len(s)-1, len(raw)); n >= 1 && n > longest; n-- {
			if bytes.HasPrefix(raw, []byte(s[len(s)-n:])) {
				longest = n
				break
			}
		}
	}
	return longest
}
