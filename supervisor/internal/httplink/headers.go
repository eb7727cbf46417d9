package httplink

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

const (
	headerSession   = "Mcp-Session-Id"
	headerVersion   = "Mcp-Protocol-Version"
	headerLastEvent = "Last-Event-Id"

	firstModern = "2026-07-28"

	typeJSON   = "application/json"
	typeStream = "text/event-stream"
)

// protocolHeaders belong to go-sdk; a configured one would break the session.
var protocolHeaders = map[string]bool{
	"Content-Type": true, "Content-Length": true, "Accept": true, headerSession: true, headerVersion: true, headerLastEvent: true,
	"Mcp-Method": true, "Mcp-Name": true,
}

// addHeader takes a configured header. Errors name it and never show its value.
func (l *Link) addHeader(name, value string) error {
	key := http.CanonicalHeaderKey(name)
	switch {
	case !httpguts.ValidHeaderFieldName(name):
		return fmt.Errorf("header name %q is not allowed in http", name)
	case !httpguts.ValidHeaderFieldValue(value):
		return fmt.Errorf("the value of header %q holds characters that are not allowed in http", name)
	case protocolHeaders[key]:
		return fmt.Errorf("header %q belongs to the protocol and cannot be configured", name)
	}
	l.headers[key] = []string{value}
	return nil
}

// minSecret is the length from which on a configured value is hidden. Shorter ones are flags and versions;
// hiding "1" everywhere would make every text unreadable and guard nothing.
const minSecret = 4

// redactor replaces the values, and the words of those that have several ("Bearer abc": "abc" alone too).
func redactor(values []string) *strings.Replacer {
	var all []string
	for _, v := range values {
		all = append(all, v)
		if words := strings.Fields(v); len(words) > 1 {
			all = append(all, words[1:]...)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Compare(len(b), len(a)) }) // the longest wins
	var pairs []string
	for _, v := range all {
		if len(v) >= minSecret {
			pairs = append(pairs, v, "[redacted]")
		}
	}
	return strings.NewReplacer(pairs...)
}

// secretsOf finds what people put into URLs: passwords, and keys in the query.
func secretsOf(u *url.URL) []string {
	var found []string
	if p, ok := u.User.Password(); ok {
		found = append(found, p)
	}
	for _, values := range u.Query() {
		for _, v := range values {
			found = append(found, v, url.QueryEscape(v))
		}
	}
	return found
}

// clean takes secrets out of a text: configured values, and the session id, which is as good as a password
// for the session.
func (l *Link) clean(text string) string {
	text = l.hide.Replace(text)
	l.mu.Lock()
	session := l.session
	l.mu.Unlock()
	if session != "" {
		text = strings.ReplaceAll(text, session, "[session]")
	}
	return text
}

func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return strings.ToLower(u.Scheme + "://" + u.Hostname() + ":" + port)
}

// sameOrigin guards credentials: configured headers go to the endpoint's origin alone.
func sameOrigin(a, b *url.URL) bool { return origin(a) == origin(b) }
