package process

import (
	"errors"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// auditArch maps GOARCH to the architecture number in a filter's input.
var auditArch = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}

// Offsets in a filter's input, in bytes: struct seccomp_data.
const (
	callNumber = 0
	callArch   = 4
	callArg    = 16 // lower half of the first argument; 8 more for each further one
)

func canDenySockets() bool { return auditArch[runtime.GOARCH] != 0 }

// x32Bit is set in the numbers of system calls of the x32 ABI.
const x32Bit = 0x40000000

// compatCalls are the system calls of 32-bit programs, on x86 and Arm, that make
// sockets or io_uring rings. They are all denied.
var compatCalls = []uint32{102, 281, 359, 425}

// maskSocketType removes SOCK_CLOEXEC and SOCK_NONBLOCK from a socket type.
var maskSocketType = []unix.SockFilter{{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: 0xf}}

// denySockets restricts this process, and all that it starts, to Unix and netlink
// sockets and plain TCP, which Landlock denies. It denies UDP, Multipath TCP and all
// other sockets, and io_uring, which can make sockets without a system call.
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
	for _, number := range compatCalls {
		other = append(other, ifEqual(number, ret(none))...)
	}
	program := slices.Concat(
		load(callArch), ifNotEqual(auditArch[runtime.GOARCH], append(other, ret(allow)...)),
		load(callNumber), ifBits(x32Bit, ret(none)), ifEqual(unix.SYS_IO_URING_SETUP, ret(none)), ifNotEqual(unix.SYS_SOCKET, ret(allow)),
		load(callArg), ifEqual(unix.AF_UNIX, ret(allow)), ifEqual(unix.AF_NETLINK, ret(allow)), ifNotEqual(unix.AF_INET, ifNotEqual(unix.AF_INET6, ret(denied))),
		load(callArg+8), maskSocketType, ifNotEqual(unix.SOCK_STREAM, ret(denied)),
		load(callArg+16), ifEqual(0, ret(allow)), ifEqual(unix.IPPROTO_TCP, ret(allow)), ret(denied),
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

func load(offset uint32) []unix.SockFilter {
	return []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}}
}

func ret(action uint32) []unix.SockFilter {
	return []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: action}}
}

// ifEqual runs body if the loaded value is k.
func ifEqual(k uint32, body []unix.SockFilter) []unix.SockFilter {
	return append([]unix.SockFilter{{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: uint8(len(body)), K: k}}, body...)
}

// ifNotEqual runs body if the loaded value is not k.
func ifNotEqual(k uint32, body []unix.SockFilter) []unix.SockFilter {
	return append([]unix.SockFilter{{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: uint8(len(body)), K: k}}, body...)
}

// ifBits runs body if the loaded value has any bit of k.
func ifBits(k uint32, body []unix.SockFilter) []unix.SockFilter {
	return append([]unix.SockFilter{{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, Jf: uint8(len(body)), K: k}}, body...)
}
