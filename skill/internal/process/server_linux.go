package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A stayingHelper is a helper that waits for what it is to run.
type stayingHelper struct {
	cmd    *exec.Cmd
	orders *os.File
	o      Spec
}

// startStaying starts a helper for a command that is to outlive this process.
func startStaying(path string, o Spec, events, log *os.File) (*stayingHelper, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	cmd, err := startHelper(path, o.Dir, r, events, nil, log, log)
	if err != nil {
		w.Close()
		return nil, err
	}
	return &stayingHelper{cmd, w, o}, nil
}

func (h *stayingHelper) process() (process, error) {
	begin, ok := beginning(h.cmd.Process.Pid)
	if !ok {
		return process{}, errors.New("helper: it ended at once, or /proc does not show it")
	}
	return process{h.cmd.Process.Pid, begin}, nil
}

// release lets the helper run its command, or end without having run it.
func (h *stayingHelper) release(run bool) {
	if run {
		h.orders.Write(h.o.encode())
	}
	h.orders.Close()
	go h.cmd.Wait() // takes notice of its end, if this process sees that
}

// beginning returns when a process began, in ticks since the system did. A process
// that has ended, and only was not waited for, is none.
func beginning(pid int) (ticks uint64, ok bool) {
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

// helps reports whether p is still there, and is a helper. Before it has its name it
// is one as well.
func (p process) helps() bool {
	begin, ok := beginning(p.Pid)
	if !ok || begin != p.Begin {
		return false
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.Pid))
	return err == nil && (string(line) == helperName+"\x00")
}

// end asks a helper to end its command, whose shell is pid, and sees to it.
func (p process) end(pid int) {
	fd, err := unix.PidfdOpen(p.Pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if !p.helps() { // now that its number stays its own
		return
	}
	unix.PidfdSendSignal(fd, unix.SIGTERM, nil, 0)
	if ended(fd, stopServerGrace+sweepTime+2*time.Second) {
		return
	}
	unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	if pid > 1 {
		unix.Kill(-pid, unix.SIGKILL)
	}
	ended(fd, time.Second)
}

// ended waits for the end of a process.
func ended(pidfd int, limit time.Duration) bool {
	fds := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
	for end := time.Now().Add(limit); time.Now().Before(end); {
		if n, _ := unix.Poll(fds, int(time.Until(end).Milliseconds())+1); n > 0 {
			return true
		}
	}
	return false
}

// howEnded returns a command's exit code, or minus the signal's number and its name.
func howEnded(e event) (code int, signal string) { return outcome(syscall.WaitStatus(e.Value)) }

// errnoOf is why a command could not be started.
func errnoOf(e event) error { return syscall.Errno(e.Value) }

// listener returns the process that listens on a port, 0 if it cannot be told.
func listener(port int) int {
	sockets := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		data, _ := os.ReadFile(table)
		for line := range strings.Lines(string(data)) {
			f := strings.Fields(line)
			if len(f) > 9 && f[3] == "0A" && strings.HasSuffix(f[1], fmt.Sprintf(":%04X", port)) {
				sockets["socket:["+f[9]+"]"] = true
			}
		}
	}
	if len(sockets) == 0 {
		return 0
	}
	files, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, file := range files {
		if name, _ := os.Readlink(file); sockets[name] {
			pid, _ := strconv.Atoi(strings.Split(file, "/")[2])
			return pid
		}
	}
	return 0
}

// lockTime is how long one start of a server waits for another to be written down.
// Who keeps the lock for longer is none of ours.
const lockTime = 5 * time.Second

// lockServers keeps other starts of servers away until release, so that two never
// find the same port free.
func lockServers(ctx context.Context, dir *os.Root) (release func()) {
	f, err := dir.Open(".")
	if err != nil {
		return func() {}
	}
	for end := time.Now().Add(lockTime); ctx.Err() == nil && time.Now().Before(end); time.Sleep(lookAgain) {
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			break
		}
	}
	return func() { f.Close() }
}
