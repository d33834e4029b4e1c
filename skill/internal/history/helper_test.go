package history

import (
	"testing"
	"time"

	"textskill/skill/internal/workspace/tree"
)

// open opens a history of o.Root, and closes it when the test ends.
func open(t testing.TB, o Options) *Store {
	t.Helper()
	if o.Tree == nil {
		root, err := tree.Open(o.Root, false)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { root.Close() })
		o.Tree = root
	}
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// add records a change of the file f.
func add(t testing.TB, s *Store) {
	t.Helper()
	tx, err := s.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.End()
	op := &Op{Kind: "write", Deltas: []Delta{{Path: "f"}}}
	if err := tx.Add(op); err != nil {
		t.Fatal(err)
	}
	tx.Made()
}

var time0 = time.Unix(1_000_000_000, 0)
