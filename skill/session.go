package skill

import (
	"slices"
	"sync"
	"sync/atomic"
)

// A Session is the state of one client: its directory and its todos. The zero Session
// works in the workspace directory and has no todos. Its todos are safe for concurrent
// use. A Session must not be copied. A nil one panics where an operation or a tool needs it.
type Session struct {
	Dir   string // absolute; relative paths start here; "" means the workspace
	Guard Guard  // of changes, against changes of others; "" is off

	todos atomic.Pointer[todoList] // nil until first used
	kept  atomic.Pointer[sync.Map] // nil until first used
	known atomic.Pointer[seen]     // nil until first used
}

// Keep returns what the session keeps for a dialect under a key. It is what create returned when
// the key was first asked for.
func (s *Session) Keep(key any, create func() any) any {
	kept := s.keeping()
	if v, ok := kept.Load(key); ok {
		return v
	}
	v, _ := kept.LoadOrStore(key, create())
	return v
}

func (s *Session) keeping() *sync.Map {
	s.kept.CompareAndSwap(nil, new(sync.Map))
	return s.kept.Load()
}

// list returns the session's todos.
func (s *Session) list() *todoList {
	if l := s.todos.Load(); l != nil {
		return l
	}
	s.todos.CompareAndSwap(nil, new(todoList))
	return s.todos.Load()
}

// seen returns what the session knows of files, nil if nothing is guarded.
func (s *Session) seen() *seen {
	if !s.Guard.on() {
		return nil
	}
	if k := s.known.Load(); k != nil {
		return k
	}
	s.known.CompareAndSwap(nil, &seen{files: map[string]*view{}})
	return s.known.Load()
}

// UsesLetters reports whether the session was shown letters of lines.
func (s *Session) UsesLetters() bool {
	k := s.seen()
	return k != nil && k.letters.Load()
}

// within returns a Session at dir that shares everything else with s.
func (s *Session) within(dir string) *Session {
	inner := &Session{Dir: dir, Guard: s.Guard}
	inner.todos.Store(s.list())
	inner.kept.Store(s.keeping())
	if k := s.seen(); k != nil {
		inner.known.Store(k)
	}
	return inner
}

// A Snapshot is a copy of a [Session]'s state, for [Session.Restore]. It can be stored as
// JSON.
type Snapshot struct {
	Dir   string     `json:"dir,omitempty"`
	Todos []TodoItem `json:"todos,omitempty"`
	Seen  []SeenFile `json:"seen,omitempty"` // with a Guard
}

// A SeenFile is what a session was shown of a file.
type SeenFile struct {
	Path  string   `json:"path"` // absolute
	Sum   string   `json:"sum"`  // SHA-256 of what it held, in hexadecimal digits
	Shown [][2]int `json:"shown,omitempty"`
	Read  bool     `json:"read,omitempty"` // and not only found or changed
}

// Snapshot returns a copy of the session's state.
func (s *Session) Snapshot() Snapshot {
	return Snapshot{Dir: s.Dir, Todos: s.list().all(), Seen: s.seen().summary()}
}

// Restore replaces the session's state by that of a Snapshot. The todos get new ids in
// their order.
func (s *Session) Restore(saved Snapshot) {
	s.Dir = saved.Dir
	items := slices.Clone(saved.Todos)
	for i := range items {
		items[i].ID = i
	}
	s.list().set(items)
	if k := s.seen(); k != nil {
		k.resume(saved.Seen)
	}
}
