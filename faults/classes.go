package faults

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

// Class is a family of faults. Its slug is the first part of the ids of its faults.
type Class struct {
	Slug  string
	Group string // "A" ... "J"
	// Like is the class whose public reports come nearest, for a class that has none of its own; else empty.
	Like string
}

// Group is a letter and what its classes have in common.
type Group struct {
	Letter, Title string
	classes       []string
}

// groups is every class of fault that was found in public reports, in the order in which lists show them. Not every
// class has a fault in the catalogue yet.
var groups = []Group{
	{"A", "Subprocess", []string{
		"child-killed-mid-call", "child-dies-idle", "child-exits-before-init",
		"exits-after-initialize", "child-never-speaks", "slow-initialize", "crash-loop",
		"grandchild-survives-kill", "grandchild-holds-pipe", "wrapper-needs-eof-first",
		"child-stops-reading-stdin", "healthy-child-killed", "respawn-without-reap",
		"orphan-after-client-death", "probe-spawn-leaks", "cancel-corrupts-teardown",
	}},
	{"B", "Stdio framing", []string{
		"stdout-noise", "stdout-invalid-utf8", "stdout-huge-line", "stdout-endless-or-partial-line",
		"stderr-pipe-full", "stdin-epipe",
	}},
	{"C", "HTTP transport", []string{
		"http-reset-mid-call", "sse-ends-without-result", "sse-resume-token",
		"sse-accept-then-drop-loop", "standalone-stream-drop", "get-stream-refused",
		"http-idle-silent-drop", "http-keepalive-race", "http-blackhole-connect",
		"headers-then-stall", "http-5xx", "http-not-mcp-200", "http-body-truncated", "redirect-trap",
		"rate-limited", "tls-or-dns-reason",
	}},
	{"D", "Session", []string{
		"session-404-no-reinit", "session-lost-nonstandard", "get-404-means-session-gone",
		"session-lost-in-recovery", "stale-id-on-init", "handshake-not-replayed",
		"dead-session-reused", "multiplexed-upstream-lost", "session-not-ended",
		"half-open-downstream", "pooled-session-poisoned", "protocol-version-change",
	}},
	{"E", "Auth", []string{
		"oauth-refresh-race", "oauth-expired-token", "oauth-refresh-transient-error",
		"oauth-refresh-dead", "oauth-rotation-persisted", "oauth-lock-poisoned",
		"oauth-step-up-loop", "oauth-metadata-unavailable", "session-pinned-to-old-token",
		"oauth-late-401",
	}},
	{"F", "Breaker and supervisor", []string{
		"breaker-stuck-open", "breaker-probe-dead-transport", "breaker-probe-abandoned",
		"breaker-counts-tool-errors", "retry-budget-then-dead", "server-down-at-startup",
		"one-backend-fails-all", "one-timeout-kills-server", "health-check-wrong", "status-lies",
		"relay-half-dead", "crash-on-client-reconnect", "state-not-restored",
	}},
	{"G", "Load and leaks", []string{
		"reconnect-storm", "all-links-drop-together", "reconnect-race", "concurrent-callers-wedge",
		"leak-on-failed-connect", "leak-per-session",
	}},
	{"H", "Shutdown", []string{
		"child-ignores-stop", "shutdown-open-stream", "shutdown-delete-blackhole",
		"close-with-pending", "host-cannot-exit", "teardown-error-eats-result",
	}},
	{"I", "Tools registry", []string{
		"tools-missing-after-revival", "phantom-tools", "stale-tools-after-restart",
		"list-changed-storm", "list-changed-ignored", "pagination-never-ends",
	}},
	{"J", "Call semantics", []string{
		"server-hangs-mid-call", "timeout-config-ignored", "progress-and-deadline", "cancel-race",
		"wrong-or-duplicate-id", "ping-trouble", "server-request-pending", "replay-non-idempotent",
	}},
}

// own are classes without a row in the public reports. They are said to be what they are: Like names the row whose reports come nearest.
var own = []Class{
	// A frozen process is alive, holds its pipes open and answers nothing. The reports speak of servers whose process and status stay green
	// while every command fails.
	{Slug: "child-stopped", Group: "A", Like: "status-lies"},
	// A client that is not told the era asks for it, and a server of the other era may do anything with the question.
	{Slug: "era-fallback", Group: "D", Like: "protocol-version-change"},
	// Every POST is refused for a while, then accepted again, with no new login. The reports speak of a 401 that comes only after a free handshake.
	{Slug: "http-401-window", Group: "E", Like: "oauth-late-401"},
}

// Groups returns all groups in order. The slice is the caller's.
func Groups() []Group { return slices.Clone(groups) }

// Classes returns every known class, group by group. The slice is the caller's.
func Classes() []Class {
	var all []Class
	for _, g := range groups {
		for _, slug := range g.classes {
			all = append(all, Class{Slug: slug, Group: g.Letter})
		}
		for _, c := range own {
			if c.Group == g.Letter {
				all = append(all, c)
			}
		}
	}
	return all
}

// ClassOf is the part of an id before the slash.
func ClassOf(id string) string {
	slug, _, _ := strings.Cut(id, "/")
	return slug
}

// ClassBySlug finds a class.
func ClassBySlug(slug string) (Class, bool) {
	c, ok := bySlug()[slug]
	return c, ok
}

// bySlug is built once: every fault asks for its class whenever it describes itself.
var bySlug = sync.OnceValue(func() map[string]Class {
	out := map[string]Class{}
	for _, c := range Classes() {
		out[c.Slug] = c
	}
	return out
})

// reportsTSV lists the public reports behind the classes: class, tab, owner/repo#number.
//
//go:embed reports.tsv
var reportsTSV string

var reports = sync.OnceValue(func() map[string][]string {
	by := make(map[string][]string)
	for line := range strings.Lines(reportsTSV) {
		class, report, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if ok && class != "class" {
			by[class] = append(by[class], report)
		}
	}
	return by
})

// Reports returns the public reports of a class, "owner/repo#123" each. The slice is the caller's.
func Reports(class string) []string { return slices.Clone(reports()[class]) }

// ClassOfReport finds the class that a public report was counted under.
func ClassOfReport(report string) (Class, bool) {
	for _, c := range Classes() {
		if slices.Contains(reports()[c.Slug], report) {
			return c, true
		}
	}
	return Class{}, false
}
