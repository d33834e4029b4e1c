package skill

import (
	"slices"
	"sync/atomic"
)

// A Session is what belongs to one client. The zero Session works in the
// workspace's own folder and has nothing to do. Its todos are safe for concurrent
// use; it must not be copied.
type Session struct {
	Dir string // where relative names start, absolute; "" means the workspace

	todos atomic.Pointer[todoList] // nil until first used
}

// list returns the session's todos.
func (s *Session) list() *todoList {
	if l := s.todos.Load(); l != nil {
		return l
	}
	s.todos.CompareAndSwap(nil, new(todoList))
	return s.todos.Load()
}

// within returns a Session at dir that shares everything else with s.
func (s *Session) within(dir string) *Session {
	inner := &Session{Dir: dir}
	inner.todos.Store(s.list())
	return inner
}

// A Snapshot is all that a [Session] holds, to be kept and restored later. It is
// plain data, also as JSON.
type Snapshot struct {
	Dir   string     `json:"dir,omitempty"`
	Todos []TodoItem `json:"todos,omitempty"`
}

// Snapshot returns what the session holds now.
func (s *Session) Snapshot() Snapshot {
	return Snapshot{Dir: s.Dir, Todos: s.list().all()}
}

// Restore makes the session hold what was kept, and nothing else. Ids of todos are
// given anew, in their order.
func (s *Session) Restore(kept Snapshot) {
	s.Dir = kept.Dir
	items := slices.Clone(kept.Todos)
	for i := range items {
		items[i].ID = i
	}
	s.list().set(items)
}
