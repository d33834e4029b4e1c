package process

import (
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// canHelp reports whether this system lets a process adopt what its descendants
// leave behind.
const canHelp = true

// helperName is the argv[0] by which a process knows that it is a helper.
const helperName = "skill-exec-helper"

// The helper's descriptors. It reads its order from standard input, whose end
// tells it to stop; its own standard output and error go nowhere.
const (
	reportFD = 3 + iota // events for the executor
	stdoutFD            // of the command
	stderrFD
	stdinFD
)

// event is what a helper tells of its command.
type event struct{ Kind, Value, More uint32 }

const (
	eventFailed   = 1 + iota // Value: errno. It was not started; this is the last event.
	eventStarted             // Value: process id; More: what holds of the fence
	eventEnded               // Value: wait status; More: processes that could not be ended
	eventUnfenced            // It was not started, for there is no fence; this is the last event.
)

// HelperMain makes this process the helper that [Config].Helper names, if it was
// started as one, and then does not return. A program that is its own helper
// calls it before anything else; where it is no helper that costs nothing.
func HelperMain() {
	if isHelper() {
		syscall.Exit(supervise()) // nothing is left to be flushed
	}
}

func isHelper() bool { return len(os.Args) > 0 && os.Args[0] == helperName }

// Undumpable keeps processes of the same user from reading this one's memory and
// environment. A process that holds a credential calls it early.
func Undumpable() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }

// supervise runs one command and ends whatever it leaves behind.
//
// The thread that it is locked to starts the command: the end of the thread is the
// command's (Pdeathsig), and what is forbidden to that thread alone is forbidden to
// the command and not to the helper. Only SIGKILL keeps it from its work.
func supervise() int {
	runtime.LockOSThread()
	if unix.CloseRange(reportFD, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) != nil {
		for _, fd := range []int{reportFD, stdoutFD, stderrFD, stdinFD} {
			unix.CloseOnExec(fd)
		}
	}
	if unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != nil {
		return 1
	}
	o, err := readSpec(descriptor(0))
	if err != nil {
		return 1 // the executor is gone, or changed its mind
	}
	if o.stay {
		return stay(o)
	}
	signal.Notify(make(chan os.Signal, 1), unix.SIGTERM, unix.SIGINT, unix.SIGHUP) // which would spare what the command starts
	var h helper
	if !h.begin(o, stdinFD, stdoutFD, stderrFD) {
		return 0
	}
	unix.Close(stdoutFD)
	unix.Close(stderrFD)
	unix.Close(stdinFD)
	h.watch()
	left := h.sweep()
	event{eventEnded, uint32(h.status), uint32(left)}.send()
	return 0
}

// helper watches one command.
type helper struct {
	pid    int
	pidfd  int // readable once the command has ended; -1 where the kernel has no such thing
	status syscall.WaitStatus
	ended  bool // status is the command's
	alone  bool // no child is left
}

// begin starts the command, and reports whether it could.
func (h *helper) begin(o Spec, stdin, stdout, stderr uintptr) bool {
	held, err := o.fence.putUp()
	if err != nil && o.fence.require {
		event{eventUnfenced, 0, 0}.send()
		return false
	}
	err = o.fence.limits.while(func() (int, error) {
		err := h.launch(o, stdin, stdout, stderr)
		return h.pid, err
	})
	if err != nil {
		errno, _ := errors.AsType[syscall.Errno](err)
		event{eventFailed, uint32(errno), 0}.send()
		return false
	}
	event{eventStarted, uint32(h.pid), held}.send()
	return true
}

// launch starts the command in a session of its own, so that its groups and the
// helper's are never the same.
func (h *helper) launch(o Spec, stdin, stdout, stderr uintptr) error {
	attr := &syscall.ProcAttr{
		Env: o.Env, Files: []uintptr{stdin, stdout, stderr},
		Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL, PidFD: &h.pidfd},
	}
	pid, err := syscall.ForkExec(o.Path, o.Args, attr)
	if err == syscall.ENOEXEC {
		o = o.script()
		pid, err = syscall.ForkExec(o.Path, o.Args, attr)
	}
	h.pid = pid
	h.status = syscall.WaitStatus(syscall.SIGKILL) // should it not be seen to end
	return err
}

// watch returns when the command has ended, or has not done so in the time it was
// given after it was asked to.
func (h *helper) watch() {
	var enough time.Time
	step := time.Second // between two looks at what the command has orphaned
	if h.pidfd < 0 {
		step = 5 * time.Millisecond
	}
	fds := []unix.PollFd{{Fd: int32(h.pidfd), Events: unix.POLLIN}, {Fd: 0, Events: unix.POLLIN}}
	for h.reap(); !h.ended; h.reap() {
		wait := step
		if !enough.IsZero() {
			if wait = min(step, time.Until(enough)); wait <= 0 {
				return
			}
		}
		unix.Poll(fds, int(wait.Milliseconds())+1)
		if fds[1].Revents != 0 {
			unix.Kill(-h.pid, unix.SIGTERM)
			enough = time.Now().Add(stopGrace)
			fds[1] = unix.PollFd{Fd: -1}
		}
	}
}

// reap takes notice of all children that are dead.
func (h *helper) reap() {
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, syscall.WNOHANG|unix.WALL, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			h.alone = true
			return
		case pid == 0:
			return
		case pid == h.pid:
			h.status, h.ended = ws, true
		}
	}
}

// sweep kills what is left until nothing is, and returns how many processes
// withstood. It kills its own children, whose numbers are theirs until it reaps
// them, and their groups; what those leave behind comes to it as its own.
func (h *helper) sweep() (left int) {
	for deadline := time.Now().Add(sweepTime); ; {
		if h.reap(); h.alone {
			return 0
		}
		pids := children()
		for _, pid := range pids {
			if group, err := unix.Getpgid(pid); err == nil && group != unix.Getpgrp() {
				unix.Kill(-group, unix.SIGKILL)
			}
			unix.Kill(pid, unix.SIGKILL)
		}
		if time.Now().After(deadline) {
			return max(1, len(pids))
		}
		unix.Poll(nil, 1)
	}
}

// children returns the processes whose parent is this one.
func children() (pids []int) {
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	for _, list := range lists {
		data, _ := os.ReadFile(list)
		for field := range strings.FieldsSeq(string(data)) {
			if pid, err := strconv.Atoi(field); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

func (e event) send() { binary.Write(descriptor(reportFD), binary.LittleEndian, e) }

// descriptor is read and written without the runtime's poller.
type descriptor int

func (d descriptor) Write(p []byte) (int, error) { return unix.Write(int(d), p) }

func (d descriptor) Read(p []byte) (n int, err error) {
	for err = unix.EINTR; err == unix.EINTR; {
		n, err = unix.Read(int(d), p)
	}
	if n == 0 && err == nil {
		err = io.EOF
	}
	return max(n, 0), err
}
