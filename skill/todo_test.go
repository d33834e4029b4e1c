package skill

import (
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
	"testing"
)

func todoExecutor(t *testing.T) *Executor {
	t.Helper()
	x, err := New(Config{Dir: t.TempDir(), NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

// TestTodoConcurrent adds from a hundred goroutines to a new session: every entry must be
// in the list, with its own id.
func TestTodoConcurrent(t *testing.T) {
	x, s := todoExecutor(t), &Session{}
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			r, err := x.Execute(t.Context(), s, Todo{Add: []string{fmt.Sprint(i)}})
			if err != nil {
				t.Error(err)
				return
			}
			items := r.(TodoListed).Items
			if len(items) == 0 || items[len(items)-1].ID != len(items)-1 {
				t.Errorf("answered %v", items)
			}
		})
	}
	wg.Wait()
	seen := map[string]bool{}
	for i, item := range s.Snapshot().Todos {
		if item.ID != i {
			t.Errorf("entry %d has the id %d", i, item.ID)
		}
		seen[item.Title] = true
	}
	if len(seen) != 100 {
		t.Errorf("%d entries are left of 100", len(seen))
	}
}

// TestTodoSteps applies each kind of change to a list.
func TestTodoSteps(t *testing.T) {
	x, s := todoExecutor(t), &Session{}
	item := func(id int, title string, done bool) TodoItem { return TodoItem{id, title, done} }
	for _, tt := range []struct {
		do   Args
		want []TodoItem
	}{
		{Todo{}, nil},
		{Todo{Add: []string{"a", "b"}, Done: []int{1, 7, -1}},
			[]TodoItem{item(0, "a", false), item(1, "b", true)}},
		{Complete{}, []TodoItem{item(0, "a", false)}},
		{Todo{Done: []int{1, 0}}, []TodoItem{item(0, "a", true), item(1, "b", true)}},
		{Complete{}, nil},
		{ClearTodos{}, nil},
		{Todo{Add: []string{"c"}}, []TodoItem{item(0, "c", false)}},
	} {
		r, err := x.Execute(t.Context(), s, tt.do)
		if err != nil {
			t.Fatalf("%+v: %v", tt.do, err)
		}
		var got []TodoItem
		switch r := r.(type) {
		case TodoListed:
			got = r.Items
		case Completed:
			got = r.Remaining
		}
		if len(got) != len(tt.want) || len(got) > 0 && !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%+v answers %v, want %v", tt.do, got, tt.want)
		}
	}
	_, err := x.Execute(t.Context(), s, Todo{Add: make([]string, maxTodos)})
	if _, ok := err.(*ArgError); !ok || len(s.Snapshot().Todos) != 1 {
		t.Errorf("too many entries: %v, %d are there", err, len(s.Snapshot().Todos))
	}
}

// TestSessionSnapshot stores a session as JSON and restores it into another one.
func TestSessionSnapshot(t *testing.T) {
	x, s := todoExecutor(t), &Session{Dir: "/w"}
	if _, err := x.Execute(t.Context(), s, Todo{Add: []string{"a", "b"}, Done: []int{0}}); err != nil {
		t.Fatal(err)
	}
	kept := s.Snapshot()
	data, err := json.Marshal(kept)
	if want := `{"dir":"/w","todos":[{"id":0,"title":"a","completed":true},{"id":1,"title":"b","completed":false}]}`; err != nil || string(data) != want {
		t.Errorf("kept %s, %v, want %s", data, err, want)
	}
	var read Snapshot
	if err := json.Unmarshal(data, &read); err != nil {
		t.Fatal(err)
	}
	restored := &Session{}
	restored.Restore(read)
	if _, err := x.Execute(t.Context(), restored, Todo{Add: []string{"c"}, Done: []int{1}}); err != nil {
		t.Fatal(err)
	}
	if got := restored.Snapshot(); got.Dir != "/w" || len(got.Todos) != 3 || got.Todos[2].ID != 2 ||
		!got.Todos[1].Completed {
		t.Errorf("after restoring: %+v", got)
	}
	if !reflect.DeepEqual(s.Snapshot(), kept) {
		t.Error("the first session changed with the second")
	}
}

// TestSessionEnter checks that sessions in different directories share their todos.
func TestSessionEnter(t *testing.T) {
	x, s := todoExecutor(t), &Session{}
	if _, err := x.Execute(t.Context(), s, MakeFolder{Path: "d"}); err != nil {
		t.Fatal(err)
	}
	inner, err := x.Enter(s, "d")
	if err != nil {
		t.Fatal(err)
	}
	for i, one := range []*Session{inner, s} {
		r, err := x.Execute(t.Context(), one, Todo{Add: []string{"x"}})
		if err != nil || len(r.(TodoListed).Items) != i+1 {
			t.Errorf("the list is %v, %v", r, err)
		}
	}
	if s.Dir != "" || inner.Dir == "" {
		t.Errorf("the sessions are in %q and %q", s.Dir, inner.Dir)
	}
}
