//go:build linux || darwin

package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"textskill/testdata/needs"
)

// names reads all names of a folder, each with a sign for its type.
func names(t *testing.T, d *Dir) []string {
	t.Helper()
	var b Block
	var all []string
	for more := true; more; {
		var err error
		if more, err = d.Read(&b); err != nil {
			t.Fatal(err)
		}
		for _, n := range b.Names {
			all = append(all, string(n.Bytes)+map[fs.FileMode]string{fs.ModeDir: "/",
				fs.ModeSymlink: "@"}[n.Type])
		}
	}
	slices.Sort(all)
	return all
}

func openDir(t *testing.T, w *Workspace, abs string) *Dir {
	t.Helper()
	d, err := w.OpenDir(abs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func TestDir(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("f=one", "d/in/g=two", "l => d", "away => ../out", ".skill/journal", ".Skill./x",
			odd()+"=odd")
		w := s.open(Options{})
		d := openDir(t, w, s.dir)
		want := []string{"away@", "d/", "f", "l@", odd()}
		slices.Sort(want)
		if got := names(t, d); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		in, err := d.OpenDir("d/in")
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		if in.Path() != s.p("d/in") || in.Rel() != "d/in" {
			t.Errorf("%s is %s", in.Path(), in.Rel())
		}
		f, err := in.Open([]byte("g"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if data, err := f.ReadAll(3); err != nil || string(data) != "two" || f.Size() != 3 {
			t.Errorf("read %q, %v of %d", data, err, f.Size())
		}
		if _, err := f.ReadAll(2); err != syscall.EFBIG {
			t.Errorf("more than the limit: %v", err)
		}
		through := openDir(t, w, s.p("l/in"))
		if through.Path() != s.p("d/in") {
			t.Errorf("through a link to %s", through.Path())
		}
	})
}

// TestDirRefuses opens names that are outside, not files, or denied.
func TestDirRefuses(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("f=one", "d/g=two", "l => d", "lf => f", "away => ../out", ".skill/journal=x")
		if err := syscall.Mkfifo(s.p("pipe"), 0o666); err != nil {
			t.Fatal(err)
		}
		w := s.open(Options{})
		d := openDir(t, w, s.dir)
		for _, rel := range []string{"l", "away", "away/sub", "..", "../out", "d/../../out", "/etc",
			".skill", "d/../.skill", "f", "none"} {
			if sub, err := d.OpenDir(rel); err == nil {
				t.Errorf("%s is opened as %s", rel, sub.Path())
				sub.Close()
			}
		}
		for _, name := range []string{"lf", "l", "d", "pipe", "none", "", ".", "..", "../ws-evil/secret",
			"d/g", "f\x00", ".skill", ".SKILL"} {
			if f, err := d.Open([]byte(name)); err == nil {
				t.Errorf("%q is opened", name)
				f.Close()
			}
		}
		var odd *NotRegularError
		if _, err := d.Open([]byte("pipe")); !errors.As(err, &odd) {
			t.Errorf("a pipe: %v", err)
		}
		if _, err := w.OpenDir(s.p("away")); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("a link to outside: %v", err)
		}
	})
}

// TestDirUnreadable opens folders and files without permission.
func TestDirUnreadable(t *testing.T) {
	if !asNobody(t) {
		return
	}
	each(t, func(t *testing.T, s *site) {
		s.layout("f=one", "d/g", "x/g")
		for name, mode := range map[string]fs.FileMode{"f": 0, "d": 0o300, "x": 0o600} {
			if err := os.Chmod(s.p(name), mode); err != nil {
				t.Fatal(err)
			}
		}
		w := s.open(Options{})
		d := openDir(t, w, s.dir)
		for _, rel := range []string{"d", "x/g"} {
			if _, err := d.OpenDir(rel); !errors.Is(err, fs.ErrPermission) {
				t.Errorf("%s: %v", rel, err)
			}
		}
		if _, err := w.OpenDir(s.p("d")); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("d: %v", err)
		}
		if _, err := d.Open([]byte("f")); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("f: %v", err)
		}
		for _, name := range []string{"d", "x"} {
			os.Chmod(s.p(name), 0o700) // to be removed
		}
	})
}

// TestDirLarge reads a folder that does not fit in a block.
func TestDirLarge(t *testing.T) {
	needs.InMemory(t)
	each(t, func(t *testing.T, s *site) {
		var want []string
		for i := range 3000 {
			name := fmt.Sprintf("%04d%s", i, strings.Repeat("n", 40))
			s.layout(name)
			want = append(want, name)
		}
		d := openDir(t, s.open(Options{}), s.dir)
		if got := names(t, d); !slices.Equal(got, want) {
			t.Errorf("%d names, %d want", len(got), len(want))
		}
	})
}
