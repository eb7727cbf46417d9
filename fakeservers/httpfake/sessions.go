package httpfake

import "sync"

// sessionHeader carries the session's id, which is a secret: it never gets into the journal, which counts sessions instead.
const sessionHeader = "Mcp-Session-Id"

// Details of journal.Session entries.
const (
	sessionOpen   = "open"
	sessionClose  = "close"
	sessionForget = "forget"
)

// sessions counts the sessions of this life. tell gets what happened and the session's number, from 1.
type sessions struct {
	mu   sync.Mutex
	last int
	open map[string]int
}

func (s *sessions) opened(id string, tell func(what string, number int)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[string]int{}
	}
	if s.open[id] == 0 {
		s.last++
		s.open[id] = s.last
		tell(sessionOpen, s.last)
	}
}

func (s *sessions) closed(id string, tell func(what string, number int)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.open[id]; n != 0 {
		delete(s.open, id)
		tell(sessionClose, n)
	}
}

func (s *sessions) forgotten(tell func(what string, number int)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, n := range s.open {
		delete(s.open, id)
		tell(sessionForget, n)
	}
}
