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

// stay runs a command that outlives the program which ordered it, for as long as
// anything lives that the command started. SIGTERM to the helper ends all of it.
// What they print goes through the helper to a log that is kept short.
//
// The events are appended to a file, where who asks later finds them.
func stay(o Spec) int {
	var out [2]int
	if unix.Pipe2(out[:], unix.O_CLOEXEC) != nil {
		return 1
	}
	news, err := signalPipe()
	if err != nil {
		return 1
	}
	null, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 1
	}
	var h helper
	if !h.begin(o, uintptr(null), uintptr(out[1]), uintptr(out[1])) {
		return 0
	}
	unix.Close(null)
	unix.Close(out[1])
	unix.Close(stderrFD)
	logged := make(chan struct{})
	go func() {
		defer close(logged)
		(&shortLog{fd: stdoutFD}).copy(descriptor(out[0]))
	}()
	h.outlast(news)
	left := h.sweep()
	if left == 0 {
		<-logged
	}
	o.fence.empty()
	event{eventEnded, uint32(h.status), uint32(left)}.send()
	return 0
}

// signalPipe returns a pipe with a byte for each signal: 1 for one that asks for the
// end, 0 for the death of a child.
func signalPipe() (fd int, err error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return -1, err
	}
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, unix.SIGTERM, unix.SIGCHLD)
	signal.Notify(make(chan os.Signal, 1), unix.SIGINT, unix.SIGHUP) // meant for a terminal
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

// outlast returns when no child is left, or when they have not ended in the time
// they were given after they were asked to.
func (h *helper) outlast(news int) {
	var enough time.Time
	asked := map[int]bool{}
	fds := []unix.PollFd{{Fd: int32(news), Events: unix.POLLIN}}
	for h.reap(); !h.alone; h.reap() {
		wait := time.Second
		if !enough.IsZero() {
			h.ask(asked)
			if wait = min(wait, time.Until(enough)); wait <= 0 {
				return
			}
		}
		fds[0].Revents = 0
		unix.Poll(fds, int(wait.Milliseconds())+1)
		if fds[0].Revents == 0 {
			continue
		}
		var what [64]byte
		n, _ := unix.Read(news, what[:])
		if bytes.IndexByte(what[:max(n, 0)], 1) >= 0 && enough.IsZero() {
			unix.Kill(-h.pid, unix.SIGTERM)
			enough = time.Now().Add(stopServerGrace)
		}
	}
}

// ask sends SIGTERM to the children, and to their groups, that were not asked yet.
// What they leave behind becomes a child as well.
func (h *helper) ask(asked map[int]bool) {
	for _, pid := range children() {
		group, err := unix.Getpgid(pid)
		if err != nil || asked[pid] || group == h.pid {
			continue
		}
		asked[pid] = true
		if group != unix.Getpgrp() {
			pid = -group
		}
		unix.Kill(pid, unix.SIGTERM)
	}
}

// The log of a server, in bytes.
const (
	maxServerLog  = 8 << 20 // when it is longer it is cut
	keptServerLog = 4 << 20 // to that
)

// shortLog is a file of which the beginning is cut off when it is too long.
type shortLog struct {
	fd   int
	size int64
	note int64 // bytes of the line in it that tells of the cut
	cut  int64
}

func (l *shortLog) copy(from descriptor) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			l.write(buf[:n])
		}
		if err != nil && err != syscall.EAGAIN {
			return
		}
	}
}

func (l *shortLog) write(p []byte) {
	for len(p) > 0 {
		n, err := unix.Write(l.fd, p)
		if err != nil && err != unix.EINTR {
			return // the disk is full: the server goes on
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
