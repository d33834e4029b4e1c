package needs

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
)

// Mounts needs a process that may mount file systems where no other process sees them,
// and returns how such a process is started.
func Mounts(t testing.TB) *syscall.SysProcAttr {
	t.Helper()
	err := mounts()
	That(t, err == nil, fmt.Sprintf("mounts (%v)", err), "run the tests as root, or allow user namespaces")
	return ownMounts()
}

var mounts = sync.OnceValue(func() error {
	cmd := exec.Command("/proc/self/exe", "-test.run=^$") // runs no test
	cmd.SysProcAttr = ownMounts()
	return cmd.Run()
})

// ownMounts are the attributes of a process with mounts of its own, which is root there.
// Before it starts the program the runtime makes all mounts private, which fails where
// a container or a security module keeps a process from mounting.
func ownMounts() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if uid, gid := os.Geteuid(), os.Getegid(); uid != 0 {
		attr.Unshareflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{HostID: uid, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{HostID: gid, Size: 1}}
	}
	return attr
}

// Mount mounts a file system until the end of the test, in view of all processes.
func Mount(t testing.TB, source, target, fstype string, flags uintptr, data string) {
	t.Helper()
	err := syscall.Mount(source, target, fstype, flags, data)
	That(t, err == nil, fmt.Sprintf("a mount (%v)", err), "run the tests as root")
	t.Cleanup(func() { syscall.Unmount(target, syscall.MNT_DETACH) })
}
