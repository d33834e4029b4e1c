package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const editsEach = 40

// count edits the line of a writer, so often, each time by one.
func count(w *Workspace, abs string, writer int) error {
	for n := range editsEach {
		_, err := w.EditFile(bg, abs, WriteOptions{}, swap(counted(writer, n), counted(writer, n+1)))
		if err != nil {
			return fmt.Errorf("writer %d, edit %d: %w", writer, n, err)
		}
	}
	return nil
}

func counted(writer, n int) string { return fmt.Sprintf("writer %d: %d\n", writer, n) }

// Eight goroutines with two workspaces, and two processes, edit one file.
func TestConcurrentEdits(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		var before, after string
		for writer := range 10 {
			before += counted(writer, 0)
			after += counted(writer, editsEach)
		}
		s.layout("d/f=" + before)
		a, b := s.open(Options{NoSync: true}), s.open(Options{NoSync: true, Dir: s.base + "/ws/d"})
		var wg sync.WaitGroup
		for writer := range 8 {
			w := []*Workspace{a, b}[writer%2]
			wg.Go(func() {
				if err := count(w, s.p("d/f"), writer); err != nil {
					t.Error(err)
				}
			})
		}
		for writer := 8; writer < 10; writer++ {
			c := startChild(t, "count", os.Geteuid(), s.dir, fmt.Sprint(s.portable), fmt.Sprint(writer))
			defer c.wait(t)
		}
		wg.Wait()
		t.Cleanup(func() { s.has("d/f", after) })
	})
}

func countChild(t testing.TB, args []string) {
	w, err := Open(Options{Dir: args[0], portable: args[1] == "true", NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	writer, _ := strconv.Atoi(args[2])
	if err := count(w, filepath.Join(args[0], "d/f"), writer); err != nil {
		t.Fatal(err)
	}
}

// Appends from everywhere all land, none in the middle of another.
func TestConcurrentAppends(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		a, b := s.open(Options{NoSync: true}), s.open(Options{NoSync: true})
		var wg sync.WaitGroup
		for n := range 8 {
			wg.Go(func() {
				for range 25 {
					line := strings.Repeat(strconv.Itoa(n), 5000) + "\n"
					if _, err := []*Workspace{a, b}[n%2].AppendFile(bg, s.p("log"), []byte(line), WriteOptions{}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		data, err := a.ReadFile(s.p("log"))
		lines := map[string]int{}
		for line := range strings.Lines(string(data)) {
			lines[line]++
		}
		for n := range 8 {
			if lines[strings.Repeat(strconv.Itoa(n), 5000)+"\n"] != 25 {
				t.Errorf("lines of %d: %v", n, lines[strings.Repeat(strconv.Itoa(n), 5000)+"\n"])
			}
		}
		if err != nil || len(lines) != 8 {
			t.Errorf("%d kinds of lines, %v", len(lines), err)
		}
	})
}

// Of many who make the same new file one succeeds.
func TestConcurrentCreation(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		a, b := s.open(Options{NoSync: true}), s.open(Options{NoSync: true})
		for round := range 30 {
			var made atomic.Int32
			var wg sync.WaitGroup
			for n := range 8 {
				wg.Go(func() {
					_, err := []*Workspace{a, b}[n%2].WriteFile(bg, s.p(fmt.Sprintf("d%d/e/f", round)), nil, WriteOptions{Parents: true, NoReplace: true})
					if err == nil {
						made.Add(1)
					} else if !errors.Is(err, fs.ErrExist) {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if made.Load() != 1 {
				t.Errorf("round %d: %d made it", round, made.Load())
			}
		}
	})
}

// A change that fails takes its folders back under the feet of one that does not.
func TestFoldersTakenBack(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		w := s.open(Options{NoSync: true})
		long := strings.Repeat("n", 300)
		for round := range 100 {
			var wg sync.WaitGroup
			dir := fmt.Sprintf("d%d/e/", round)
			wg.Go(func() {
				if _, err := w.WriteFile(bg, s.p(dir+long), nil, WriteOptions{Parents: true}); err == nil {
					t.Error("a name too long")
				}
			})
			wg.Go(func() {
				if _, err := w.WriteFile(bg, s.p(dir+"f"), []byte("new"), WriteOptions{Parents: true}); err != nil {
					t.Error(err)
				}
			})
			wg.Wait()
			s.has(dir+"f", "new")
		}
	})
}

// A reader sees the old file or the new one.
func TestReaderSeesWholeFiles(t *testing.T) {
	inMemory(t)
	each(t, func(t *testing.T, s *site) {
		var versions []string
		for c := range 26 {
			versions = append(versions, strings.Repeat(string(rune('a'+c)), 1000+c*500))
		}
		s.layout("d/f=" + versions[0])
		w := s.open(Options{NoSync: true})
		done := make(chan struct{})
		var reads int
		var wg sync.WaitGroup
		wg.Go(func() {
			for ; ; reads++ {
				select {
				case <-done:
					return
				default:
				}
				data, err := []func(string) ([]byte, error){w.ReadFile, os.ReadFile}[reads%2](s.p("d/f"))
				if err != nil || len(data) == 0 || string(data) != versions[data[0]-'a'] {
					t.Errorf("%d bytes, %.20q, %v", len(data), data, err)
					return
				}
			}
		})
		writes := 10_000
		if s.portable {
			writes = 2_000
		}
		for n := range writes {
			if _, err := w.WriteFile(bg, s.p("d/f"), []byte(versions[n%26]), WriteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		close(done)
		wg.Wait()
		t.Logf("%d reads", reads)
	})
}

// A tree is there whole, or not at all.
func TestReaderSeesWholeTrees(t *testing.T) {
	inMemory(t)
	each(t, func(t *testing.T, s *site) {
		for n := range 20 {
			s.layout(fmt.Sprintf("d/%d/%d=x", n%3, n))
		}
		w := s.open(Options{NoSync: true})
		done := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				d, err := os.Open(s.p("e"))
				if err != nil {
					continue
				}
				names, _ := d.Readdirnames(-1)
				if len(names) != 3 && exists(s.p("e")) {
					if again, _ := os.ReadDir(s.p("e")); len(again) != 3 && exists(s.p("e")) {
						t.Errorf("%q", names)
					}
				}
				d.Close()
			}
		})
		for range 100 {
			c, err := w.Copy(bg, s.p("d"), s.p("e"), CopyOptions{Tree: true})
			must(t, c, err)
			c, err = w.Remove(bg, s.p("e"), RemoveOptions{Tree: true})
			must(t, c, err)
		}
		close(done)
		wg.Wait()
	})
}

// Whoever locks what, in whatever order: everybody gets done.
func TestNoDeadlock(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("a/b/c/", "d/e/", "tree/x/y=1", "tree/z=2")
		for n := range 4 {
			s.layout(fmt.Sprintf("a/m%d=m", n), fmt.Sprintf("d/e/k%d=k", n))
		}
		ws := []*Workspace{s.open(Options{NoSync: true}), s.open(Options{NoSync: true, Allow: []string{s.p("a"), s.base + "/out"}}),
			s.open(Options{NoSync: true, Dir: s.p("a"), Allow: []string{s.dir}})}
		ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
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

// A workspace inside another locks its root first, where the other goes by the
// folders' numbers.
func TestNestedWorkspaces(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("sub/", "d/") // sub's number is the lower
		if err := os.Rename(s.p("sub"), s.p("d/sub")); err != nil {
			t.Fatal(err)
		}
		s.layout("d/sub/x=x", "d/sub/f=f")
		outer, inner := s.open(Options{NoSync: true}), s.open(Options{NoSync: true, Dir: s.p("d")})
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
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

// Who wants the whole workspace gets it from a crowd that wants parts.
func TestTreesAreNotStarved(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("a/", "b/", "tree/f=x")
		crowd, other := s.open(Options{NoSync: true}), s.open(Options{NoSync: true})
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
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
