package history

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"textskill/testdata/needs"
)

// places sets the user's folders: existing ones below base, or ones that cannot be made.
func places(t *testing.T, base string, usable bool) {
	t.Helper()
	for _, name := range []string{"XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CACHE_HOME", "TMPDIR"} {
		dir := "/proc/none"
		if usable {
			dir = mkdir(t, filepath.Join(base, name), 0)
		}
		t.Setenv(name, dir)
	}
}

// A call that cannot be recorded leaves a mark in the history or in the user's folders, until it is cleared.
func TestMissed(t *testing.T) {
	needs.Root(t)
	lock := func(t *testing.T, dir string, readOnly uintptr) func() {
		remount := func(flags uintptr) {
			if err := unix.Mount("", dir, "", unix.MS_REMOUNT|flags, ""); err != nil {
				t.Fatal(err)
			}
		}
		remount(readOnly)
		return func() { remount(0) }
	}
	for _, tt := range []struct {
		name   string
		usable bool // the user's folders
		spoil  func(t *testing.T, dir string) (mend func())
		lost   bool // no mark can be written
	}{
		{"full disk", false, func(t *testing.T, dir string) func() {
			f, err := os.Create(dir + "/fill")
			if err != nil {
				t.Fatal(err)
			}
			for block := make([]byte, 4096); err == nil; {
				_, err = f.Write(block)
			}
			f.Close()
			return func() { os.Remove(dir + "/fill") }
		}, false},
		{"read-only disk", true, func(t *testing.T, dir string) func() { return lock(t, dir, unix.MS_RDONLY) }, false},
		{"read-only disk, no other folder", false, func(t *testing.T, dir string) func() { return lock(t, dir, unix.MS_RDONLY) }, true},
		{"no mark was reserved", true, func(t *testing.T, dir string) func() {
			files, _ := filepath.Glob(dir + "/*/" + missedName)
			for _, name := range files {
				os.Remove(name)
			}
			return func() {}
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			base := t.TempDir()
			dir := mkdir(t, base+"/state", 0)
			needs.Mount(t, "none", dir, "tmpfs", 0, "size=1M")
			o := Options{Root: mkdir(t, base+"/ws", 0), Dir: dir, NoSync: true}
			places(t, base, tt.usable)
			s := open(t, o)
			add(t, s)
			if list, err := s.Missed(t.Context()); err != nil || len(list) > 0 {
				t.Fatalf("before: %v, %v", list, err)
			}
			s.Close()
			mend := tt.spoil(t, dir)
			at := time.Now().UTC().Truncate(time.Microsecond)
			var errs []error
			for i := range 30 {
				errs = append(errs, MarkMissed(o, Miss{at.Add(time.Duration(i)), "claude-code", fmt.Sprint("s", i),
					strings.Repeat("no space ", 100)}))
			}
			for i, err := range errs {
				if (err != nil) != tt.lost {
					t.Errorf("mark %d: %v", i, err)
				}
			}
			mend()
			list, err := Missed(t.Context(), o)
			switch {
			case err != nil || (len(list) == 0) != tt.lost:
				t.Errorf("%v, %v", list, err)
			case !tt.lost && (list[0].Host != "claude-code" || list[0].Session != "s0" ||
				!list[0].Time.Equal(at) || !strings.HasPrefix(list[0].Why, "no space no")):
				t.Errorf("%+v", list[0])
			case !tt.lost && len(list) < 8:
				t.Errorf("%d marks", len(list))
			}
			if err := ClearMissed(o); err != nil {
				t.Error(err)
			}
			if list, err := Missed(t.Context(), o); err != nil || len(list) > 0 {
				t.Errorf("cleared: %v, %v", list, err)
			}
			if err := MarkMissed(o, Miss{Time: at}); err != nil {
				t.Error(err)
			}
			visit(t, o, func(s *Store) {
				if list, err := s.Missed(t.Context()); err != nil || len(list) != 1 {
					t.Errorf("marked again: %v, %v", list, err)
				}
				if err := s.ClearMissed(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// If a history has files of another user, the mark is in the folders of the user.
func TestMissedInForeignHistory(t *testing.T) {
	if base := os.Getenv("STATE_TEST_MISSED"); base != "" {
		places(t, base, true)
		o := Options{Root: base + "/ws", Dir: base + "/state"}
		err := MarkMissed(o, Miss{Time: time.Now(), Host: "codex"})
		list, merr := Missed(t.Context(), o)
		fmt.Println(len(list), list[0].Host, err, merr, ClearMissed(o))
		os.Exit(0)
	}
	needs.Users(t)
	base, err := os.MkdirTemp("/dev/shm", "")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(base)
	os.Chown(base, 65534, -1)
	add(t, open(t, Options{Root: mkdir(t, base+"/ws", 65534), Dir: mkdir(t, base+"/state", 65534)}))
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(binary)
	if err == nil {
		err = os.WriteFile(base+"/test", data, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(base+"/test", "-test.run", "TestMissedInForeignHistory")
	cmd.Env = []string{"STATE_TEST_MISSED=" + base}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "1 codex <nil> <nil> <nil>\n" {
		t.Errorf("%s, %v", out, err)
	}
}
