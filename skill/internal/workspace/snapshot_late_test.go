//go:build linux || darwin

package workspace

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
)

// late is a context whose time is up as soon as over is set.
type late struct {
	context.Context
	over atomic.Bool
}

func (l *late) Err() error {
	if l.over.Load() {
		return context.DeadlineExceeded
	}
	return nil
}

// A snapshot that has no time for all files has some of them, and the next one has the rest.
// The command's answer names what is left out, and the undo says how much.
func TestSnapshotLate(t *testing.T) {
	const files = 300
	each(t, func(t *testing.T, s *site) {
		name := func(i int) string { return s.p(fmt.Sprint(i)) }
		write := func(text string) {
			for i := range files {
				s.put(name(i), text)
			}
		}
		write("before")
		w := s.open(Options{NoSync: true})
		ctx := &late{Context: bg}
		walk := func(_ context.Context, visit func(int, Visited) error) error {
			for i := range files {
				v := Visited{Name: fmt.Append(nil, i), File: statFunc(func() (Info, error) { return w.Stat(name(i), false) })}
				if err := visit(0, v); err != nil {
					return err
				}
			}
			ctx.over.Store(true)
			return nil
		}
		snapshot, err := w.Snapshot(ctx, 1<<30, walk)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { snapshot.Close() }()
		write("after!")
		c, left, err := snapshot.Record(bg, "test")
		if err != nil || c.ID == "" || len(left) == 0 {
			t.Fatalf("%+v, %d left, %v", c, len(left), err)
		}
		done, err := w.Undo(bg, UndoOptions{})
		if err != nil || done[0].Left != len(left) || done[0].More+1+len(left) != files {
			t.Fatalf("%+v, %d left, %v", done, len(left), err)
		}
		for _, l := range left {
			if data, err := os.ReadFile(l.Path); string(data) != "after!" || err != nil {
				t.Errorf("%s holds %q, %v", l, data, err)
			}
			s.put(l.Path, "before")
		}
		for i := range files {
			s.has(fmt.Sprint(i), "before")
		}
		snapshot.Close()
		if snapshot, err = w.Snapshot(bg, 1<<30, walk); err != nil {
			t.Fatal(err)
		}
		write("after!")
		c, left, err = snapshot.Record(bg, "test")
		if err != nil || c.ID == "" || len(left) > 0 {
			t.Errorf("%+v, %d left, %v", c, len(left), err)
		}
	})
}
