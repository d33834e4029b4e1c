//go:build linux || darwin

package workspace

import (
	"os"
	"syscall"
	"testing"

	"textskill/testdata/needs"
)

var moveCases = []struct {
	name     string
	layout   []string
	from, to string
	o        MoveOptions
	want     []string
	gone     []string
	op       string
	err      error
}{
	{"file", []string{"a=x"}, "a", "b", MoveOptions{}, []string{"b=x"}, []string{"a"}, "", nil},
	{"file to a folder", []string{"a=x", "d/"}, "a", "d/b", MoveOptions{}, []string{"d/b=x"},
		[]string{"a"}, "", nil},
	{"missing", nil, "a", "b", MoveOptions{}, nil, nil, "rename", syscall.ENOENT},
	{"missing, with folders to make", nil, "a", "d/b", MoveOptions{Parents: true}, nil, nil, "rename",
		syscall.ENOENT},
	{"onto a file", []string{"a=x", "b=y"}, "a", "b", MoveOptions{}, []string{"b=x"}, []string{"a"}, "", nil},
	{"onto a file that stays", []string{"a=x", "b=y"}, "a", "b", MoveOptions{NoReplace: true}, nil, nil,
		"rename", syscall.EEXIST},
	{"onto itself", []string{"a=x"}, "a", "a", MoveOptions{}, []string{"a=x"}, nil, "", nil},
	{"folder onto itself", []string{"d/a=x"}, "d", "d", MoveOptions{}, []string{"d/a=x"}, nil, "", nil},
	{"empty folder onto itself", []string{"d/"}, "d", "d", MoveOptions{}, []string{"d/"}, nil, "", nil},
	{"no folder", []string{"a=x"}, "a", "d/b", MoveOptions{}, nil, nil, "rename", syscall.ENOENT},
	{"folders made", []string{"a=x"}, "a", "d/e/b", MoveOptions{Parents: true}, []string{"d/e/b=x"},
		[]string{"a"}, "", nil},
	{"a file for a folder", []string{"a=x", "d=y"}, "a", "d/b", MoveOptions{Parents: true}, nil, nil,
		"mkdir", syscall.EEXIST},
	{"file onto a folder", []string{"a=x", "d/"}, "a", "d", MoveOptions{}, nil, nil, "rename",
		syscall.EISDIR},
	{"folder", []string{"d/a=x", "d/e/b=y"}, "d", "f", MoveOptions{}, []string{"f/a=x", "f/e/b=y"},
		[]string{"d"}, "", nil},
	{"folder onto an empty folder", []string{"d/a=x", "e/"}, "d", "e", MoveOptions{}, []string{"e/a=x"},
		[]string{"d"}, "", nil},
	{"folder onto an empty folder that stays", []string{"d/a=x", "e/"}, "d", "e",
		MoveOptions{NoReplace: true}, nil, nil, "rename", syscall.EEXIST},
	{"folder onto a full folder", []string{"d/a=x", "e/b=y"}, "d", "e", MoveOptions{}, nil, nil, "rename",
		syscall.ENOTEMPTY},
	{"folder onto a file", []string{"d/a=x", "e=y"}, "d", "e", MoveOptions{}, nil, nil, "rename",
		syscall.ENOTDIR},
	{"folder into itself", []string{"d/a=x"}, "d", "d/e", MoveOptions{}, nil, nil, "rename", syscall.EINVAL},
	{"folder into itself, deep", []string{"d/a=x"}, "d", "d/e/f", MoveOptions{Parents: true}, nil, nil,
		"rename", syscall.EINVAL},
	{"folder into itself by a link", []string{"d/e/", "l => d/e"}, "d", "l/f", MoveOptions{}, nil, nil,
		"rename", syscall.EINVAL},
	{"folder up", []string{"a/b/c=x"}, "a/b", "b", MoveOptions{}, []string{"b/c=x", "a/"},
		[]string{"a/b"}, "", nil},
	{"folder onto the one it is in", []string{"a/b/c=x"}, "a/b", "a", MoveOptions{}, nil, nil, "rename",
		syscall.ENOTEMPTY},
	{"link", []string{"a=x", "l => a"}, "l", "m", MoveOptions{}, []string{"m => a", "a=x"},
		[]string{"l"}, "", nil},
	{"link to outside", []string{"l => ../out"}, "l", "m", MoveOptions{}, []string{"m => ../out"},
		[]string{"l"}, "", nil},
	{"dangling link", []string{"l => zzz"}, "l", "m", MoveOptions{}, []string{"m => zzz"},
		[]string{"l"}, "", nil},
	{"onto a link", []string{"a=x", "b=y", "l => b"}, "a", "l", MoveOptions{}, []string{"l=x", "b=y"},
		[]string{"a"}, "", nil},
	{"onto a link that stays", []string{"a=x", "l => zzz"}, "a", "l", MoveOptions{NoReplace: true}, nil,
		nil, "rename", syscall.EEXIST},
	{"through folder links", []string{"d/a=x", "k => d", "e/", "l => e"}, "k/a", "l/b", MoveOptions{},
		[]string{"e/b=x"}, []string{"d/a"}, "", nil},
}

func TestMove(t *testing.T) {
	needs.InMemory(t)
	for _, c := range moveCases {
		t.Run(c.name, func(t *testing.T) {
			each(t, func(t *testing.T, s *site) {
				s.layout(c.layout...)
				w := s.open(Options{NoSync: true})
				before := s.snapshot()
				dry := c.o
				dry.DryRun = true
				_, err := w.Move(t.Context(), s.p(c.from), s.p(c.to), dry)
				checkLinkError(t, err, c.op, s.p(c.from), s.p(c.to), c.err)
				s.unchanged(before)
				change, err := w.Move(t.Context(), s.p(c.from), s.p(c.to), c.o)
				checkLinkError(t, err, c.op, s.p(c.from), s.p(c.to), c.err)
				if change.Applied != (c.err == nil) || change.From != s.p(c.from) ||
					change.Path != s.p(c.to) || change.Kind != Move {
					t.Errorf("%+v", change)
				}
				if c.err != nil {
					s.unchanged(before)
				}
				s.holds(c.want...)
				for _, name := range c.gone {
					s.lacks(name)
				}
			})
		})
	}
}

// A move onto a hard link of the same file leaves one name.
func TestMoveOntoHardLink(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("a=x", "d/")
		for _, to := range []string{"b", "d/b"} {
			if err := os.Link(s.p("a"), s.p(to)); err != nil {
				t.Fatal(err)
			}
			w := s.open(Options{NoSync: true})
			c, err := w.Move(t.Context(), s.p("a"), s.p(to), MoveOptions{})
			must(t, c, err)
			s.lacks("a")
			s.has(to, "x")
			c, err = w.Move(t.Context(), s.p(to), s.p("a"), MoveOptions{})
			must(t, c, err)
		}
	})
}

// A file keeps all its metadata, as with rename(2).
func TestMoveKeepsTheFile(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("a=x", "d/")
		if err := os.Chmod(s.p("a"), 0o640); err != nil {
			t.Fatal(err)
		}
		before, err := os.Stat(s.p("a"))
		if err != nil {
			t.Fatal(err)
		}
		w := s.open(Options{NoSync: true})
		c, err := w.Move(t.Context(), s.p("a"), s.p("d/b"), MoveOptions{})
		must(t, c, err)
		if after, err := os.Stat(s.p("d/b")); err != nil || !os.SameFile(before, after) {
			t.Errorf("%v, %v", after, err)
		}
	})
}
