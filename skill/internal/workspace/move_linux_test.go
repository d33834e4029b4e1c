package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"textskill/skill/internal/history"
	"textskill/testdata/needs"
)

// elsewhere returns a folder on another file system than the site's.
func elsewhere(t *testing.T, s *site) string {
	t.Helper()
	const other = "/dev/shm"
	far, err := os.MkdirTemp(other, "workspace")
	needs.That(t, err == nil, other, "mount a tmpfs there")
	t.Cleanup(func() { os.RemoveAll(far) })
	var a, b syscall.Stat_t
	if err := errors.Join(syscall.Stat(s.dir, &a), syscall.Stat(far, &b)); err != nil {
		t.Fatal(err)
	}
	needs.That(t, a.Dev != b.Dev, "a TMPDIR outside "+other, "set it to a folder on a disk")
	return far
}

// A move between file systems keeps the same metadata as a rename.
func TestMoveAcross(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		far := elsewhere(t, s)
		w := s.open(Options{Allow: []string{far}})
		s.layout("d/a/f=x", "d/.git/config=c", "d/l => a/f", "d/out => ../../out", "d/empty/", "f=content",
			"link => f")
		then := time.Unix(1e9, 5e8)
		for _, name := range []string{"d/a/f", "d/a", "d", "f"} {
			if os.Geteuid() == 0 {
				if err := os.Chown(s.p(name), 1234, 5678); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Chmod(s.p(name), 0o751); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(s.p(name), then, then); err != nil {
				t.Fatal(err)
			}
		}
		before := s.described()
		s.layout(tempName + "/left=over")
		for _, name := range []string{"d", "f", "link"} {
			c, err := w.Move(t.Context(), s.p(name), far+"/x/"+name, MoveOptions{Parents: true})
			must(t, c, err)
			s.lacks(name)
		}
		if list, err := os.ReadDir(far + "/x"); err != nil || len(list) != 3 {
			t.Errorf("%v, %v", list, err)
		}
		for _, name := range []string{"d", "f", "link"} {
			c, err := w.Move(t.Context(), far+"/x/"+name, s.p(name), MoveOptions{NoReplace: true})
			must(t, c, err)
		}
		if after := s.described(); after != before {
			t.Errorf("moved\n%s\nthere and back:\n%s", before, after)
		}
		for n := range 6 {
			if done, err := w.Undo(t.Context(), UndoOptions{}); err != nil ||
				strings.Contains(done[0].Of, "@") != (n >= 3) {
				t.Fatalf("%+v, %v", done, err)
			}
		}
		if after := s.described(); after != before {
			t.Errorf("moved\n%s\nundone:\n%s", before, after)
		}
	})
}

// described is snapshot without inode numbers, and with the times of folders.
func (s *site) described() string {
	var b strings.Builder
	for line := range strings.Lines(s.snapshot()) {
		name, _, _ := strings.Cut(line, " ")
		before, rest, _ := strings.Cut(line, " inode ")
		_, rest, _ = strings.Cut(rest, " ")
		b.WriteString(strings.TrimSpace(before+" "+rest) + "\n")
		if fi, err := os.Lstat(filepath.Join(s.base, name)); err == nil && fi.IsDir() &&
			strings.HasPrefix(name, "ws/") {
			fmt.Fprintf(&b, "%v\n", fi.ModTime())
		}
	}
	return b.String()
}

func TestMoveAcrossRefused(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		far := elsewhere(t, s)
		s.layout("d/.skill/x", "e/x", "f=x", "e2/y")
		for _, name := range []string{"/full/f", "/file"} {
			s.put(far+name, "there")
		}
		if err := os.Mkdir(far+"/empty", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(s.p("fifo"), 0o600); err != nil {
			t.Fatal(err)
		}
		w := s.open(Options{NoSync: true, Allow: []string{far}})
		before := s.snapshot()
		for _, c := range []struct {
			from, to string
			o        MoveOptions
			want     error
		}{
			{"d", "/d", MoveOptions{}, fs.ErrPermission},
			{"e", "/full", MoveOptions{}, syscall.ENOTEMPTY},
			{"e", "/full", MoveOptions{NoReplace: true}, syscall.EEXIST},
			{"e", "/file", MoveOptions{}, syscall.ENOTDIR},
			{"f", "/full", MoveOptions{}, syscall.EISDIR},
			{"f", "/file", MoveOptions{NoReplace: true}, syscall.EEXIST},
			{"f", "/a/b/" + strings.Repeat("n", 300), MoveOptions{Parents: true}, syscall.ENAMETOOLONG},
		} {
			if _, err := w.Move(t.Context(), s.p(c.from), far+c.to, c.o); !errors.Is(err, c.want) {
				t.Errorf("%s to %s: %v; want %v", c.from, c.to, err, c.want)
			}
		}
		if _, err := w.Move(t.Context(), s.p("fifo"), far+"/fifo", MoveOptions{}); err == nil {
			t.Error("a fifo was copied")
		}
		s.unchanged(before)
		if list, err := os.ReadDir(far); err != nil || len(list) != 3 {
			t.Errorf("%v, %v", list, err)
		}
		c, err := w.Move(t.Context(), s.p("e2"), far+"/empty", MoveOptions{})
		must(t, c, err)
		c, err = w.Move(t.Context(), s.p("f"), far+"/file", MoveOptions{})
		must(t, c, err)
		if data, err := os.ReadFile(far + "/file"); string(data) != "x" {
			t.Errorf("%q, %v", data, err)
		}
	})
}

// After a failed move or delete to another file system, or a failed undo of a move, nothing has changed, even
// if a part of the source was removed before.
func TestFailedMoveLeavesNothing(t *testing.T) {
	small := t.TempDir()
	needs.Mount(t, "none", small, "tmpfs", 0, "size=128k")
	big := strings.Repeat("0123456789abcdef", 40<<10)
	for _, c := range []struct {
		name, stuck string
		journal     bool
		do          func(w *Workspace, s *site, far string) error
	}{
		{"a file that cannot be removed", "f", true, func(w *Workspace, s *site, far string) error {
			return failed(w.Move(bg, s.p("f"), far+"/made/f", MoveOptions{Parents: true}))
		}},
		{"a file that replaces one", "f", true, func(w *Workspace, s *site, far string) error {
			return failed(w.Move(bg, s.p("f"), far+"/file", MoveOptions{}))
		}},
		{"a folder that cannot be renamed", "d", true, func(w *Workspace, s *site, far string) error {
			return failed(w.Move(bg, s.p("d"), far+"/d", MoveOptions{NoReplace: true}))
		}},
		{"a folder with a file that cannot be removed", "d/e/stuck", true,
			func(w *Workspace, s *site, far string) error {
				return failed(w.Move(bg, s.p("d"), far+"/d", MoveOptions{}))
			}},
		{"a folder that replaces an empty one", "d/e/stuck", true,
			func(w *Workspace, s *site, far string) error {
				return failed(w.Move(bg, s.p("d"), far+"/empty", MoveOptions{}))
			}},
		{"without a journal", "d/e/stuck", false, func(w *Workspace, s *site, far string) error {
			return failed(w.Move(bg, s.p("d"), far+"/d", MoveOptions{}))
		}},
		{"a file that is too large", "", true, func(w *Workspace, s *site, _ string) error {
			return failed(w.Move(bg, s.p("big"), small+"/a/big", MoveOptions{Parents: true}))
		}},
		{"a folder that is too large", "", true, func(w *Workspace, s *site, _ string) error {
			return failed(w.Move(bg, s.p("large"), small+"/large", MoveOptions{}))
		}},
		{"a folder that is deleted", "d/e/stuck", true, func(w *Workspace, s *site, _ string) error {
			return failed(w.Remove(bg, s.p("d"), RemoveOptions{Tree: true}))
		}},
		{"a file that is deleted with others", "f", true, func(w *Workspace, s *site, _ string) error {
			return failed(w.ChangeFiles(bg, fixed(FileChange{Path: s.p("z"), Before: []byte("5")},
				FileChange{Path: s.p("f"), Before: []byte("new")})))
		}},
		{"the undo of a move", "tree/f", true, func(w *Workspace, s *site, _ string) error {
			return failed(w.Undo(bg, UndoOptions{}))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			each(t, func(t *testing.T, s *site) {
				far := elsewhere(t, s)
				s.layout("f=new", "d/a=1", "d/e/b/c=2", "d/e/stuck=3", "d/e/l => b", "d/z/y=4", "z=5",
					"big="+big, "large/1=1", "large/big="+big)
				s.put(far+"/file", "old")
				s.put(far+"/tree/f", "far")
				if err := errors.Join(os.Chmod(s.p("d/z"), 0o750), os.Mkdir(far+"/empty", 0o750)); err != nil {
					t.Fatal(err)
				}
				w := s.open(Options{NoSync: true, Allow: []string{far, small},
					Journal: Journal{Off: !c.journal}, State: elsewhere(t, s)})
				if strings.HasPrefix(c.stuck, "tree/") {
					made, err := w.Move(bg, far+"/tree", s.p("tree"), MoveOptions{})
					must(t, made, err)
				}
				if c.stuck != "" {
					immutable(t, s.p(c.stuck))
				}
				before := s.both(far)
				if err := c.do(w, s, far); err == nil {
					t.Fatal("it was done")
				}
				if after := s.both(far); after != before {
					t.Errorf("there was\n%s\nthere is\n%s", short(before), short(after))
				}
				if list, err := w.Inspect(bg); err != nil ||
					slices.ContainsFunc(list,
						func(r history.Report) bool { return len(r.Orphans)+len(r.Missing) > 0 }) {
					t.Errorf("%+v, %v", list, err)
				}
				if list, err := os.ReadDir(small); err != nil || len(list) > 0 {
					t.Errorf("%v, %v", list, err)
				}
			})
		})
	}
}

// A copy is not removed if its source no longer exists, because it is the only copy.
func TestRestoreSourceOfOnlyCopy(t *testing.T) {
	s := newSite(t, false)
	s.layout("copy=x")
	w := s.open(Options{NoSync: true})
	root := w.roots[0]
	d, err := root.tree.OpenFolder(".")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	err = w.restoreSource(bg, errors.New("failed"), location{root, "gone"}, d, location{root, "copy"}, d)
	if err == nil || !strings.Contains(err.Error(), s.p("copy")+" holds all of it") {
		t.Errorf("%v", err)
	}
	s.has("copy", "x")
	if err := removeSource(d, "gone", Info{}); err != nil {
		t.Error(err)
	}
}
