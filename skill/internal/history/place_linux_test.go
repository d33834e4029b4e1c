package history

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"textskill/testdata/needs"
)

// mounted mounts a new file system.
func mounted(t *testing.T, source, kind string, flags uintptr, data string) string {
	t.Helper()
	dir := t.TempDir()
	needs.Mount(t, source, dir, kind, flags, data)
	return dir
}

func mkdir(t *testing.T, path string, owner int) string {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if owner != 0 {
		needs.Root(t)
		if err := os.Chown(path, owner, -1); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func TestPlace(t *testing.T) {
	const stranger = 12345
	far := mounted(t, "none", "tmpfs", 0, "")
	tests := []struct {
		name  string
		setup func(t *testing.T, m string) Options // m is the top of a mount
		rule  int
		path  string // below m
	}{
		{"named", func(t *testing.T, m string) Options {
			return Options{Root: mkdir(t, m+"/ws", 0), Dir: m + "/x/y"}
		}, 1, "/x/y"},
		{"user's, near", func(t *testing.T, m string) Options {
			return Options{Root: mkdir(t, m+"/home/ws", 0), User: m + "/home/.local/state/skill"}
		}, 2, "/home/.local/state/skill"},
		{"user's, through a link", func(t *testing.T, m string) Options {
			mkdir(t, m+"/real", 0)
			os.Symlink("real", m+"/home")
			return Options{Root: mkdir(t, m+"/ws", 0), User: m + "/home/state"}
		}, 2, "/real/state"},
		{"user's, but in another root", func(t *testing.T, m string) Options {
			return Options{Root: mkdir(t, m+"/a/ws", 0), Roots: []string{mkdir(t, m+"/a/home", 0)},
				User: m + "/a/home/state"}
		}, 3, "/.skill-0"},
		{"topmost folder", func(t *testing.T, m string) Options {
			return Options{Root: mkdir(t, m+"/a/b/ws", 0), User: far + "/state"}
		}, 3, "/.skill-0"},
		{"topmost folder of this user's", func(t *testing.T, m string) Options {
			mkdir(t, m, stranger)
			return Options{Root: mkdir(t, m+"/a/b/ws", 0), User: far + "/state"}
		}, 3, "/a/.skill-0"},
		{"folder that others may write", func(t *testing.T, m string) Options {
			os.Chmod(m, 0o777)
			return Options{Root: mkdir(t, m+"/a/ws", 0), User: far + "/state"}
		}, 3, "/a/.skill-0"},
		{"folder that others may write, sticky", func(t *testing.T, m string) Options {
			os.Chmod(m, 0o777|os.ModeSticky)
			return Options{Root: mkdir(t, m+"/a/ws", 0), User: far + "/state"}
		}, 3, "/.skill-0"},
		{"stranger's folder of our name", func(t *testing.T, m string) Options {
			mkdir(t, m+"/.skill-0", stranger)
			return Options{Root: mkdir(t, m+"/a/ws", 0), User: far + "/state"}
		}, 3, "/a/.skill-0"},
		{"top of the mount", func(t *testing.T, m string) Options {
			return Options{Root: m, User: far + "/state"}
		}, 4, "/.skill"},
		{"bind mount", func(t *testing.T, m string) Options {
			mkdir(t, m+"/real", 0)
			needs.Mount(t, m+"/real", mkdir(t, m+"/ws", 0), "", unix.MS_BIND, "")
			return Options{Root: m + "/ws", User: m + "/state"}
		}, 4, "/ws/.skill"},
		{"home folder", func(t *testing.T, m string) Options {
			mkdir(t, m, stranger)
			return Options{Root: mkdir(t, m+"/home", 0), User: m + "/home/.local/state/skill"}
		}, 4, "/home/.skill"},
		{"far", func(t *testing.T, m string) Options {
			mkdir(t, m, stranger)
			return Options{Root: mkdir(t, m+"/ws", 0), User: far + "/state"}
		}, 5, ""},
		{"stranger's .skill in the top of the mount", func(t *testing.T, m string) Options {
			mkdir(t, m+"/.skill", stranger)
			return Options{Root: m, User: far + "/state"}
		}, 5, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := mounted(t, "none", "tmpfs", 0, "")
			o := tt.setup(t, m)
			p, err := Find(o)
			if err != nil {
				t.Fatal(err)
			}
			want := m + tt.path
			if tt.rule == 5 {
				want = far + "/state"
			}
			if p.Rule != tt.rule || p.Path != want || p.Near != (tt.rule != 5) {
				t.Errorf("%s\n got rule %d, %s, near %v\nwant rule %d, %s", p.Explain(), p.Rule, p.Path,
					p.Near, tt.rule, want)
			}
			if _, err := os.Lstat(p.Path); err == nil && tt.rule != 5 {
				t.Errorf("Find has made %s", p.Path)
			}
			s := open(t, o)
			add(t, s)
			if info, err := os.Stat(s.Path()); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("%v, %v", info, err)
			}
			if _, err := os.Stat(p.Path + "/.gitignore"); (err == nil) != (p.Rule == 3 || p.Rule == 4 || p.Rule == 6) {
				t.Errorf(".gitignore: %v", err)
			}
		})
	}
}

func TestPlaceIsRefused(t *testing.T) {
	root := t.TempDir()
	if _, err := Open(Options{Root: root, Dir: root + "/state"}); err == nil ||
		!strings.Contains(err.Error(), "outside") {
		t.Errorf("a state folder in the root: %v", err)
	}
	os.Symlink(root, root+"-link")
	defer os.Remove(root + "-link")
	if _, err := Open(Options{Root: root, Dir: root + "-link/state"}); err == nil {
		t.Error("a state folder in the root by a link")
	}
}

// An existing history is found again when an earlier rule applies later.
func TestPlaceStays(t *testing.T) {
	m := mounted(t, "none", "tmpfs", 0, "")
	o := Options{Root: mkdir(t, m+"/a/ws", 0), User: "/proc/none"}
	s := open(t, o)
	add(t, s)
	s.Close()
	o.User = m + "/home/state"
	if s = open(t, o); s.Place().Rule != 3 {
		t.Error(s.Place().Explain())
	}
}

// Another user finds no place, or a place of their own.
func TestPlaceOfAnotherUser(t *testing.T) {
	if where := os.Getenv("STATE_TEST_PLACE"); where != "" {
		p, err := Find(Options{Root: where, User: "/root/none"})
		fmt.Println(p.Rule, strings.TrimPrefix(p.Path, where), err)
		os.Exit(0)
	}
	needs.Program(t, "cp")
	m := mounted(t, "none", "tmpfs", 0, "mode=0777")
	s := open(t, Options{Root: m, User: "/proc/none"})
	add(t, s)
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(mkdir(t, m+"/bin", 0), "test")
	if err := exec.Command("cp", binary, copied).Run(); err != nil {
		t.Fatal(err)
	}
	os.Chmod(copied, 0o755)
	parent, err := os.MkdirTemp("/dev/shm", "") // TempDir's parents are closed to others
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(parent)
	os.Chmod(parent, 0o755)
	mine := mkdir(t, parent+"/mine", 12345)
	if err := unix.Mount(m, mine, "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	defer unix.Unmount(mine, unix.MNT_DETACH)
	cmd := exec.Command(mine+"/bin/test", "-test.run", "TestPlaceOfAnotherUser")
	cmd.Env = []string{"STATE_TEST_PLACE=" + mine}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 12345, Gid: 12345}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "no folder for the history") {
		t.Errorf("%s, %v", out, err)
	}
}

// A user without a home folder, in a folder of another user, has the history in the workspace.
func TestPlaceWithoutHome(t *testing.T) {
	needs.That(t, os.Geteuid() == 0, "another user", "run the tests as root")
	parent, err := os.MkdirTemp("/dev/shm", "")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(parent)
	os.Chmod(parent, 0o755)
	mine := mkdir(t, parent+"/mine", 12345)
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(binary)
	if err == nil {
		err = os.WriteFile(parent+"/test", data, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(parent+"/test", "-test.run", "TestPlaceOfAnotherUser")
	cmd.Env = []string{"STATE_TEST_PLACE=" + mine}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 12345, Gid: 12345}}
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "6 /.skill <nil>\n" {
		t.Errorf("%s, %v", out, err)
	}
}

func TestKey(t *testing.T) {
	needs.Program(t, "cp")
	for _, kind := range []string{"disk", "tmpfs", "overlay"} {
		t.Run(kind, func(t *testing.T) {
			base := t.TempDir()
			switch kind {
			case "tmpfs":
				base = mounted(t, "none", "tmpfs", 0, "")
			case "overlay":
				m := mounted(t, "none", "tmpfs", 0, "")
				for _, dir := range []string{"lower/old", "upper", "work"} {
					mkdir(t, m+"/"+dir, 0)
				}
				base = mounted(t, "none", "overlay",
					0, fmt.Sprintf("lowerdir=%[1]s/lower,upperdir=%[1]s/upper,workdir=%[1]s/work", m))
			}
			dir := t.TempDir()
			o := Options{Root: mkdir(t, base+"/ws", 0), Dir: dir}
			s := open(t, o)
			add(t, s)
			key := s.Place().Key
			s.Close()

			os.Rename(base+"/ws", base+"/renamed")
			o.Root = base + "/renamed"
			s = open(t, o)
			if s.Place().Key != key {
				t.Errorf("renamed: %+v", s.Place())
			}
			s.Close()

			if err := exec.Command("cp", "-a", base+"/renamed", base+"/copy").Run(); err != nil {
				t.Fatal(err)
			}
			o.Root = base + "/copy"
			s = open(t, o)
			if s.Place().Key == key {
				t.Errorf("copied: %+v", s.Place())
			}
			s.Close()

			o.Root = base + "/renamed"
			os.RemoveAll(o.Root)
			mkdir(t, o.Root, 0)
			s = open(t, o)
			if s.Place().Key == key {
				t.Fatalf("made again: %+v", s.Place())
			}
		})
	}
}

// A history whose root is missing is deleted after some time without use.
func TestForgotten(t *testing.T) {
	base, dir := t.TempDir(), t.TempDir()
	old := open(t, Options{Root: mkdir(t, base+"/old", 0), Dir: dir, NoSync: true})
	add(t, old)
	old.Close()
	age := func() {
		name := old.Path() + "/root.json"
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.Index(strings.Split(string(data), `"`), "gone")
		if i < 0 {
			t.Fatalf("no mark in %s", data)
		}
		parts := strings.Split(string(data), `"`)
		parts[i+2] = "2020-01-02T03:04:05Z"
		os.WriteFile(name, []byte(strings.Join(parts, `"`)), 0o600)
		os.Chtimes(name, time0, time0)
	}
	visit := func() bool {
		s := open(t, Options{Root: mkdir(t, base+"/new", 0), Dir: dir, NoSync: true})
		s.sweep(1 << 30)
		s.Close()
		_, err := os.Lstat(old.Path())
		return err == nil
	}
	os.Rename(base+"/old", base+"/gone")
	if !visit() {
		t.Fatal("deleted at once")
	}
	age()
	os.Rename(base+"/gone", base+"/old")
	if !visit() {
		t.Fatal("deleted though its root is back")
	}
	os.Rename(base+"/old", base+"/gone")
	if !visit() {
		t.Fatal("deleted")
	}
	os.RemoveAll(base + "/gone")
	age()
	if visit() {
		t.Error("it stays")
	}
}
