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

// attributes describes the permissions and the extended attributes of everything in the workspace.
func (s *site) attributes(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(s.dir, func(p string, d fs.DirEntry, err error) error {
		info, serr := os.Lstat(p)
		if serr != nil || p == s.dir {
			return serr
		}
		fmt.Fprintln(&b, strings.TrimPrefix(p, s.dir), info.Mode())
		for _, attr := range []string{"user.tag", "system.posix_acl_access", "system.posix_acl_default"} {
			buf := make([]byte, 200)
			if n, err := unix.Lgetxattr(p, attr, buf); err == nil {
				fmt.Fprintf(&b, "  %s %q\n", attr, buf[:n])
			}
		}
		if errors.Is(err, fs.ErrPermission) {
			return nil
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The undo of a command restores access lists and attributes of files and folders, for root and for other users.
func TestUndoOfAttributes(t *testing.T) {
	needs.Program(t, "sh")
	asNobody(t) // and then as this user
	for _, c := range []struct{ script, left string }{
		{script: "echo new >d/f"},
		{script: "echo new >t; mv t d/f"},
		{script: "rm d/f"},
		{script: "rm d/f; mkdir d/f; echo new >d/f/new"},
		{script: "rm -r d"},
		{script: "mv d e"},
		{script: "rm -r d; echo new >d"},
		{script: "rm -r d; mkdir d; echo new >d/f"},
		{script: "chmod 700 d; chmod 600 d/f"},
		{script: "chmod 0 d"},
		{script: "chmod 700 shut; rm -r shut"},
		{script: "chmod 755 shut; mv shut d/shut; chmod 555 d/shut"},
		{script: "mkdir -m 755 d/new; echo new >d/new/new"},
		{script: "cp d/f d/g; rm d/f; mv d/g d/f", left: "d/f"},
	} {
		t.Run(c.script, func(t *testing.T) {
			each(t, func(t *testing.T, s *site) {
				s.layout("d/f=old", "d/plain=old", "d/sub/", "shut/f=old")
				t.Cleanup(func() { os.Chmod(s.p("shut"), 0o700) })
				inherited := bytes.Clone(acl)
				for at := 6; at < len(inherited); at += 8 {
					inherited[at] |= 1 // may enter
				}
				for _, a := range []struct {
					path, attr string
					value      []byte
				}{
					{"d", "user.tag", []byte("d")}, {"d", "system.posix_acl_access", inherited},
					{"d/f", "user.tag", []byte("f")}, {"d/f", "system.posix_acl_access", acl},
					{"d", "system.posix_acl_default", inherited}, {"shut", "user.tag", []byte("shut")},
				} {
					if err := unix.Setxattr(s.p(a.path), a.attr, a.value, 0); err != nil {
						t.Fatalf("%s: %v (the temporary folder's file system has to have attributes)", a.attr, err)
					}
				}
				for name, mode := range map[string]fs.FileMode{"d": 0o770, "shut/f": 0o444, "shut": 0o555} {
					if err := os.Chmod(s.p(name), mode); err != nil {
						t.Fatal(err)
					}
				}
				before := s.attributes(t)
				w := s.open(Options{NoSync: true})
				change, left := s.ran(t, w, c.script)
				if c.left != "" && (len(left) != 1 || left[0].Path != s.p(c.left)) {
					t.Errorf("left: %v", left)
				}
				if c.left != "" {
					return
				}
				id := change.ID
				for n, redo := range []bool{false, true, false} {
					undone, err := w.Undo(bg, UndoOptions{ID: id})
					if err != nil {
						t.Fatal(err)
					}
					id = undone[0].ID
					if after := s.attributes(t); !redo && after != before {
						t.Fatalf("%d %s\nnow:\n%s", n, before, after)
					}
				}
			})
		})
	}
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
		old, err := d.Lstat("f")
		if there == "" && errors.Is(err, fs.ErrNotExist) { // somebody has removed the old file
			err = nil
		}
		if err != nil {
			t.Fatal(err)
		}
		err = n.Put("f", &old, nil, false)
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
