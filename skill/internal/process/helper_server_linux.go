package process

import (
	"bytes"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// stopServerGrace is how long a server has between SIGTERM and SIGKILL.
const stopServerGrace = 5 * time.Second

// superviseServer runs a command that outlives the program which started this helper,
// until all processes that it started have ended. SIGTERM to the helper ends them.
// Their output passes through the helper into a log of limited size, and the events of
// the helper are appended to a file, where a later program finds them.
func superviseServer(spec Spec, v *views, g *gateway) int {
	signals, err := signalPipe()
	if err != nil {
		return 1
	}
	in, out, err := openPipes()
	if err != nil {
		return 1
	}
	h := helper{views: v}
	g.serve(&spec)
	if !h.start(spec, uintptr(in.theirs), uintptr(out.theirs), uintptr(out.theirs)) {
		h.guard.release()
		return 0
	}
	unix.Close(in.theirs)
	unix.Close(out.theirs)
	if t := spec.terminal; t != nil {
		in, out = t.stream, t.stream
		unix.Close(t.theirs)
	}
	unix.SetNonblock(in.ours, true) // to write without waiting
	unix.Close(stderrFD)
	net := h.connect(spec, in.ours)
	logged := make(chan struct{})
	go func() {
		defer close(logged)
		log := trimmedLog{fd: stdoutFD}
		hide := hider{secrets: spec.secrets, pass: log.write}
		defer hide.end()
		copyAll(descriptor(out.ours), hide.write)
	}()
	h.waitAll(signals)
	left := h.killRemaining()
	net.stop()
	if left == 0 {
		h.guard.release()
		<-logged
	}
	os.RemoveAll(spec.fence.temp)
	event{eventEnded, uint32(h.status), uint32(left)}.send()
	return 0
}

// A stream is a pipe or a terminal between a command and another process.
type stream struct{ theirs, ours int }

// openPipes returns what a server reads, and what it writes, if it has no terminal.
func openPipes() (in, out stream, err error) {
	var p, q [2]int
	if err = unix.Pipe2(p[:], unix.O_CLOEXEC); err == nil {
		err = unix.Pipe2(q[:], unix.O_CLOEXEC)
	}
	return stream{p[0], p[1]}, stream{q[1], q[0]}, err
}

// openTerminal makes a terminal, in this /dev/pts if that is more than 0.
func openTerminal(pts int) (s stream, err error) {
	ptmx := "/dev/ptmx"
	if pts > 0 {
		ptmx = fmt.Sprint("/proc/self/fd/", pts, "/ptmx")
	}
	if s.ours, err = unix.Open(ptmx, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0); err != nil {
		return s, err
	}
	if err = unix.IoctlSetPointerInt(s.ours, unix.TIOCSPTLCK, 0); err == nil {
		fd, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(s.ours), unix.TIOCGPTPEER,
			unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
		if s.theirs = int(fd); errno != 0 {
			err = errno
		}
	}
	if err != nil {
		unix.Close(s.ours)
	}
	return s, err
}

// signalPipe returns the reading end of a pipe that gets one byte for each signal: 1
// for SIGTERM, 0 for SIGCHLD.
func signalPipe() (fd int, err error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return -1, err
	}
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, unix.SIGTERM, unix.SIGCHLD)
	signal.Notify(make(chan os.Signal, 1), unix.SIGINT, unix.SIGHUP) // ignore the terminal
	go func() {
		for s := range signals {
			if s == unix.SIGTERM {
				unix.Write(p[1], []byte{1})
			} else {
				unix.Write(p[1], []byte{0})
			}
		}
	}()
	return p[0], nil
}

// waitAll waits until no child is left. After SIGTERM it terminates the children and
// waits at most stopServerGrace longer. signals is a [signalPipe].
func (h *helper) waitAll(signals int) {
	var grace *patience
	signalled := map[int]bool{}
	fds := []unix.PollFd{{Fd: int32(signals), Events: unix.POLLIN}, {Fd: -1, Events: unix.POLLIN}}
	if h.views.last.first != 0 {
		fds[1].Fd = int32(h.views.last.socket)
	}
	for h.reap(); !h.childless || !h.views.empty(onceEmpty, 0); h.reap() {
		wait := time.Second
		if grace != nil {
			h.terminate(signalled)
			if grace.over() {
				return
			}
			wait = grace.step()
		}
		fds[0].Revents = 0
		unix.Poll(fds, int(wait.Milliseconds())+1)
		if fds[0].Revents == 0 {
			continue
		}
		var buf [64]byte
		n, _ := unix.Read(signals, buf[:])
		if bytes.IndexByte(buf[:max(n, 0)], 1) >= 0 && grace == nil {
			unix.Kill(-h.pid, unix.SIGTERM)
			grace = patient(stopServerGrace)
		}
	}
}

// terminate sends SIGTERM to the children, and to their process groups, that are not in
// signalled yet. Called again, it reaches the orphans that became children since.
func (h *helper) terminate(signalled map[int]bool) {
	own, adopted := h.children()
	for _, pid := range append(own, adopted...) {
		group, err := unix.Getpgid(pid)
		if err != nil || signalled[pid] || group == h.pid {
			continue
		}
		signalled[pid] = true
		if group != unix.Getpgrp() {
			pid = -group
		}
		unix.Kill(pid, unix.SIGTERM)
	}
}

// Sizes of a server's log, in bytes.
const (
	maxServerLog  = 8 << 20 // a longer log is trimmed
	keptServerLog = 4 << 20 // to its last bytes
)

// A trimmedLog is a log file that loses its first half when it grows too long.
type trimmedLog struct {
	fd   int
	size int64
	note int64 // bytes of its first line, if that says how many bytes are cut
	cut  int64
}

// copyAll passes on what a server writes.
func copyAll(from descriptor, to func([]byte)) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			to(buf[:n])
		}
		if err == syscall.EAGAIN { // a terminal, to which the helper writes without waiting
			unix.Poll([]unix.PollFd{{Fd: int32(from), Events: unix.POLLIN}}, -1)
		} else if err != nil {
			return
		}
	}
}

func (l *trimmedLog) write(p []byte) {
	for len(p) > 0 {
		n, err := unix.Write(l.fd, p)
		if err != nil && err != unix.EINTR {
			return // the disk is full: drop the output, let the server run
		}
		p = p[max(n, 0):]
		l.size += int64(max(n, 0))
	}
	if l.size <= maxServerLog {
		return
	}
	tail := make([]byte, keptServerLog)
	n, err := unix.Pread(l.fd, tail, l.size-keptServerLog)
	if err != nil || unix.Ftruncate(l.fd, 0) != nil {
		return
	}
	tail = tail[bytes.IndexByte(tail[:n], '\n')+1 : n]
	l.cut += l.size - l.note - int64(len(tail))
	note := fmt.Appendf(nil, "[… %d bytes left out …]\n", l.cut)
	l.size, l.note = 0, int64(len(note))
	l.write(append(note, tail...))
}
