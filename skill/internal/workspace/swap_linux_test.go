package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"textskill/testdata/needs"
)

// swapping exchanges two names all the time until stop is called.
func swapping(t *testing.T, a, b string) (stop func()) {
	var done atomic.Bool
	var swaps int
	var wg sync.WaitGroup
	wg.Go(func() {
		for !done.Load() {
			if err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE); err == nil {
				swaps++
			}
		}
	})
	return func() {
		done.Store(true)
		wg.Wait()
		if swaps < 100 {
			t.Errorf("only %d swaps", swaps)
		}
	}
}

// While a folder is exchanged with a link to outside all the time, nothing outside is read or changed.
func TestFolderSwappedWithLink(t *testing.T) {
	needs.InMemory(t)
	each(t, func(t *testing.T, s *site) {
		s.layout("a/f=inside", "a/sub/f=inside", "link => ../out", "spare=inside")
		for _, f := range []string{"f", "sub/f"} {
			s.put(filepath.Join(s.base, "out", f), "outside")
		}
		w := s.open(Options{NoSync: true})
		before := s.snapshot()
		stop := swapping(t, s.p("a"), s.p("link"))
		var inside, refused int
		see := func(content string, err error) {
			switch {
			case err != nil:
				refused++
			case content != "inside":
				t.Fatalf("read %q", content)
			default:
				inside++
			}
		}
		rounds := 5_000 / needs.Step(5) // of ten reads and writes
		if s.portable {
			rounds = 1_500 / needs.Step(3)
		}
		for n := range rounds {
			name := s.p([]string{"a/f", "link/f", "a/sub/f", "link/sub/f"}[n%4])
			for range 8 {
				data, err := w.ReadFile(name)
				see(string(data), err)
			}
			_, err := w.WriteFile(bg, name, []byte("inside"), WriteOptions{})
			see("inside", err)
			_, err = w.EditFile(bg, name, WriteOptions{}, swap("inside", "inside"))
			see("inside", err)
		}
		t.Logf("%d inside, %d refused", inside, refused)
		for n := range 200 {
			name := s.p([]string{"a/sub", "link/sub"}[n%2])
			if list, err := w.ReadDir(name); err == nil && len(list) > 0 && list[0].Name == "deep" {
				t.Fatal("listed", list)
			}
			w.AppendFile(bg, name+"/log", []byte("x"), WriteOptions{})
			w.MakeDir(bg, fmt.Sprintf("%s/new%d/x", name, n), false)
			w.Copy(bg, s.p("spare"), fmt.Sprintf("%s/copied%d", name, n), CopyOptions{})
			w.Copy(bg, name, s.p(fmt.Sprintf("copied%d", n)), CopyOptions{Tree: true})
			w.Move(bg, s.p("spare"), name+"/moved", MoveOptions{})
			w.Move(bg, name+"/moved", s.p("spare"), MoveOptions{})
			w.Remove(bg, name+"/f", RemoveOptions{})
			w.Remove(bg, name, RemoveOptions{Tree: true})
		}
		stop()
		s.outside(before)
		for n := range 200 {
			if exists(s.p(fmt.Sprintf("copied%d/deep", n))) {
				t.Errorf("copied%d is from outside", n)
			}
		}
		if inside == 0 || refused == 0 {
			t.Errorf("%d inside, %d refused: there was no race", inside, refused)
		}
	})
}

// While a file is exchanged with a link all the time, nothing outside is read or changed.
func TestFileSwappedWithLink(t *testing.T) {
	needs.InMemory(t)
	each(t, func(t *testing.T, s *site) {
		s.layout("d/f=inside", "d/link => ../../out/secret")
		w := s.open(Options{NoSync: true})
		before := s.snapshot()
		stop := swapping(t, s.p("d/f"), s.p("d/link"))
		for range 1000 / needs.Step(4) {
			if data, err := w.ReadFile(s.p("d/f")); err == nil && string(data) != "inside" {
				t.Fatalf("read %q", data)
			}
			w.AppendFile(bg, s.p("d/f"), nil, WriteOptions{})
			w.EditFile(bg, s.p("d/f"), WriteOptions{}, swap("inside", "inside"))
		}
		stop()
		s.outside(before)
	})
}

// A tree is removed while one of its folders is exchanged with a link to outside all the time.
func TestRemoveWhileSwapped(t *testing.T) {
	needs.InMemory(t)
	each(t, func(t *testing.T, s *site) {
		w := s.open(Options{NoSync: true})
		before := s.snapshot()
		for range 150 {
			s.layout("d/a/b/f=x", "d/a/c/f=x", "d/z => ../../out")
			dir, err := os.Open(s.p("d/a")) // holds on to the folder, wherever it goes
			if err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			wg.Go(func() {
				at := fmt.Sprintf("/proc/self/fd/%d/", dir.Fd())
				for range 20 {
					os.Rename(at+"b", at+"moved")
					os.Symlink(s.base+"/out", at+"b")
					os.Remove(at + "b")
					os.Rename(at+"moved", at+"b")
				}
			})
			w.Remove(bg, s.p("d"), RemoveOptions{Tree: true})
			wg.Wait()
			dir.Close()
			os.RemoveAll(s.p("d"))
			os.RemoveAll(s.p(tempName))
		}
		s.outside(before)
	})
}
