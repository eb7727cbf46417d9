package scenario

import (
	"maps"
	"slices"
	"strings"

	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/faults"
)

// Injection is one fault that a scenario injects.
type Injection struct {
	Step   int // index into Steps
	Server string
	Fault  faults.Fault
}

// Injections returns what the scenario injects, in the order of its steps; a kill is one. Steps that Validate refuses are left
// out.
func (s Scenario) Injections() []Injection {
	var all []Injection
	for i, st := range s.Steps {
		id := st.Inject
		if st.Kill != "" {
			id = faults.Kill
		}
		if f, ok := faults.ByID(id); ok {
			all = append(all, Injection{Step: i, Server: s.ServerOf(st), Fault: f})
		}
	}
	return all
}

// ServerOf returns the server that a step is about: the one it names, else the only one there is, else "".
func (s Scenario) ServerOf(st Step) string {
	name, _ := st.CallTarget()
	for _, named := range []string{name, st.Kill, st.Reconnect, st.ListTools, st.Seen, st.On} {
		if named != "" {
			return named
		}
	}
	if len(s.Servers) == 1 && (st.Inject != "" || st.Lift != "" || st.Await != "") {
		for only := range s.Servers {
			return only
		}
	}
	return ""
}

// CallTarget takes Call apart: "srv.echo" is server srv, tool echo. Tool names may hold dots, server names may not.
func (st Step) CallTarget() (server, tool string) {
	server, tool, _ = strings.Cut(st.Call, ".")
	return server, tool
}

// CountedBefore is the index of the last step before n that counted the same as step n does, -1 when there is none.
func (s Scenario) CountedBefore(n int) int {
	for i := n - 1; i >= 0; i-- {
		a, b := s.Steps[i], s.Steps[n]
		if a.Seen == b.Seen && a.Method == b.Method && a.Event == b.Event {
			return i
		}
	}
	return -1
}

// FaultClass is the class that a scenario is listed under: the one it names, else the class in its ID, else that of the first fault
// it injects, else "".
func (s Scenario) FaultClass() string {
	if s.Class != "" {
		return s.Class
	}
	if c, ok := faults.ClassBySlug(faults.ClassOf(s.ID)); ok {
		return c.Slug
	}
	for _, in := range s.Injections() {
		return in.Fault.What().Class
	}
	return ""
}

// Faulted returns the names of the servers that a fault is injected into, sorted.
func (s Scenario) Faulted() []string {
	set := map[string]bool{}
	for _, in := range s.Injections() {
		set[in.Server] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// Requires returns what a target must support for the scenario to apply: Needs, what the steps need, and the transports of the
// servers. Sorted.
func (s Scenario) Requires() []string {
	set := map[string]bool{}
	for _, n := range s.Needs {
		set[n] = true
	}
	for _, srv := range s.Servers {
		set[srv.Transport] = true
	}
	for _, st := range s.Steps {
		if st.Reconnect != "" {
			set[NeedReconnect] = true
		}
		if st.Event != "" {
			set[NeedEvents] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// InEras returns the eras that the scenario applies to: its own, as far as its faults exist there.
func (s Scenario) InEras() []script.Era {
	eras := s.Eras
	if len(eras) == 0 {
		eras = []script.Era{script.Legacy, script.Modern}
	}
	return slices.DeleteFunc(slices.Clone(eras), func(e script.Era) bool {
		return slices.ContainsFunc(s.Injections(), func(in Injection) bool {
			of := in.Fault.What().Eras
			return len(of) > 0 && !slices.Contains(of, e)
		})
	})
}
