//go:build unix

package pack

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestMetadata copies modes, times, links and empty folders, but no pipes and sockets.
func TestMetadata(t *testing.T) {
	dir, o := t.TempDir(), Options{Blobs: newMemory()}
	defer removeAll(dir)
	write(t, dir, map[string]string{"run": "x", "closed/deep/f": "x", "empty/": "", "\xff\n": "bytes",
		"nothing": "", "read": "x"})
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, target := range []string{"run", "/", "../../..", "\xfe", "closed"} {
		if err := os.Symlink(target, at("link"+string(target[0])+".")); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
	}
	if err := os.Link(at("run"), at("hard")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(at("pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	short, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(short)
	socket, err := net.Listen("unix", filepath.Join(short, "s")) // a socket needs a short path
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	if err := os.Rename(filepath.Join(short, "s"), at("socket")); err != nil && !os.IsExist(err) {
		t.Log(err)
	}
	for name, mode := range map[string]os.FileMode{"run": 0o755 | os.ModeSetuid, "read": 0o400,
		"closed/deep": 0o555, "closed": 0o511, "empty": 0o777 | os.ModeSticky} {
		if err := os.Chmod(at(name), mode); err != nil {
			t.Fatal(err)
		}
	}
	for name, when := range map[string]time.Time{"run": time.Unix(1, 1), "closed": time.Unix(-5, 999_999_999),
		"nothing": time.Unix(4e9, 123_456_789)} {
		if err := os.Chtimes(at(name), when, when); err != nil {
			t.Fatal(err)
		}
	}
	want := describe(t, dir)
	delete(want, "pipe")
	delete(want, "socket")
	to := t.TempDir()
	defer removeAll(to)
	manifest := snapshot(t, open(t, o, dir))
	f, err := Restore(t.Context(), o, manifest, to)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, describe(t, to), want)
	if info, err := os.Stat(filepath.Join(to, "run")); err != nil || info.Mode()&fs.ModeSetuid != 0 {
		t.Errorf("run has the mode %v, %v", info.Mode(), err)
	}
	if again := snapshot(t, f); again != manifest {
		t.Error("the restored folder has another manifest")
	}
}

// TestRacy changes a file many times within one step of file times, always to the same size. The
// snapshots find each change.
func TestRacy(t *testing.T) {
	dir, o := t.TempDir(), Options{Blobs: newMemory()}
	f := open(t, o, dir)
	path := filepath.Join(dir, "f")
	when := time.Unix(1e9, 0)
	for i := range 200 {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.WriteString(string(rune('a' + i%26))); err != nil {
			t.Fatal(err)
		}
		file.Close()
		if err := os.Chtimes(path, when, when); err != nil { // size and time stay the same
			t.Fatal(err)
		}
		if got := restored(t, o, snapshot(t, f))["f"]; got.text != string(rune('a'+i%26)) {
			t.Fatalf("change %d was not found: %+v", i, got)
		}
	}
}

// TestLinkInPlace replaces a folder by a link. The snapshot does not follow the link.
func TestLinkInPlace(t *testing.T) {
	dir, outside, o := t.TempDir(), t.TempDir(), Options{Blobs: newMemory()}
	write(t, dir, map[string]string{"d/f": "inside"})
	write(t, outside, map[string]string{"f": "outside", "g": "outside"})
	f := open(t, o, dir)
	snapshot(t, f)
	if err := os.RemoveAll(filepath.Join(dir, "d")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "d")); err != nil {
		t.Fatal(err)
	}
	manifest, err := f.Snapshot(t.Context(), []string{"d/f", "d/g"}, false)
	if err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	if _, err := Restore(t.Context(), o, manifest, to); err != nil {
		t.Fatal(err)
	}
	if target, err := os.Readlink(filepath.Join(to, "d")); target != outside {
		t.Errorf("d leads to %q, %v", target, err)
	}
}

func TestSharedFilesystem(t *testing.T) {
	if kind, err := SharedFilesystem(t.TempDir()); err != nil || kind != "" {
		t.Errorf("a temporary folder is on %q, %v", kind, err)
	}
	if _, err := SharedFilesystem(filepath.Join(t.TempDir(), "gone")); !os.IsNotExist(err) {
		t.Errorf("the error is %v", err)
	}
	for fstype, want := range map[string]string{"nfs4": "nfs4", "fuse.sshfs": "fuse.sshfs", "SMBFS": "smbfs",
		"ext4": "", "fuse.fuse-overlayfs": "", "fuseblk": "", "apfs": ""} {
		if got := sharedKind(fstype); got != want {
			t.Errorf("%s is %q", fstype, got)
		}
	}
}
