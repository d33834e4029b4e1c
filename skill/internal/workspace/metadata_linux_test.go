package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"textskill/testdata/needs"
)

// acl is a POSIX ACL: the owner, user 1234, the group, the mask, others.
var acl = []byte{2, 0, 0, 0,
	1, 0, 6, 0, 0xff, 0xff, 0xff, 0xff,
	2, 0, 6, 0, 0xd2, 4, 0, 0,
	4, 0, 4, 0, 0xff, 0xff, 0xff, 0xff,
	16, 0, 6, 0, 0xff, 0xff, 0xff, 0xff,
	32, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}

func TestAttributesStay(t *testing.T) {
	eachChange(t, func(t *testing.T, s *site, change func(*Workspace, string) (Change, error), want string) {
		s.layout("f=content")
		attrs := map[string][]byte{"user.one": []byte("1"), "user.empty": {},
			"user.bytes": bytes.Repeat([]byte{0, 0xff}, 500)}
		for n := range 20 {
			attrs[fmt.Sprintf("user.%0100d", n)] = []byte{byte(n)}
		}
		if unix.Setxattr(s.p("f"), "system.posix_acl_access", acl, 0) == nil {
			attrs["system.posix_acl_access"] = acl
		}
		for name, value := range attrs {
			if err := unix.Setxattr(s.p("f"), name, value, 0); err != nil {
				t.Fatalf("%s: %v (the temporary folder's file system has to have attributes)", name, err)
			}
		}
		mode, err := os.Stat(s.p("f"))
		if err != nil {
			t.Fatal(err)
		}
		w := s.open(Options{NoSync: true})
		c, err := change(w, s.p("f"))
		must(t, c, err)
		s.has("f", want)
		for name, value := range attrs {
			buf := make([]byte, 2000)
			n, err := unix.Getxattr(s.p("f"), name, buf)
			if err != nil || !bytes.Equal(buf[:n], value) {
				t.Errorf("%s: %q, %v", name, buf[:max(n, 0)], err)
			}
		}
		if fi, err := os.Stat(s.p("f")); err != nil || fi.Mode() != mode.Mode() {
			t.Errorf("%v, %v; want %v", fi.Mode(), err, mode.Mode())
		}
	})
}

func TestOwnerStays(t *testing.T) {
	needs.Root(t)
	eachChange(t, func(t *testing.T, s *site, change func(*Workspace, string) (Change, error), want string) {
		s.layout("f=content")
		if err := os.Chown(s.p("f"), 1234, 5678); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(s.p("f"), 0o751|fs.ModeSetgid); err != nil {
			t.Fatal(err)
		}
		w := s.open(Options{NoSync: true})
		c, err := change(w, s.p("f"))
		must(t, c, err)
		s.has("f", want)
		info, err := w.Stat(s.p("f"), true)
		if err != nil || info.UID != 1234 || info.GID != 5678 || info.Mode.Perm() != 0o751 {
			t.Errorf("%+v, %v", info, err)
		}
	})
}

// A file is written in place if a new file cannot get its owner.
func TestForeignFile(t *testing.T) {
	needs.Users(t)
	base, err := os.MkdirTemp("", "foreign")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(base)
	if err := os.Chmod(base, 0o777); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(base, "f")
	if err := os.WriteFile(file, []byte("old"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, 0o666); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	for n, portable := range []bool{false, true} {
		home, err := os.MkdirTemp("", "foreign-home")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(home)
		if err := os.Chown(home, nobody, nobody); err != nil {
			t.Fatal(err)
		}
		t.Setenv("XDG_STATE_HOME", home)
		child := startChild(t, "foreign", nobody, base, fmt.Sprint(portable))
		child.wait(t)
		after, err := os.Stat(file)
		if err != nil || !os.SameFile(before, after) || after.Sys().(*syscall.Stat_t).Uid != 0 {
			t.Errorf("%v: %v", after, err)
		}
		if data, err := os.ReadFile(file); string(data) != "old"+strings.Repeat("+", n+1) {
			t.Errorf("%q, %v", data, err)
		}
	}
}

// A file size limit stops changes in the middle: nothing changes.
func TestLimit(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.put(filepath.Join(s.base, "big"), strings.Repeat("b", 600<<10))
		startChild(t, "limited", os.Geteuid(), s.base, fmt.Sprint(s.portable)).wait(t)
	})
}

// A full disk stops changes in the middle: nothing changes.
func TestDiskFull(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		small := filepath.Join(s.base, "small")
		if err := os.Mkdir(small, 0o755); err != nil {
			t.Fatal(err)
		}
		needs.Mount(t, "tmpfs", small, "tmpfs", 0, "size=512k")
		s.dir = small
		s.put(filepath.Join(s.base, "big"), strings.Repeat("b", 600<<10))
		fullDisk(t, s, syscall.ENOSPC)
	})
}

// fullDisk makes changes that do not fit into the site. There is a file "big" beside it.
func fullDisk(t testing.TB, s *site, want error) {
	big := strings.Repeat("x", 1<<20)
	s.layout("f=content", "d/f="+strings.Repeat("y", 100<<10), "linked="+strings.Repeat("z", 200<<10),
		"own="+strings.Repeat("z", 100<<10))
	if err := os.Link(s.p("linked"), s.p("twin")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(s.p("own"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := s.open(Options{Allow: []string{s.base}})
	before := s.snapshot()
	for name, err := range map[string]error{
		"write":          failed(w.WriteFile(bg, s.p("f"), []byte(big), WriteOptions{})),
		"write new":      failed(w.WriteFile(bg, s.p("a/b/new"), []byte(big), WriteOptions{Parents: true})),
		"append":         failed(w.AppendFile(bg, s.p("f"), []byte(big), WriteOptions{})),
		"edit":           failed(w.EditFile(bg, s.p("f"), WriteOptions{}, swap("content", big))),
		"write linked":   failed(w.WriteFile(bg, s.p("linked"), []byte(big), WriteOptions{})),
		"copy":           failed(w.Copy(bg, s.base+"/big", s.p("new"), CopyOptions{})),
		"copy over":      failed(w.Copy(bg, s.base+"/big", s.p("f"), CopyOptions{Replace: true})),
		"append linked":  failed(w.AppendFile(bg, s.p("twin"), []byte(big), WriteOptions{})),
		"copy to linked": failed(w.Copy(bg, s.base+"/big", s.p("twin"), CopyOptions{Replace: true})),
	} {
		if !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s.unchanged(before)
	if want == syscall.ENOSPC { // and so another file system
		if _, err := w.Move(bg, s.base+"/big", s.p("f"), MoveOptions{}); !errors.Is(err, want) {
			t.Errorf("move: %v", err)
		}
		s.unchanged(before)
		if _, err := w.Copy(bg, s.p("d"), s.p("e"), CopyOptions{Tree: true}); err != nil {
			s.unchanged(before) // it may or may not fit
		} else if _, err := w.Copy(bg, s.p("e"), s.p("g/h"), CopyOptions{Tree: true, Parents: true}); !errors.Is(err, want) {
			t.Errorf("tree: %v", err)
		}
	}
}

// The disk has room for one new version of a file with hard links, but not for two: the file stays whole.
func TestDiskFullInPlace(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		small := filepath.Join(s.base, "small")
		if err := os.Mkdir(small, 0o755); err != nil {
			t.Fatal(err)
		}
		needs.Mount(t, "tmpfs", small, "tmpfs", 0, "size=1m")
		s.dir = small
		s.layout("f=" + strings.Repeat("o", 100<<10))
		if err := os.Link(s.p("f"), s.p("g")); err != nil {
			t.Fatal(err)
		}
		w := s.open(Options{NoSync: true})
		before := s.snapshot()
		_, err := w.WriteFile(bg, s.p("f"), bytes.Repeat([]byte("n"), 600<<10), WriteOptions{})
		if !errors.Is(err, syscall.ENOSPC) {
			t.Error(err)
		}
		s.unchanged(before)
		c, err := w.WriteFile(bg, s.p("f"), bytes.Repeat([]byte("n"), 300<<10), WriteOptions{})
		must(t, c, err)
	})
}

// A rename cannot replace a file that is a mount point.
func TestMountedFile(t *testing.T) {
	eachChange(t, func(t *testing.T, s *site, change func(*Workspace, string) (Change, error), want string) {
		s.layout("f=x", "d/sub/in")
		s.put(filepath.Join(s.base, "other"), "content")
		for on, what := range map[string]string{"f": "/other", "d/sub": "/out"} {
			needs.Mount(t, s.base+what, s.p(on), "", unix.MS_BIND, "")
		}
		w := s.open(Options{NoSync: true})
		c, err := change(w, s.p("f"))
		must(t, c, err)
		s.has("f", want)
		s.lacks(tempName)
		if got, err := os.ReadFile(s.base + "/other"); string(got) != want {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// A folder that is a mount point is not emptied.
func TestMountedFolder(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("d/a/f=x", "d/sub/", "d/z/f=x")
		needs.Mount(t, "tmpfs", s.p("d/sub"), "tmpfs", 0, "size=64k")
		s.layout("d/sub/precious=x")
		w := s.open(Options{NoSync: true})
		before := s.snapshot()
		for _, dry := range []bool{true, false} {
			_, err := w.Remove(t.Context(), s.p("d"), RemoveOptions{Tree: true, DryRun: dry})
			if !errors.Is(err, syscall.EBUSY) {
				t.Error(err)
			}
		}
		s.unchanged(before)
		c, err := w.Copy(t.Context(), s.p("d"), s.p("e"), CopyOptions{Tree: true})
		must(t, c, err)
		s.has("e/sub/precious", "x")
	})
}

// If a file of a tree cannot be removed, the tree gets its name back.
func TestRemoveTreeStops(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("d/a/f=x", "d/b/c/f=x", "d/z=x")
		f, err := os.Open(s.p("d/b/c/f"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		const immutable = 0x10
		err = unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, immutable)
		needs.That(t, err == nil, fmt.Sprintf("immutable files (%v)", err),
			"run the tests as root, with TMPDIR on a disk")
		defer unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, 0)
		w := s.open(Options{NoSync: true, Journal: Journal{Off: true}})
		_, err = w.Remove(t.Context(), s.p("d"), RemoveOptions{Tree: true})
		if !errors.Is(err, syscall.EPERM) {
			t.Error(err)
		}
		s.has("d/b/c/f", "x")
		s.lacks(tempName)
		c, err := w.WriteFile(t.Context(), s.p("next"), nil, WriteOptions{})
		must(t, c, err)
		s.has("d/b/c/f", "x")
	})
}

// A file that takes the place of another while that is replaced is treated as by a rename:
// a folder stays, a link and a new file go.
func TestSwapped(t *testing.T) {
	for _, there := range []string{"f=other", "f => elsewhere", "f/inner=kept", ""} {
		s := newSite(t, false)
		s.layout("beside")
		if there != "" {
			s.layout(there)
		}
		w := s.open(Options{})
		d, err := w.roots[0].tree.OpenFolder(".")
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		n, err := createFile(d, false, allOf([]byte("new")))
		if err != nil {
			t.Fatal(err)
		}
		err = n.install("f", true, nil)
		n.close()
		if there == "f/inner=kept" {
			s.has("f/inner", "kept")
			if !errors.Is(err, syscall.EISDIR) {
				t.Errorf("%s: %v; want EISDIR", there, err)
			}
		} else if s.has("f", "new"); err != nil {
			t.Errorf("%s: %v", there, err)
		}
		s.lacks(tempName)
	}
}
