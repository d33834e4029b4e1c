//go:build linux || darwin

package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func TestOpen(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("file", "sub/", "link => sub")
		for _, c := range []struct{ dir, want string }{
			{s.dir, s.dir},
			{s.dir + "/sub/..", s.dir},
			{s.dir + "//sub/", s.p("sub")},
			{s.p("link"), s.p("sub")},
		} {
			if got := s.open(Options{Dir: c.dir}).Dir(); got != c.want {
				t.Errorf("Open(%s).Dir() = %s; want %s", c.dir, got, c.want)
			}
		}
		for _, dir := range []string{s.p("file"), s.p("missing"), s.p("a\x00b")} {
			if w, err := Open(Options{Dir: dir, Portable: s.portable}); err == nil {
				w.Close()
				t.Errorf("Open(%q) succeeded", dir)
			}
		}
		if w, err := Open(Options{Dir: s.dir, Allow: []string{s.p("missing")}, Portable: s.portable}); !errors.Is(err, fs.ErrNotExist) {
			w.Close()
			t.Errorf("a missing allowed folder: %v", err)
		}
		t.Chdir(s.dir)
		w, err := Open(Options{Portable: s.portable})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		if w.Dir() != s.dir {
			t.Errorf("the zero Options open %s; want %s", w.Dir(), s.dir)
		}
	})
}

func TestOptions(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		o := s.open(Options{ReadOnly: true, NoSync: true,
			Allow: []string{filepath.Join(s.base, "out")}}).Options()
		if !o.ReadOnly || !o.NoSync ||
			o.DryRun || o.Dir != s.dir || len(o.Allow) != 1 {
			t.Errorf("%+v", o)
		}
	})
}

func TestClosed(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("f=text", "g=text", "d/e")
		w := s.open(Options{})
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		before := s.unspared()
		for _, o := range operations {
			if err := o.run(w, s, s.p("f")); err == nil {
				t.Errorf("%s succeeds in a closed workspace", o.name)
			}
		}
		if after := s.unspared(); after != before {
			t.Errorf("changed\n%s\nto\n%s", before, after)
		}
		if err := w.Close(); err == nil && !s.portable {
			t.Error("closed twice")
		}
	})
}

// After Close, the number of a descriptor may belong to another folder. An operation on the closed
// workspace must not access that folder.
func TestCloseWhileReading(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("f=inside")
		s.put(filepath.Join(s.base, "out/f"), "outside")
		for range 200 {
			w, err := Open(Options{Dir: s.dir, Portable: s.portable})
			if err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			for range 2 {
				wg.Go(func() {
					for {
						data, err := w.ReadFile(s.p("f"))
						if err != nil {
							return
						}
						if string(data) != "inside" {
							t.Errorf("read %q", data)
							return
						}
					}
				})
			}
			w.Close()
			other, err := os.Open(filepath.Join(s.base, "out"))
			if err != nil {
				t.Fatal(err)
			}
			wg.Wait()
			other.Close()
		}
	})
}

// The workspace is the folder that was opened, even after a rename.
func TestMovedAway(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("f=old")
		w := s.open(Options{})
		if err := os.Rename(s.dir, s.dir+"-moved"); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(s.base, "out"), s.dir); err != nil {
			t.Fatal(err)
		}
		c, err := w.WriteFile(t.Context(), s.p("secret"), []byte("new"), WriteOptions{})
		must(t, c, err)
		if got, err := w.ReadFile(s.p("f")); string(got) != "old" {
			t.Errorf("read %q, %v", got, err)
		}
		if got, err := os.ReadFile(filepath.Join(s.base, "out/secret")); string(got) != "secret" {
			t.Errorf("outside: %q, %v", got, err)
		}
		if got, err := os.ReadFile(s.dir + "-moved/secret"); string(got) != "new" {
			t.Errorf("inside: %q, %v", got, err)
		}
	})
}
