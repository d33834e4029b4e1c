package needs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A Disk is a file with an ext4 file system that can be cut off, as if the power failed. It is
// mounted at Dir.
type Disk struct {
	Dir   string
	t     testing.TB
	image string
}

// NewDisk makes and mounts a disk of size bytes, until the end of the test.
func NewDisk(t testing.TB, size int64) *Disk {
	t.Helper()
	Root(t)
	Program(t, "mkfs.ext4", "mount", "umount")
	d := &Disk{t.TempDir(), t, filepath.Join(t.TempDir(), "image")}
	f, err := os.Create(d.image)
	if err != nil {
		t.Fatal(err)
	}
	f.Truncate(size)
	f.Close()
	if out, err := exec.Command("mkfs.ext4", "-q", "-F", d.image).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	t.Cleanup(func() { exec.Command("umount", d.Dir).Run() })
	d.mount()
	return d
}

func (d *Disk) mount() {
	d.t.Helper()
	for range 60 {
		if out, err := exec.Command("mount", "-o", "loop", d.image, d.Dir).CombinedOutput(); err != nil {
			That(d.t, false, fmt.Sprintf("a loop mount (%v %s)", err, out), "run the tests where /dev/loop may be used")
		}
		if err := os.WriteFile(filepath.Join(d.Dir, "probe"), nil, 0o600); err == nil {
			return
		}
		d.unmount() // a mount namespace that another process made meanwhile still holds what was cut off
		time.Sleep(time.Second)
	}
	d.t.Fatal("the disk cannot be mounted again")
}

func (d *Disk) unmount() {
	d.t.Helper()
	for range 60 { // a process that was killed may still hold it
		out, err := exec.Command("umount", d.Dir).CombinedOutput()
		if err == nil {
			return
		}
		if time.Sleep(100 * time.Millisecond); !d.mounted() {
			d.t.Fatalf("%v %s", err, out)
		}
	}
	d.t.Fatal("the disk cannot be unmounted")
}

func (d *Disk) mounted() bool {
	var at, above unix.Stat_t
	return unix.Stat(d.Dir, &at) == nil && unix.Stat(filepath.Dir(d.Dir), &above) == nil && at.Dev != above.Dev
}

// Remount mounts the disk as it is after Cut. No process may use it.
func (d *Disk) Remount() {
	d.t.Helper()
	d.unmount()
	d.mount()
}

// Cut ends all writing to the disk at once, the journal's too.
func (d *Disk) Cut() {
	d.t.Helper()
	const shutdown, noLogFlush = 0x8004587d, 2 // EXT4_IOC_SHUTDOWN
	f, err := os.Open(d.Dir)
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	if err := unix.IoctlSetPointerInt(int(f.Fd()), shutdown, noLogFlush); err != nil {
		d.t.Fatalf("the file system cannot be cut off: %v", err)
	}
}
