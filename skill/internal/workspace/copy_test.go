//go:build linux || darwin

package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// checkLinkError is checkPathError for an operation on two names. For the op "mkdir" it expects a PathError
// of the folder above the second name.
func checkLinkError(t *testing.T, err error, op, from, to string, want error) {
	t.Helper()
	if op == "mkdir" {
		checkPathError(t, op, err, op, filepath.Dir(to), want)
		return
	}
	le, ok := err.(*os.LinkError)
	if want == nil && err != nil || want != nil &&
		(!ok || le.Op != op || le.Old != from ||
			le.New != to || le.Err != want) {
		t.Errorf("%#v; want %s %s %s: %v", err, op, from, to, want)
	}
}

var copyCases = []struct {
	name     string
	layout   []string
	from, to string
	o        CopyOptions
	want     []string // files that then are there, with their content
	op       string
	err      error
}{
	{"file", []string{"a=x"}, "a", "b", CopyOptions{}, []string{"a=x", "b=x"}, "", nil},
	{"file of nothing", []string{"a"}, "a", "b", CopyOptions{}, []string{"b="}, "", nil},
	{"missing", nil, "a", "b", CopyOptions{}, nil, "copyfile", syscall.ENOENT},
	{"missing, with folders to make", nil, "a", "d/b", CopyOptions{Parents: true}, nil, "copyfile",
		syscall.ENOENT},
	{"onto a file", []string{"a=x", "b=y"}, "a", "b", CopyOptions{}, nil, "copyfile", syscall.EEXIST},
	{"onto a file, replaced", []string{"a=x", "b=longer"}, "a", "b", CopyOptions{Replace: true},
		[]string{"a=x", "b=x"}, "", nil},
	{"onto itself", []string{"a=x"}, "a", "a", CopyOptions{Replace: true}, nil, "copyfile", ErrSameFile},
	{"onto itself by a link", []string{"a=x", "l => a"}, "l", "a", CopyOptions{}, nil, "copyfile",
		ErrSameFile},
	{"onto a folder", []string{"a=x", "b/c"}, "a", "b", CopyOptions{Replace: true}, nil, "copyfile",
		syscall.EISDIR},
	{"no folder", []string{"a=x"}, "a", "d/b", CopyOptions{}, nil, "copyfile", syscall.ENOENT},
	{"folders made", []string{"a=x"}, "a", "d/e/b", CopyOptions{Parents: true}, []string{"d/e/b=x"}, "", nil},
	{"a file for a folder", []string{"a=x", "d=y"}, "a", "d/b", CopyOptions{Parents: true}, nil, "copyfile",
		syscall.ENOTDIR},
	{"from below a file", []string{"a=x"}, "a/b", "c", CopyOptions{}, nil, "copyfile", syscall.ENOTDIR},
	{"through links", []string{"a=x", "l => a", "b=y", "m => b"}, "l", "m", CopyOptions{Replace: true},
		[]string{"b=x"}, "", nil},
	{"to a dangling link", []string{"a=x", "m => b"}, "a", "m", CopyOptions{}, []string{"b=x"}, "", nil},
	{"folder without Tree", []string{"d/a=x"}, "d", "e", CopyOptions{}, nil, "copyfile", syscall.EISDIR},
	{"tree", []string{"d/a=x", "d/e/f/b=y", "d/g/"}, "d", "e", CopyOptions{Tree: true},
		[]string{"e/a=x", "e/e/f/b=y", "e/g/", "d/a=x"}, "", nil},
	{"file with Tree", []string{"a=x"}, "a", "b", CopyOptions{Tree: true}, []string{"b=x"}, "", nil},
	{"empty tree", []string{"d/"}, "d", "e", CopyOptions{Tree: true}, []string{"e/"}, "", nil},
	{"tree through a link", []string{"d/a=x", "l => d"}, "l", "e", CopyOptions{Tree: true},
		[]string{"e/a=x"}, "", nil},
	{"tree, folders made", []string{"d/a=x"}, "d", "x/y/e", CopyOptions{Tree: true, Parents: true},
		[]string{"x/y/e/a=x"}, "", nil},
	{"tree into itself", []string{"d/a=x"}, "d", "d/e", CopyOptions{Tree: true}, nil, "copyfile",
		syscall.EINVAL},
	{"tree into itself, deep", []string{"d/a=x"}, "d", "d/x/y/e", CopyOptions{Tree: true, Parents: true},
		nil, "copyfile", syscall.EINVAL},
	{"tree into itself by a link", []string{"d/a=x", "d/e/", "l => d/e"}, "d", "l/f", CopyOptions{Tree: true},
		nil, "copyfile", syscall.EINVAL},
	{"tree beside itself", []string{"d/a=x"}, "d", "dd", CopyOptions{Tree: true},
		[]string{"dd/a=x"}, "", nil},
	{"tree onto itself", []string{"d/a=x"}, "d", "d", CopyOptions{Tree: true, Replace: true}, nil, "copyfile",
		ErrSameFile},
	{"tree onto a folder", []string{"d/a=x", "e/"}, "d", "e", CopyOptions{Tree: true, Replace: true},
		nil, "copyfile", syscall.EEXIST},
	{"tree onto a file", []string{"d/a=x", "e=y"}, "d", "e", CopyOptions{Tree: true, Replace: true},
		nil, "copyfile", syscall.EEXIST},
	{"workspace into itself", []string{"a=x"}, ".", "b", CopyOptions{Tree: true}, nil, "copyfile",
		syscall.EINVAL},
	{"tree with links", []string{"d/a=x", "d/l => a", "d/up => ../b", "d/out => ../../out",
		"d/dangling => zzz"}, "d", "e", CopyOptions{Tree: true},
		[]string{"e/a=x", "e/l => a", "e/up => ../b", "e/out => ../../out", "e/dangling => zzz"}, "", nil},
	{"tree with links followed", []string{"d/a=x", "d/l => a", "d/sub => ../s", "s/b=y", "d/abs => $WS/s/b"},
		"d", "e", CopyOptions{Tree: true, Follow: true},
		[]string{"e/a=x", "e/l=x", "e/sub/b=y", "e/abs=y"}, "", nil},
}

func TestCopy(t *testing.T) {
	for _, c := range copyCases {
		t.Run(c.name, func(t *testing.T) {
			each(t, func(t *testing.T, s *site) {
				s.layout(c.layout...)
				w := s.open(Options{NoSync: true})
				before := s.snapshot()
				c.o.DryRun = true
				change, err := w.Copy(t.Context(), s.p(c.from), s.p(c.to), c.o)
				checkLinkError(t, err, c.op, s.p(c.from), s.p(c.to), c.err)
				s.unchanged(before)
				c.o.DryRun = false
				change, err = w.Copy(t.Context(), s.p(c.from), s.p(c.to), c.o)
				checkLinkError(t, err, c.op, s.p(c.from), s.p(c.to), c.err)
				if change.Applied != (c.err == nil) || change.From != s.p(c.from) ||
					change.Path != s.p(c.to) || change.Kind != Copy {
					t.Errorf("%+v", change)
				}
				if c.err != nil {
					s.unchanged(before)
				}
				s.holds(c.want...)
				s.lacks(tempName)
			})
		})
	}
}

// holds checks that the site has entries in the format of layout.
func (s *site) holds(entries ...string) {
	s.t.Helper()
	for _, e := range entries {
		name, target, link := strings.Cut(e, " => ")
		name, content, _ := strings.Cut(name, "=")
		switch {
		case link:
			if got, err := os.Readlink(s.p(name)); got != target {
				s.t.Errorf("%s leads to %q, %v; want %q", name, got, err, target)
			}
		case strings.HasSuffix(name, "/"):
			isFolder(s, strings.TrimSuffix(name, "/"))
		default:
			if fi, err := os.Lstat(s.p(name)); err != nil || !fi.Mode().IsRegular() {
				s.t.Errorf("%s: %v, %v", name, fi, err)
			}
			s.has(name, content)
		}
	}
}

// A copy that fails within a tree leaves nothing behind, and names the file.
func TestCopyTreeFails(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("d/a/f=x", "d/b/skill.toml=x")
		w := s.open(Options{NoSync: true})
		before := s.snapshot()
		_, err := w.Copy(t.Context(), s.p("d"), s.p("x/y"),
			CopyOptions{Tree: true, Follow: true, Parents: true})
		if err == nil || !strings.Contains(err.Error(), s.p("d/b/skill.toml")) {
			t.Error(err)
		}
		s.unchanged(before)
	})
}

// Copy follows links in a tree, and copies links that it cannot follow.
func TestCopyTreeLinks(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("d/a/f=x", "d/b/l => ../../../out/secret", "d/c/a/up => ..", "d/m/l => missing",
			"d/r/l => $WS/.skill/x", ".skill/x=records",
			"d/self => self", "d/below => a/f/x", "d/file => a/f", "d/folder => a", "d/back => ../d")
		w := s.open(Options{NoSync: true})
		c, err := w.Copy(t.Context(), s.p("d"), s.p("e"), CopyOptions{Tree: true, Follow: true})
		must(t, c, err)
		s.holds("e/a/f=x", "e/b/l => ../../../out/secret", "e/c/a/up => ..", "e/m/l => missing",
			"e/r/l => "+s.p(".skill/x"),
			"e/self => self", "e/below => a/f/x", "e/file=x", "e/folder/f=x", "e/back => ../d")
	})
}

func TestCopyTimes(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("d/e/f=x", "d/g=y", "old=z")
		then := time.Unix(1e9, 123456789)
		for _, name := range []string{"d/e/f", "d/e", "d/g", "d"} {
			if err := os.Chtimes(s.p(name), then.Add(time.Second), then); err != nil {
				t.Fatal(err)
			}
		}
		w := s.open(Options{NoSync: true})
		for from, to := range map[string]string{"d": "c", "d/g": "g", "d/e/f": "old"} {
			c, err := w.Copy(t.Context(), s.p(from), s.p(to),
				CopyOptions{Tree: true, Times: true, Replace: true})
			must(t, c, err)
		}
		for _, name := range []string{"c", "c/e", "c/e/f", "c/g", "g", "old"} {
			if info, err := w.Stat(s.p(name), false); err != nil || !info.ModTime.Equal(then) {
				t.Errorf("%s: %v, %v", name, info.ModTime, err)
			}
		}
		c, err := w.Copy(t.Context(), s.p("d"), s.p("now"), CopyOptions{Tree: true})
		must(t, c, err)
		if info, err := w.Stat(s.p("now/e/f"), false); err != nil || time.Since(info.ModTime) > time.Minute {
			t.Errorf("%v, %v", info.ModTime, err)
		}
	})
}

// A tree with large, sparse and many files, in deep and wide folders.
func TestCopyLargeTree(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		var want []string
		for n := range 300 {
			want = append(want, fmt.Sprintf("d/%d/%d/f%d=%s", n%3, n%7, n, strings.Repeat("x", n*100)))
		}
		deep := "d" + strings.Repeat("/deep", 100) + "/f=bottom"
		s.layout(append(want, deep)...)
		if err := os.Truncate(s.p("d/0/0/f0"), 5<<20); err != nil {
			t.Fatal(err)
		}
		w := s.open(Options{NoSync: true})
		c, err := w.Copy(t.Context(), s.p("d"), s.p("e"), CopyOptions{Tree: true})
		must(t, c, err)
		for _, e := range append(want[1:], deep) {
			s.holds("e" + e[1:])
		}
		if info, err := w.Stat(s.p("e/0/0/f0"), false); err != nil || info.Size != 5<<20 {
			t.Errorf("%+v, %v", info, err)
		}
	})
}

// The workspace can be copied to an allowed folder, but not if one contains the other.
func TestCopyBetweenRoots(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		out := filepath.Join(s.base, "out")
		s.layout("a/f=x", ".skill/journal=j", "nested/allowed/g=y")
		w := s.open(Options{Allow: []string{out, s.base, s.p("nested/allowed")}})
		c, err := w.Copy(t.Context(), s.dir, out+"/copy", CopyOptions{Tree: true})
		must(t, c, err)
		for name, want := range map[string]string{"a/f": "x", "nested/allowed/g": "y"} {
			if got, err := os.ReadFile(out + "/copy/" + name); string(got) != want {
				t.Errorf("%s: %q, %v", name, got, err)
			}
		}
		if _, err := os.Lstat(out + "/copy/.skill"); !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
		before := s.snapshot()
		for from, to := range map[string]string{s.base: s.p("a/all"), out: out + "/sub/self",
			s.dir: s.p("nested/allowed/x")} {
			_, err := w.Copy(t.Context(), from, to, CopyOptions{Tree: true})
			checkLinkError(t, err, "copyfile", from, to, syscall.EINVAL)
		}
		s.unchanged(before)
		c, err = w.Copy(t.Context(), out+"/secret", s.p("secret"), CopyOptions{})
		must(t, c, err)
		s.has("secret", "secret")
		c, err = w.Move(t.Context(), s.p("a"), out+"/a", MoveOptions{})
		must(t, c, err)
		s.lacks("a")
	})
}
