package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"sync"
	"testing"

	"textskill/testdata/needs"
)

// shyWalk is walk for a folder in which names appear and disappear.
func (s *site) shyWalk(ctx context.Context, visit func(int, Visited) error) error {
	for range 100 {
		err := s.walk(ctx, visit)
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return errors.New("names come and go all the time")
}

// Eight commands and eight tools run concurrently with four stores. Undoing everything restores the first
// state.
func TestOverlapAtOnce(t *testing.T) {
	needs.InMemory(t)
	s := newSite(t, false)
	for n := range 8 {
		s.layout(fmt.Sprintf("d%d/f=old %d", n, n), fmt.Sprintf("shared%d=old", n))
	}
	first := s.tree()
	var w []*Workspace
	for range 4 {
		w = append(w, s.open(Options{NoSync: true}))
	}
	start, err := w[0].WriteFile(bg, s.p("first"), nil, WriteOptions{})
	must(t, start, err)
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			for i := range 6 {
				run, err := w[n%4].Begin(bg, "true", 1<<20, s.shyWalk)
				if err != nil {
					t.Error(err)
					return
				}
				os.WriteFile(s.p(fmt.Sprintf("d%d/f", n)), fmt.Appendf(nil, "command %d, %d", n, i), 0o644)
				os.WriteFile(s.p(fmt.Sprintf("d%d/new%d", n, i)), nil, 0o644)
				if _, _, err := run.End(bg); err != nil {
					t.Error(err)
				}
			}
		})
		all.Go(func() {
			for i := range 12 {
				name := s.p(fmt.Sprintf("shared%d", rand.IntN(8)))
				if _, err := w[(n+1)%4].WriteFile(bg, name, fmt.Appendf(nil, "tool %d, %d", n, i),
					WriteOptions{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if t.Failed() {
		return
	}
	last := s.tree()
	done, err := w[3].Undo(bg, UndoOptions{Since: start.ID})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.tree(); got != first {
		t.Fatalf("undone:\n%s\nwant\n%s", got, first)
	}
	if _, err := w[2].Undo(bg, UndoOptions{Since: done[0].ID}); err != nil {
		t.Fatal(err)
	}
	if got := s.tree(); got != last {
		t.Fatalf("made again:\n%s\nwant\n%s", got, last)
	}
}
