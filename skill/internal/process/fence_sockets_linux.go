package process

import (
	"errors"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The numbers by which a filter knows whose system calls it sees.
var auditArch = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}

// Where a filter finds the numbers of a system call, in bytes; of an argument the
// lower half.
const (
	callNumber = 0
	callArch   = 4
	callArg    = 16 // the first; 8 more for each next
)

func canDenySockets() bool { return auditArch[runtime.GOARCH] != 0 }

// otherABI is the bit of the calls of x32, which have other numbers.
const otherABI = 0x40000000

// otherSockets are the calls of 32-bit programs that make sockets, or rings that can:
// of Intel's and Arm's processors. They are left none.
var otherSockets = []uint32{102, 281, 359, 425}

// kindOfSocket takes away what SOCK_CLOEXEC and SOCK_NONBLOCK add.
var kindOfSocket = []unix.SockFilter{{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: 0xf}}

// denySockets leaves this process, and all that it starts, the sockets of one machine
// and plain TCP, which is Landlock's to deny. UDP, Multipath TCP and all other kinds
// cannot be had, nor can io_uring, which would get round that.
func denySockets() error {
	if !canDenySockets() {
		return errors.ErrUnsupported
	}
	const (
		allow  = unix.SECCOMP_RET_ALLOW
		denied = unix.SECCOMP_RET_ERRNO | uint32(unix.EACCES)
		none   = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	)
	other := load(callNumber)
	for _, number := range otherSockets {
		other = append(other, when(number, answer(none))...)
	}
	program := slices.Concat(
		load(callArch), unless(auditArch[runtime.GOARCH], append(other, answer(allow)...)),
		load(callNumber), ifBits(otherABI, answer(none)), when(unix.SYS_IO_URING_SETUP, answer(none)), unless(unix.SYS_SOCKET, answer(allow)),
		load(callArg), when(unix.AF_UNIX, answer(allow)), when(unix.AF_NETLINK, answer(allow)), unless(unix.AF_INET, unless(unix.AF_INET6, answer(denied))),
		load(callArg+8), kindOfSocket, unless(unix.SOCK_STREAM, answer(denied)),
		load(callArg+16), when(0, answer(allow)), when(unix.IPPROTO_TCP, answer(allow)), answer(denied),
	)
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	r, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&filter)))
	if errno != 0 {
		return errno
	}
	if r != 0 {
		return errors.New("a thread has another filter")
	}
	return nil
}

func load(at uint32) []unix.SockFilter {
	return []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}}
}

func answer(with uint32) []unix.SockFilter {
	return []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: with}}
}

// when takes a step if what was loaded is k.
func when(k uint32, step []unix.SockFilter) []unix.SockFilter {
	return append([]unix.SockFilter{{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: uint8(len(step)), K: k}}, step...)
}

// unless takes a step if what was loaded is not k.
func unless(k uint32, step []unix.SockFilter) []unix.SockFilter {
	return append([]unix.SockFilter{{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: uint8(len(step)), K: k}}, step...)
}

// ifBits takes a step if what was loaded has a bit of k.
func ifBits(k uint32, step []unix.SockFilter) []unix.SockFilter {
	return append([]unix.SockFilter{{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, Jf: uint8(len(step)), K: k}}, step...)
}
