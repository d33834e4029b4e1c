package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"textskill/testdata/needs"
)

// No order of locks leads to a deadlock.
func TestNoDeadlock(t *testing.T) {
	needs.InMemory(t)
	each(t, func(t *testing.T, s *site) {
		s.layout("a/b/c/", "d/e/", "tree/x/y=1", "tree/z=2")
		for n := range 4 {
			s.layout(fmt.Sprintf("a/m%d=m", n), fmt.Sprintf("d/e/k%d=k", n))
		}
		ws := []*Workspace{s.open(Options{NoSync: true}),
			s.open(Options{NoSync: true, Allow: []string{s.p("a"), s.base + "/out"}}),
			s.open(Options{NoSync: true, Dir: s.p("a"), Allow: []string{s.dir}})}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		var wg sync.WaitGroup
		for n := range 12 {
			w, n := ws[n%3], n/3
			wg.Go(func() {
				for i := range 12 {
					if err := bustle(ctx, w, s, n, i); err != nil {
						t.Errorf("worker %d, round %d: %v", n, i, err)
						return
					}
				}
			})
		}
		wg.Wait()
		for n := range 4 {
			if !exists(s.p(fmt.Sprintf("a/m%d", n))) && !exists(s.p(fmt.Sprintf("d/e/m%d", n))) {
				t.Errorf("m%d is lost", n)
			}
		}
		s.holds("tree/x/y=1", "tree/z=2")
	})
}

// bustle is one round of a worker. Several do the same at once, so that what one
// looks for may be somewhere else.
func bustle(ctx context.Context, w *Workspace, s *site, n, i int) error {
	var errs []error
	do := func(_ Change, err error) {
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) || ctx.Err() != nil {
			errs = append(errs, err)
		}
	}
	there, back := s.p(fmt.Sprintf("a/m%d", n)), s.p(fmt.Sprintf("d/e/m%d", n))
	do(w.Move(ctx, there, back, MoveOptions{NoReplace: true}))
	do(w.Move(ctx, s.p(fmt.Sprintf("d/e/k%d", n)), s.p(fmt.Sprintf("a/b/c/k%d", n)), MoveOptions{}))
	do(w.WriteFile(ctx, s.p(fmt.Sprintf("top%d", n)), []byte("x"), WriteOptions{}))
	do(w.WriteFile(ctx, s.p(fmt.Sprintf("a/b/c/new%d/f", i%3)), []byte("x"), WriteOptions{Parents: true}))
	do(w.Move(ctx, back, there, MoveOptions{NoReplace: true}))
	do(w.Move(ctx, s.p(fmt.Sprintf("a/b/c/k%d", n)), s.p(fmt.Sprintf("d/e/k%d", n)), MoveOptions{}))
	if i%5 == 0 {
		copied := s.p(fmt.Sprintf("a/copy%d-%d", n, rand.N(3)))
		do(w.Copy(ctx, s.p("tree"), copied, CopyOptions{Tree: true}))
		do(w.Move(ctx, copied, s.p(fmt.Sprintf("d/copy%d", n)), MoveOptions{NoReplace: true}))
		do(w.Remove(ctx, s.p(fmt.Sprintf("d/copy%d", n)), RemoveOptions{Tree: true}))
		do(w.Remove(ctx, s.p(fmt.Sprintf("a/b/c/new%d", i%3)), RemoveOptions{Tree: true}))
	}
	return errors.Join(errs...)
}

// A workspace inside another locks its root first; the other locks in the order of inodes.
func TestNestedWorkspaces(t *testing.T) {
	needs.InMemory(t)
	each(t, func(t *testing.T, s *site) {
		s.layout("sub/", "d/") // sub's number is the lower
		if err := os.Rename(s.p("sub"), s.p("d/sub")); err != nil {
			t.Fatal(err)
		}
		s.layout("d/sub/x=x", "d/sub/f=f")
		outer, inner := s.open(Options{NoSync: true}), s.open(Options{NoSync: true, Dir: s.p("d")})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		var wg sync.WaitGroup
		wg.Go(func() {
			for range 150 {
				if err := cmpErr(outer.Move(ctx, s.p("d/sub/x"), s.p("d/y"), MoveOptions{})); err != nil {
					t.Error(err)
					return
				}
				if err := cmpErr(outer.Move(ctx, s.p("d/y"), s.p("d/sub/x"), MoveOptions{})); err != nil {
					t.Error(err)
					return
				}
			}
		})
		for range 2 {
			wg.Go(func() {
				for range 150 {
					if err := cmpErr(inner.WriteFile(ctx, s.p("d/sub/f"), []byte("new"), WriteOptions{})); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
	})
}

func cmpErr(_ Change, err error) error { return err }

// An operation on the whole workspace gets the lock although many others use parts of it.
func TestTreesAreNotStarved(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("a/", "b/", "tree/f=x")
		crowd, other := s.open(Options{NoSync: true}), s.open(Options{NoSync: true})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		done := make(chan struct{})
		var wg sync.WaitGroup
		var writes atomic.Int64
		for n := range 4 {
			wg.Go(func() {
				for {
					select {
					case <-done:
						return
					default:
						crowd.WriteFile(ctx, s.p([]string{"a/f", "b/f"}[n%2]), []byte("x"), WriteOptions{})
						writes.Add(1)
					}
				}
			})
		}
		for writes.Load() < 10 {
			time.Sleep(time.Millisecond)
		}
		var waits []time.Duration
		for n := range 20 {
			start := time.Now()
			c, err := other.Copy(ctx, s.p("tree"), s.p(fmt.Sprintf("copy%d", n)), CopyOptions{Tree: true})
			must(t, c, err)
			waits = append(waits, time.Since(start))
		}
		close(done)
		wg.Wait()
		t.Logf("longest wait %v, %d writes", slices.Max(waits), writes.Load())
	})
}
