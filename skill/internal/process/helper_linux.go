package process

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/bits"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"textskill/skill/internal/workspace/tree"
)

// canSupervise reports whether this system lets a process adopt the orphans of its
// descendants.
const canSupervise = true

// helperName is the argv[0] of a helper.
const helperName = "skill-exec-helper"

// The helper's descriptors. It receives these and a Spec through standard input, a socket
// whose end makes it stop. Its own standard output and error are /dev/null.
const (
	reportFD = 3 + iota // the helper writes its events here
	stdoutFD            // of the command
	stderrFD
	stdinFD
	firstFileFD // the first of Spec.Files

	maxFiles = firstFileFD - reportFD + 4 + maxExtras // all of these, and the files of a Spec
)

// HelperMain turns this process into a helper (see [Config].Helper) if it was started
// as one, and then does not return. A program that is its own helper calls HelperMain
// before anything else. In any other process HelperMain does nothing.
func HelperMain() {
	enterMain()
	if isHelper() {
		syscall.Exit(supervise()) // not os.Exit: there is nothing to flush
	}
}

func isHelper() bool { return len(os.Args) > 0 && os.Args[0] == helperName }

// Undumpable prevents other processes of the user from reading the memory and the
// environment of this one. A process that holds a credential calls it early.
func Undumpable() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }

// supervise runs one command after another, and ends all processes that one leaves behind
// before the next. It ends with its standard input, or if it could not end all of them. Only
// SIGKILL stops it. If its parent was killed, it removes the temporary files of the commands.
//
// It locks the thread that starts the command, because the command is killed when that
// thread ends. It is not dumpable: no command, of whatever user, reads its memory or opens
// its pipes.
func supervise() int {
	runtime.LockOSThread()
	Undumpable()
	if unix.CloseRange(reportFD, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) != nil {
		for fd := range 16 {
			unix.CloseOnExec(reportFD + fd)
		}
	}
	if unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != nil {
		return 1
	}
	ignored := make(chan os.Signal, 1)
	var v views
	var g gateway
	defer v.close()
	parent, temp := os.Getppid(), ""
	for {
		size, err := receiveFiles()
		if err == io.EOF && orphaned(parent) {
			tree.RemoveTemp(temp)
		}
		if err != nil {
			return 1
		}
		if q := question(binary.LittleEndian.Uint32(size[:])); q >= askLast {
			if answerQuestion(q) != nil {
				return 1
			}
			continue
		}
		spec, err := readSpec(io.MultiReader(bytes.NewReader(size[:]), descriptor(0)))
		if err != nil {
			return 1 // the parent has ended, or closed the pipe to cancel
		}
		if spec.server {
			return superviseServer(spec, &v, &g)
		}
		temp = cmp.Or(spec.fence.temp, temp)
		// dying of them would leave the command's processes
		signal.Notify(ignored, unix.SIGTERM, unix.SIGINT, unix.SIGHUP)
		if !superviseOne(spec, &v, &g) {
			return 0
		}
	}
}

// orphaned reports whether the parent has ended. Its children get another one shortly after its files
// were closed.
func orphaned(parent int) bool {
	for wait := patient(10 * time.Millisecond); os.Getppid() == parent; unix.Poll(nil, 1) {
		if wait.over() {
			return false
		}
	}
	return true
}

// superviseOne runs a command, and reports whether none of its processes is left.
func superviseOne(spec Spec, v *views, g *gateway) bool {
	h := helper{views: v}
	defer spec.extras.window.Close() // of nil too
	g.serve(&spec)
	defer h.guard.close()
	if !h.start(spec, stdinFD, stdoutFD, stderrFD) {
		h.guard.release()
		return false
	}
	if t := spec.terminal; t != nil {
		sendDescriptors([]int{stdinFD, stdoutFD, stderrFD}[bits.TrailingZeros8(t.Streams)], []int{t.ours, t.theirs}, nil)
		unix.Close(t.ours)
		unix.Close(t.theirs)
	}
	net := h.connect(spec, -1)
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	for i := stdoutFD; i < firstFileFD+spec.files+spec.extras.count; i++ {
		if err != nil || unix.Dup3(null, i, unix.O_CLOEXEC) != nil { // keeps the number for the next command
			unix.Close(i)
		}
	}
	unix.Close(null)
	h.waitCommand()
	if h.ended {
		h.tellLeft(commandLine(strings.Join(spec.Args, " ")))
	}
	left := h.killRemaining()
	if left == 0 {
		h.guard.release()
	}
	net.stop()
	if spec.fence.own != nil {
		spec.fence.own.close()
	}
	if h.pidfd >= 0 {
		unix.Close(h.pidfd)
	}
	g.tell()
	v.tellFull()
	spec.extras.window.Close() // before the next command gets one
	event{eventEnded, uint32(h.status), uint32(left)}.send()
	return left == 0 && err == nil
}

// tellFull tells which own directories of the view are full.
func (v *views) tellFull() {
	for i, fd := range v.last.own {
		var st unix.Statfs_t
		if fd > 0 && unix.Fstatfs(int(fd), &st) == nil && (st.Bavail == 0 || st.Ffree == 0) {
			sendText(eventFull, ownDirs[i])
		}
	}
}

// A helper supervises one command.
type helper struct {
	pid       int
	pidfd     int // readable once the command has ended; -1 if the kernel has no pidfds
	status    syscall.WaitStatus
	ended     bool // status is the command's
	childless bool // no child is left, but for the first process of a view
	views     *views
	guard     guard
}

// start applies the fence, starts the command and sends an event. It reports whether
// the command runs.
func (h *helper) start(spec Spec, stdin, stdout, stderr uintptr) bool {
	files := []uintptr{stdin, stdout, stderr}
	for i := range spec.files {
		files = append(files, firstFileFD+uintptr(i))
	}
	h.status = syscall.WaitStatus(syscall.SIGKILL) // reported if its end is never seen
	pid, pidfd, held, err := spec.fence.launch(spec, files, h.views, &h.guard)
	if err == syscall.ENOEXEC {
		pid, pidfd, held, err = spec.fence.launch(spec.script(), files, h.views, &h.guard)
	}
	h.pid, h.pidfd = pid, pidfd
	if err == errUnfenced {
		event{eventUnfenced, 0, 0}.send()
		return false
	}
	if err != nil {
		errno, _ := errors.AsType[syscall.Errno](err)
		event{eventFailed, uint32(errno), 0}.send()
		return false
	}
	event{eventStarted, uint32(h.pid), held}.send()
	return true
}

// connect has programs reach a command that runs: its network, its input and a port of this machine.
func (h *helper) connect(spec Spec, input int) *relay {
	n := spec.fence.own
	if spec.extras.share != nil {
		go meet(spec.extras.share, n, input)
	}
	if !n.alone() || len(spec.extras.relay) == 0 {
		return nil
	}
	return startRelay(n, spec.fence.port, spec.extras.relay)
}

// waitCommand waits for the end of the command. When standard input ends, it sends
// SIGTERM to the command's process group and waits at most stopGrace longer.
func (h *helper) waitCommand() {
	var grace *patience
	step := time.Second // interval at which adopted orphans are reaped
	if h.pidfd < 0 {
		step = 5 * time.Millisecond
	}
	fds := []unix.PollFd{{Fd: int32(h.pidfd), Events: unix.POLLIN}, {Fd: 0, Events: unix.POLLIN}}
	for h.reap(); !h.ended; h.reap() {
		wait := step
		if grace != nil {
			if grace.over() {
				return
			}
			wait = min(step, grace.step())
		}
		unix.Poll(fds, int(wait.Milliseconds())+1)
		if fds[1].Revents != 0 {
			unix.Kill(-h.pid, unix.SIGTERM)
			grace = patient(stopGrace)
			fds[1] = unix.PollFd{Fd: -1}
		}
	}
}

// reap waits for all children that have ended, but for the first process of a view, which only
// WALL would include.
func (h *helper) reap() {
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, syscall.WNOHANG, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			h.childless = true
			return
		case pid == 0:
			return
		case pid == h.pid:
			h.status, h.ended = ws, true
		}
	}
}

// killRemaining kills the helper's children and their process groups until no child is
// left, and returns how many survived killTimeout. The orphans of its children
// become its own children, or children of the first process of a view, with which they end. Their
// ids cannot be reused before it reaps them.
func (h *helper) killRemaining() (left int) {
	for wait := patient(killTimeout); ; {
		over := wait.over()
		if h.reap(); h.childless && h.views.empty(now, answerTimeout) {
			return 0
		}
		h.views.last.kill()
		pids, adopted := h.children()
		for _, pid := range pids {
			if group, err := unix.Getpgid(pid); err == nil && group != unix.Getpgrp() {
				unix.Kill(-group, unix.SIGKILL)
			}
			unix.Kill(pid, unix.SIGKILL)
		}
		if over {
			return max(1, len(pids)+len(adopted))
		}
		unix.Poll(nil, 1)
	}
}

// leftGrace is how long processes have to end by themselves after their command: the rest of a
// pipe, for example.
const leftGrace = 20 * time.Millisecond

// maxLeft is how many of the processes that are ended are told.
const maxLeft = 8

// tellLeft tells the command lines of the processes that the command has left. A subshell has the
// line of the command itself.
func (h *helper) tellLeft(command string) {
	for wait := patient(leftGrace); ; unix.Poll(nil, 1) {
		if h.reap(); h.childless && h.views.empty(now, answerTimeout) {
			return
		}
		if wait.over() {
			break
		}
	}
	own, adopted := h.children()
	told := map[string]bool{}
	for _, pid := range append(own, adopted...) {
		told[leaf(pid)] = true
	}
	delete(told, "")
	if len(told) > 1 {
		delete(told, command)
	}
	for i, line := range slices.Sorted(maps.Keys(told)) {
		if i < maxLeft {
			sendText(eventLeft, line)
		}
	}
}

// leaf returns the command line of the first process below pid that has no child: a shell only
// waits for it.
func leaf(pid int) string {
	for depth := 0; depth < 16; depth++ {
		below := children(pid)
		if len(below) == 0 {
			break
		}
		pid = below[0]
	}
	line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return commandLine(strings.ReplaceAll(strings.Trim(string(line), "\x00"), "\x00", " "))
}

// commandLine returns as much of a command line as is told.
func commandLine(text string) string { return text[:min(len(text), 200)] }

// children returns the ids of the children, and of those that the view's first process has
// adopted.
func (h *helper) children() (own, adopted []int) {
	first := h.views.last.first
	own = slices.DeleteFunc(children(os.Getpid()), func(pid int) bool { return pid == first })
	if first != 0 {
		adopted = children(first)
	}
	return own, adopted
}

// children returns the ids of a process's children.
func children(of int) (pids []int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", of))
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

// A descriptor reads and writes a file without the runtime's poller.
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
