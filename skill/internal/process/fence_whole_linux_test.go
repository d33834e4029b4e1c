package process

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFenceUsesWhatThereIs fails where the kernel could fence commands and this package says that it
// could not. Other tests skip then, as on a machine that refuses.
func TestFenceUsesWhatThereIs(t *testing.T) {
	abi, _, refused := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if refused != 0 {
		t.Skipf("this kernel refuses Landlock: %v", refused)
	}
	held := newRunner(t, t.TempDir(), Config{Helper: self(t)}).Fence()
	if held.ABI == 0 {
		t.Errorf("the kernel has version %d of Landlock, and the fence is %s", abi, held)
	}
	child := exec.Command("/proc/self/exe", "-test.run=^$") // runs no test
	child.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:   unix.CLONE_NEWUSER | unix.CLONE_NEWNET,
		Unshareflags: unix.CLONE_NEWNS, // and makes all mounts private, which needs rights over them
		UidMappings:  []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}},
		GidMappings:  []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}},
	}
	if err := child.Run(); err != nil {
		t.Skipf("this machine refuses namespaces of users, mounts and networks: %v", err)
	}
	if !held.Alone {
		t.Errorf("this process can make a network namespace, and the fence is %s", held)
	}
}
