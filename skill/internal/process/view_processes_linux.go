package process

import (
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// processes are the processes of a view: a PID namespace, in which a command sees no others. Its
// first process adopts what the command leaves behind. It ends with the helper, and with it
// the kernel ends all others, whatever else was killed at the same time.
type processes struct {
	first  int   // the id of the first one; 0 if the view has no PID namespace
	pidfd  int32 // readable once none is left
	pids   int   // the namespace
	proc   int   // its /proc
	socket int   // of the first one, which answers whether it has children
	asked  bool  // an answer is due
}

// The questions to the first process.
const (
	onceEmpty = 0            // to answer when it has no children
	now       = unix.WNOHANG // to answer at once
)

// Waiting times of a view.
const (
	answerTimeout = 100 * time.Millisecond // for an answer, which takes some microseconds
	closeTimeout  = time.Second            // for its end, which takes a millisecond
)

// empty reports whether no process is left of the command that has ended, as far as an answer
// comes within limit.
func (v *views) empty(question byte, limit time.Duration) bool {
	p := &v.last.processes
	if p.first == 0 {
		return true
	}
	if !p.asked {
		unix.Write(p.socket, []byte{question}) // an error shows by the end of the first process
		p.asked = true
	}
	fds := []unix.PollFd{{Fd: p.pidfd, Events: unix.POLLIN}, {Fd: int32(p.socket), Events: unix.POLLIN}}
	for wait := patient(limit); ; {
		over := wait.over()
		unix.Poll(fds, int(wait.step().Milliseconds()))
		if fds[0].Revents != 0 {
			v.last.close()
			return true
		}
		if fds[1].Revents != 0 {
			left := [1]byte{1}
			if n, _ := descriptor(p.socket).Read(left[:]); n == 1 {
				p.asked = false
				return left[0] == 0
			}
			fds[1].Fd = -1 // it is ending
		}
		if over {
			return false
		}
	}
}

// kill ends all processes, and does not wait for that.
func (p *processes) kill() {
	if p.first != 0 {
		unix.Kill(p.first, unix.SIGKILL)
	}
}

// killed reports whether the first process has ended.
func (p *processes) killed() bool {
	if p.first == 0 {
		return false
	}
	n, _ := unix.Poll([]unix.PollFd{{Fd: p.pidfd, Events: unix.POLLIN}}, 0)
	return n > 0
}

func (p *processes) close() {
	if p.first == 0 {
		return
	}
	p.kill()
	if waitEnd(int(p.pidfd), closeTimeout) {
		awaitChild(p.first)
	}
	for _, fd := range []int{int(p.pidfd), p.pids, p.proc, p.socket} {
		unix.Close(fd)
	}
	p.first = 0
}

// answer answers the questions of socket until its end. It runs in the process that makes a view, which
// has no Go runtime: see [plan].
//
//go:nosplit
//go:norace
//go:nocheckptr
func answer(socket uintptr) {
	var b [8]byte
	for {
		n, _, errno := syscall.RawSyscall(syscall.SYS_READ, socket, uintptr(unsafe.Pointer(&b)), 1)
		if n != 1 {
			return
		}
		for errno == 0 && n != 0 { // what the kernel does not reap
			n, _, errno = syscall.RawSyscall6(syscall.SYS_WAIT4, ^uintptr(0), 0,
				uintptr(b[0])|unix.WALL, 0, 0, 0)
		}
		b[0] = 0
		if errno == 0 {
			b[0] = 1
		}
		syscall.RawSyscall(syscall.SYS_WRITE, socket, uintptr(unsafe.Pointer(&b)), 1)
	}
}
