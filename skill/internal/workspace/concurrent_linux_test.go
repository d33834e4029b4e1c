package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"textskill/testdata/needs"
)

const editsEach = 40

// count increments the number in a writer's line n times.
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
	w, err := Open(Options{Dir: args[0], Portable: args[1] == "true", NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	writer, _ := strconv.Atoi(args[2])
	if err := count(w, filepath.Join(args[0], "d/f"), writer); err != nil {
		t.Fatal(err)
	}
}

// All concurrent appends land, and none splits another.
func TestConcurrentAppends(t *testing.T) {
	needs.InMemory(t)
	each(t, func(t *testing.T, s *site) {
		a, b := s.open(Options{NoSync: true}), s.open(Options{NoSync: true})
		var wg sync.WaitGroup
		for n := range 8 {
			wg.Go(func() {
				for range 25 {
					line := strings.Repeat(strconv.Itoa(n), 5000) + "\n"
					if _, err := []*Workspace{a, b}[n%2].AppendFile(bg, s.p("log"), []byte(line),
						WriteOptions{}); err != nil {
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

// Only one of many concurrent creations of the same file succeeds.
func TestConcurrentCreation(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		a, b := s.open(Options{NoSync: true}), s.open(Options{NoSync: true})
		for round := range 30 {
			var made atomic.Int32
			var wg sync.WaitGroup
			for n := range 8 {
				wg.Go(func() {
					_, err := []*Workspace{a, b}[n%2].WriteFile(bg, s.p(fmt.Sprintf("d%d/e/f", round)),
						nil, WriteOptions{Parents: true, NoReplace: true})
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

// A change that fails removes its new folders while another change succeeds in them.
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

// A change makes its folder again whenever another program removes it.
func TestFolderComesAndGoes(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("from=x")
		w, other := s.open(Options{NoSync: true}), s.open(Options{NoSync: true})
		done := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					other.Remove(bg, s.p("a/d"), RemoveOptions{Folder: true})
				}
			}
		})
		for range 200 {
			for _, err := range []error{
				failed(w.WriteFile(bg, s.p("a/d/f"), nil, WriteOptions{Parents: true})),
				failed(w.Remove(bg, s.p("a/d/f"), RemoveOptions{})),
				failed(w.Move(bg, s.p("from"), s.p("a/d/to"), MoveOptions{Parents: true})),
				failed(w.Copy(bg, s.p("a/d/to"), s.p("from"), CopyOptions{})),
				failed(w.Remove(bg, s.p("a/d/to"), RemoveOptions{})),
				failed(w.Copy(bg, s.p("from"), s.p("a/d/g"), CopyOptions{Parents: true})),
				failed(w.Remove(bg, s.p("a/d/g"), RemoveOptions{})),
			} {
				if err != nil {
					t.Error(err)
				}
			}
		}
		close(done)
		wg.Wait()
	})
}

// A reader sees either the old file or the new one.
func TestReaderSeesWholeFiles(t *testing.T) {
	needs.InMemory(t)
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
		for n := range 2_000 / needs.Step(4) {
			if _, err := w.WriteFile(bg, s.p("d/f"), []byte(versions[n%26]), WriteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		close(done)
		wg.Wait()
		t.Logf("%d reads", reads)
	})
}

// A reader sees a tree completely or not at all.
func TestReaderSeesWholeTrees(t *testing.T) {
	needs.InMemory(t)
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

// An edit by a workspace with another history waits for one that takes long, or sees that it was made.
func TestSlowEdits(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		for name, size := range map[string]int{"short": 10, "long": 20_000, "linked": 10, "linked in a patch": 10} {
			t.Run(name, func(t *testing.T) {
				file := "d/" + name
				pad := strings.Repeat("x", size)
				s.layout(file + "=first\n" + pad + "\nlast\n")
				if strings.HasPrefix(name, "linked") {
					if err := os.Link(s.p(file), s.p("d/other of "+name)); err != nil {
						t.Fatal(err)
					}
				}
				a, b := s.open(Options{NoSync: true}), s.open(Options{NoSync: true, Dir: s.p("d")})
				locked, tried := make(chan struct{}), 0
				slow := func(src io.ReaderAt, size int64) (Splice, error) {
					edit, err := swap("first", "FIRST")(src, size)
					switch tried++; {
					case tried == 1 && !s.portable: // the folder is not locked yet
						err = errors.Join(err, os.Chtimes(s.p(file), time.Now(), time.Now()))
					case tried == 1, tried == 2 && !s.portable:
						close(locked)
						time.Sleep(800 * time.Millisecond)
					}
					return edit, err
				}
				var wg sync.WaitGroup
				wg.Go(func() {
					c, err := a.EditFile(bg, s.p(file), WriteOptions{}, slow)
					must(t, c, err)
				})
				<-locked
				var c Change
				var err error
				if name == "linked in a patch" {
					c, err = b.ChangeFiles(bg, func() ([]FileChange, error) {
						data, err := os.ReadFile(s.p(file))
						after := strings.Replace(string(data), "last", "LAST", 1)
						return []FileChange{{Path: s.p(file), Before: data, After: []byte(after)}}, err
					})
				} else {
					c, err = b.EditFile(bg, s.p(file), WriteOptions{}, swap("last", "LAST"))
				}
				must(t, c, err)
				wg.Wait()
				s.has(file, "FIRST\n"+pad+"\nLAST\n")
			})
		}
	})
}
