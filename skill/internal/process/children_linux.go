package process

import (
	"os"
	"os/exec"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// family is what this process knows of its children: those that it has started, and
// whether all others are orphans of helpers. It is global because a process has one set of
// children.
var family struct {
	sync.RWMutex          // held to read while a child is started, to write while orphans are ended
	started      sync.Map // of process ids
	adopts       bool
}

// adoptOrphans makes this process the parent of what a helper leaves behind when it is
// killed.
func adoptOrphans() error {
	family.Lock()
	defer family.Unlock()
	family.adopts = true
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// startChild is cmd.Start.
func startChild(cmd *exec.Cmd) error {
	family.RLock()
	defer family.RUnlock()
	err := cmd.Start()
	if err == nil {
		family.started.Store(cmd.Process.Pid, true)
	}
	return err
}

// waitChild is cmd.Wait.
func waitChild(cmd *exec.Cmd) error {
	defer family.started.Delete(cmd.Process.Pid)
	return cmd.Wait()
}

// endOrphans kills the children that this process has not started, and those that it
// inherits from them, until none is left. It returns false if this process adopts none.
func endOrphans() bool {
	family.Lock()
	defer family.Unlock()
	for wait := patient(killTimeout); family.adopts && !wait.over(); unix.Poll(nil, 1) {
		orphans := slices.DeleteFunc(children(os.Getpid()), func(pid int) bool {
			_, ours := family.started.Load(pid)
			return ours
		})
		if len(orphans) == 0 {
			break
		}
		for _, pid := range orphans {
			unix.Kill(pid, unix.SIGKILL)
			unix.Wait4(pid, nil, unix.WNOHANG|unix.WALL, nil)
		}
	}
	return family.adopts
}
