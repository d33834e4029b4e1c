package skill

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"textskill/skill/internal/words"
)

// Todo adds entries to the session's list and then marks entries as done. It returns a
// [TodoListed], also without either.
type Todo struct {
	Add  []string // titles
	Done []int    // ids; unknown ids are ignored
}

// ClearTodos empties the session's list, so that ids start at 0 again. It returns an empty
// [TodoListed].
type ClearTodos struct{}

func (Todo) op()       {}
func (ClearTodos) op() {}

// A TodoItem is one entry of a session's list.
type TodoItem struct {
	ID        int    `json:"id"` // from 0, in the order of adding
	Title     string `json:"title"`
	Completed bool   `json:"completed"` // never unset
}

// TodoListed is the result of [Todo]: the whole list, in the order of adding.
type TodoListed struct{ Items []TodoItem }

// Message says how many entries there are.
func (t TodoListed) Message() string { return words.Count(len(t.Items), "todo", "todos") }

// maxTodos limits a list because every answer repeats all of it.
const maxTodos = 10_000

// A todoList is a list that several sessions may share. The zero list is empty.
type todoList struct {
	mu    sync.Mutex
	items []TodoItem // the id of each is its index
}

func (x *Executor) Todo(_ context.Context, s *Session, a Todo) (TodoListed, error) {
	l := s.list()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.items)+len(a.Add) > maxTodos {
		return TodoListed{}, &ArgError{Arg: "todos",
			Reason: fmt.Sprintf("would be more than %d; clear the list first", maxTodos)}
	}
	for _, title := range a.Add {
		l.items = append(l.items, TodoItem{ID: len(l.items), Title: title})
	}
	for _, id := range a.Done {
		if 0 <= id && id < len(l.items) {
			l.items[id].Completed = true
		}
	}
	return TodoListed{slices.Clone(l.items)}, nil
}

func (x *Executor) ClearTodos(_ context.Context, s *Session, _ ClearTodos) (TodoListed, error) {
	s.list().set(nil)
	return TodoListed{}, nil
}

func (l *todoList) set(items []TodoItem) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.items = items
}

func (l *todoList) all() []TodoItem {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.items)
}
