package needs

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A Disk is a file with a file system that can be cut off, as if the power failed. It is
// mounted at Dir.
type Disk struct {
	Dir   string
	t     testing.TB
	image string
}

// disks are the kinds of file systems that a disk may have.
var disks = []struct {
	kind  string
	force string // the option of mkfs that lets it write to a file
	cuts  int    // by default; 0 for a kind that is tried only where the variable is set
}{
	{"ext4", "-F", 20},
	{"xfs", "-f", 0},
	{"btrfs", "-f", 0},
}

// diskSize is enough for mkfs of each kind and for hundreds of rounds. The image is sparse.
const diskSize = 1 << 30

// EachDisk runs a test once for each kind of disk, with count of them. A kind whose mkfs is not
// installed is skipped. The variable says how many cuts the test makes of each kind; the default is
// few, of the first kind only.
func EachDisk(t *testing.T, count int, variable string, test func(t *testing.T, cuts int, disks []*Disk)) {
	given, err := strconv.Atoi(os.Getenv(variable))
	for _, k := range disks {
		cuts := k.cuts
		if err == nil {
			cuts = given
		}
		if cuts == 0 {
			continue
		}
		t.Run(k.kind, func(t *testing.T) {
			if err != nil {
				Long(t, "seconds for each disk")
			}
			Root(t)
			Program(t, "mkfs."+k.kind, "mount")
			var made []*Disk
			for range count {
				d := &Disk{t.TempDir(), t, filepath.Join(t.TempDir(), "image")}
				if err := errors.Join(os.WriteFile(d.image, nil, 0o600), os.Truncate(d.image, diskSize)); err != nil {
					t.Fatal(err)
				}
				if out, err := exec.Command("mkfs."+k.kind, "-q", k.force, d.image).CombinedOutput(); err != nil {
					t.Fatalf("%v %s", err, out)
				}
				t.Cleanup(func() { unix.Unmount(d.Dir, unix.MNT_DETACH) }) // a test that failed may hold it
				err := d.mount()
				That(t, err == nil, fmt.Sprintf("a loop mount (%v)", err), "run the tests where /dev/loop may be used")
				made = append(made, d)
			}
			test(t, cuts, made)
		})
	}
}

func (d *Disk) mount() error {
	if out, err := exec.Command("mount", "-o", "loop", d.image, d.Dir).CombinedOutput(); err != nil {
		return fmt.Errorf("%w %s", err, out)
	}
	return os.WriteFile(filepath.Join(d.Dir, "probe"), nil, 0o600)
}

func (d *Disk) unmount() {
	d.t.Helper()
	var err error
	for range 60 { // a process that was killed may still hold it
		if err = unix.Unmount(d.Dir, 0); err == nil || err == unix.EINVAL {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	d.t.Fatalf("the disk cannot be unmounted: %v", err)
}

// Remount mounts the disk as it is after Cut. No process may use it. A mount namespace that
// another process made meanwhile may hold what was cut off for some time.
func (d *Disk) Remount() {
	d.t.Helper()
	var err error
	for range 360 {
		d.unmount()
		if err = d.mount(); err == nil {
			return
		}
		time.Sleep(time.Second / 2)
	}
	d.t.Fatalf("the disk cannot be mounted again: %v", err)
}

// Flush writes all that the disk's files hold to the disk.
func (d *Disk) Flush() {
	d.t.Helper()
	f, err := os.Open(d.Dir)
	if err == nil {
		err = errors.Join(unix.Syncfs(int(f.Fd())), f.Close())
	}
	if err != nil {
		d.t.Fatal(err)
	}
}

// Cut ends all writing to the disk at once, as a power cut does. Of what was submitted before
// all is in the image, which is then what a copy of the device at that moment holds; what the
// kernel still kept in memory is lost. A device may also lose what it took since the last
// flush: that is not tried, as a file system that answers an fsync has flushed it.
//
// The file system is shut down. Where it has no such call (btrfs before Linux 6.19) the device
// shrinks to one sector: ext4 may then hang, and with it every later sync of the machine.
func (d *Disk) Cut() {
	d.t.Helper()
	if err := d.shutDown(); err != unix.ENOTTY && err != unix.EOPNOTSUPP {
		if err != nil {
			d.t.Fatalf("the disk cannot be cut off: %v", err)
		}
		return
	}
	devices, _ := filepath.Glob("/sys/block/loop*/loop/backing_file")
	for _, name := range devices {
		if image, _ := os.ReadFile(name); string(image) == d.image+"\n" {
			if err := shrink(filepath.Join("/dev", strings.Split(name, "/")[3])); err != nil {
				d.t.Fatalf("the disk cannot be cut off: %v", err)
			}
			return
		}
	}
	d.t.Fatalf("%s is on no loop device", d.image)
}

// shutDown ends the file system without writing its log.
func (d *Disk) shutDown() error {
	const goingDown, withoutLog = 0x8004587d, 2 // XFS_IOC_GOINGDOWN, which ext4 has, too
	f, err := os.Open(d.Dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.IoctlSetPointerInt(int(f.Fd()), goingDown, withoutLog)
}

func shrink(device string) error {
	f, err := os.Open(device)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := unix.IoctlLoopGetStatus64(int(f.Fd()))
	if err != nil {
		return err
	}
	info.Sizelimit = 512
	return unix.IoctlLoopSetStatus64(int(f.Fd()), info)
}
