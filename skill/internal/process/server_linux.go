package process

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"textskill/skill/internal/workspace/tree"
)

// A serverHelper is a helper that waits for its server.
type serverHelper struct {
	*helperProcess
	spec        Spec
	events, log *os.File
}

// startServerHelper starts a helper for spec, which runs after [serverHelper.release].
func startServerHelper(path string, spec Spec, events, log *os.File) (*serverHelper, error) {
	h, err := startHelper(path)
	return &serverHelper{h, spec, events, log}, err
}

func (h *serverHelper) id() (processID, error) {
	begin, ok := startTime(h.cmd.Process.Pid)
	if !ok {
		return processID{}, errors.New("helper: it ended at once, or /proc does not show it")
	}
	return processID{h.cmd.Process.Pid, begin}, nil
}

// release makes the helper run its server, or end if run is false. The server outlives
// this process.
func (h *serverHelper) release(run bool) {
	if run {
		// an error shows by its lack of events; a server has no standard input
		h.run(h.spec, h.events, h.log, h.log, h.log)
	}
	h.channel.Close()
	go func() { // no zombie, if it ends before this process
		waitChild(h.cmd)
		if killed(h.cmd.ProcessState) {
			endOrphans()
		}
	}()
}

// startTime returns when a process was started, in clock ticks since boot. It returns
// false for a process that has ended, even if its parent has not waited for it yet.
func startTime(pid int) (ticks uint64, ok bool) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false
	}
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return 0, false
	}
	ticks, err = strconv.ParseUint(fields[19], 10, 64)
	return ticks, err == nil
}

// isRunning reports whether p is still the same process and runs as a helper. Right after
// its start the command line may still be empty.
func (p processID) isRunning() bool {
	begin, ok := startTime(p.Pid)
	if !ok || begin != p.Begin {
		return false
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.Pid))
	return err == nil && (len(line) == 0 || string(line) == helperName+"\x00")
}

// stop asks the helper p to end its server, and then kills both. Its children are not read
// from the record, which a server can write where the history lies in the workspace.
func (p processID) stop() {
	fd, err := unix.PidfdOpen(p.Pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if !p.isRunning() { // checked after PidfdOpen, which pins the process
		return
	}
	unix.PidfdSendSignal(fd, unix.SIGTERM, nil, 0)
	if waitEnd(fd, stopServerGrace+killTimeout+2*time.Second) {
		return
	}
	started := children(p.Pid)
	unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	for _, pid := range started {
		unix.Kill(-pid, unix.SIGKILL)
	}
	waitEnd(fd, time.Second)
}

// waitEnd waits for the end of a process, and reports whether it ended within limit.
func waitEnd(pidfd int, limit time.Duration) bool {
	fds := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
	for wait := patient(limit); ; {
		over := wait.over()
		if n, _ := unix.Poll(fds, int(wait.step().Milliseconds())+1); n > 0 || over {
			return n > 0
		}
	}
}

// exitStatus returns the [outcome] of an eventEnded.
func exitStatus(e event) (code int, signal string) { return outcome(syscall.WaitStatus(e.Value)) }

func listeningPid(port int) int {
	sockets := listeners("/proc/net", fmt.Sprintf("%04X", port))
	if len(sockets) == 0 {
		return 0
	}
	for pid := range openFiles(sockets) {
		return pid
	}
	return 0
}

// lockTimeout is how long one start of a server waits for another.
const lockTimeout = 10 * time.Second

// lockServers prevents other starts of servers in this workspace until release, so that
// no two of them find the same port free.
func lockServers(ctx context.Context, dir *os.Root) (release func(), err error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	for wait := patient(lockTimeout); ; time.Sleep(pollInterval) {
		over := wait.over() // before the try: one try follows the last wait
		ok, err := tree.TryLock(int(f.Fd()), true)
		if ok {
			return func() { f.Close() }, nil
		}
		if err = cmp.Or(err, context.Cause(ctx)); err == nil && over {
			err = errors.New("another server of this workspace is being started; try again")
		}
		if err != nil {
			f.Close()
			return nil, err
		}
	}
}
