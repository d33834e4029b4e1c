package process

import (
	"runtime"
	"slices"

	"golang.org/x/sys/unix"
)

// A filter is a seccomp program.
type filter []unix.SockFilter

// pointer returns f as the kernel takes it.
func (f filter) pointer() *unix.SockFprog { return &unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]} }

// The architectures of the table of calls: two that this package knows, each after the
// 32-bit one whose programs it runs too.
var architectures = []struct {
	goarch string
	audit  uint32
}{{"", unix.AUDIT_ARCH_I386}, {"amd64", unix.AUDIT_ARCH_X86_64}, {"", unix.AUDIT_ARCH_ARM},
	{"arm64", unix.AUDIT_ARCH_AARCH64}}

// architecture returns the index of this machine's architecture, -1 if it is unknown.
func architecture() int {
	for i, a := range architectures {
		if a.goarch == runtime.GOARCH {
			return i
		}
	}
	return -1
}

func canFilter() bool { return architecture() >= 0 }

// A filteredCall is a system call that is denied, or allowed with certain arguments only.
type filteredCall struct {
	numbers [4]uint32 // as in architectures; 0 for none
	check   check
}

// A check returns what decides a call, or nil if f allows all of them.
type check func(f filterOf) filter

// filterOf says what the filter of a command depends on.
type filterOf struct {
	network bool // all sockets
	own     bool // sockets of TCP and UDP, for the command has a [network]
	tcp     bool // without network: TCP sockets, for Landlock allows a port
	sysV    bool // System V's shared memory, semaphores and queues, which are the command's own
	root    bool // the command runs as root
}

// filteredCalls lists what Landlock does not deny: sockets other than TCP, and ways to
// connect without connect; rights handed to others by set-id bits, which could be set on
// files outside; and reaching other processes of the user.
var filteredCalls = []filteredCall{
	{[4]uint32{359, 41, 281, 198}, socketCheck},          // socket
	{[4]uint32{102, 0, 102, 0}, noNetwork},               // socketcall
	{[4]uint32{369, 44, 290, 206}, fastOpen(3)},          // sendto
	{[4]uint32{370, 46, 296, 211}, fastOpen(2)},          // sendmsg
	{[4]uint32{345, 307, 374, 269}, fastOpen(3)},         // sendmmsg
	{[4]uint32{425, 425, 425, 425}, never},               // io_uring_setup: its calls pass no filter
	{[4]uint32{437, 437, 437, 437}, never},               // openat2: its mode is not seen here
	{[4]uint32{5, 2, 5, 0}, setIDIfCreated(1, 2)},        // open
	{[4]uint32{295, 257, 322, 56}, setIDIfCreated(2, 3)}, // openat
	{[4]uint32{8, 85, 8, 0}, setID(1)},                   // creat
	{[4]uint32{14, 133, 14, 0}, setID(1)},                // mknod
	{[4]uint32{297, 259, 324, 33}, setID(2)},             // mknodat
	{[4]uint32{15, 90, 15, 0}, setID(1)},                 // chmod
	{[4]uint32{94, 91, 94, 52}, setID(1)},                // fchmod
	{[4]uint32{306, 268, 333, 53}, setID(2)},             // fchmodat
	{[4]uint32{452, 452, 452, 452}, setID(2)},            // fchmodat2
	{[4]uint32{182, 92, 182, 0}, givesNothing},           // chown
	{[4]uint32{95, 93, 95, 55}, givesNothing},            // fchown
	{[4]uint32{16, 94, 16, 0}, givesNothing},             // lchown
	{[4]uint32{298, 260, 325, 54}, givesNothing},         // fchownat
	{[4]uint32{212, 0, 212, 0}, givesNothing},            // chown32
	{[4]uint32{207, 0, 207, 0}, givesNothing},            // fchown32
	{[4]uint32{198, 0, 198, 0}, givesNothing},            // lchown32
	{[4]uint32{340, 302, 369, 261}, ownLimits},           // prlimit64
	{[4]uint32{97, 141, 97, 140}, ownPriority},           // setpriority
	{[4]uint32{289, 251, 314, 30}, ownIOPriority},        // ioprio_set
	{[4]uint32{154, 142, 154, 118}, ownProcess},          // sched_setparam
	{[4]uint32{156, 144, 156, 119}, ownProcess},          // sched_setscheduler
	{[4]uint32{241, 203, 241, 122}, ownProcess},          // sched_setaffinity
	{[4]uint32{351, 314, 380, 274}, ownProcess},          // sched_setattr
	{[4]uint32{54, 16, 54, 29}, refusedRequests},         // ioctl
	{[4]uint32{286, 248, 309, 217}, never},               // add_key
	{[4]uint32{287, 249, 310, 218}, never},               // request_key
	{[4]uint32{288, 250, 311, 219}, never},               // keyctl
	{[4]uint32{117, 0, 117, 0}, sysV},                    // ipc
	{[4]uint32{395, 29, 307, 194}, sysV},                 // shmget
	{[4]uint32{397, 30, 305, 196}, sysV},                 // shmat
	{[4]uint32{396, 31, 308, 195}, sysV},                 // shmctl
	{[4]uint32{393, 64, 299, 190}, sysV},                 // semget
	{[4]uint32{0, 65, 298, 193}, sysV},                   // semop
	{[4]uint32{394, 66, 300, 191}, sysV},                 // semctl
	{[4]uint32{0, 220, 312, 192}, sysV},                  // semtimedop
	{[4]uint32{420, 0, 420, 0}, sysV},                    // semtimedop_time64
	{[4]uint32{399, 68, 303, 186}, sysV},                 // msgget
	{[4]uint32{400, 69, 301, 189}, sysV},                 // msgsnd
	{[4]uint32{401, 70, 302, 188}, sysV},                 // msgrcv
	{[4]uint32{402, 71, 304, 187}, sysV},                 // msgctl
	{[4]uint32{120, 56, 120, 220}, newUsers},             // clone
	{[4]uint32{310, 272, 337, 97}, newUsers},             // unshare
	// clone3: its flags are not seen here, and programs fall back to clone
	{[4]uint32{435, 435, 435, 435}, cloneAny},
}

// The answers of a filter.
const (
	allow  = unix.SECCOMP_RET_ALLOW
	denied = unix.SECCOMP_RET_ERRNO | uint32(unix.EACCES)
	refuse = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	none   = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	done   = unix.SECCOMP_RET_ERRNO // no error, and nothing done
)

// Offsets in a filter's input, in bytes: struct seccomp_data.
const (
	callNumber = 0
	callArch   = 4
	firstArg   = 16 // the lower half, on machines of this byte order; 8 more for each further argument
	upperHalf  = 4
)

func arg(n uint32) uint32 { return firstArg + 8*n }

// x32Bit is set in the numbers of system calls of the x32 ABI.
const x32Bit = 0x40000000

// program returns the filter for this machine, which must be known.
func (f filterOf) program() filter {
	native := architecture()
	other := f.calls(native - 1)
	own := slices.Concat(load(callNumber), ifBits(x32Bit, ret(none)), f.calls(native))
	return slices.Concat(
		load(callArch), filter{
			{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 1, K: architectures[native].audit},
			{Code: unix.BPF_JMP | unix.BPF_JA, K: uint32(len(own))},
		}, own,
		ifNotEqual(architectures[native-1].audit, ret(none)), load(callNumber), other,
	)
}

// calls returns the part of the filter for one architecture. The number of the call is
// loaded.
func (f filterOf) calls(architecture int) (program filter) {
	for _, c := range filteredCalls {
		if body := c.check(f); body != nil && c.numbers[architecture] != 0 {
			program = append(program, ifEqual(c.numbers[architecture], append(body, ret(allow)...))...)
		}
	}
	return append(program, ret(allow)...)
}

// lacking denies a call, as if the kernel lacked it, unless it is allowed.
func lacking(allowed bool) filter {
	if allowed {
		return nil
	}
	return ret(none)
}

func never(filterOf) filter       { return lacking(false) }
func noNetwork(f filterOf) filter { return lacking(f.network) }
func sysV(f filterOf) filter      { return lacking(f.sysV) }
func cloneAny(f filterOf) filter  { return lacking(!f.root) }

// newUsers keeps root from a user namespace, in which it would have again what the fence
// took away.
func newUsers(f filterOf) filter {
	if !f.root {
		return nil
	}
	return slices.Concat(load(arg(0)), ifBits(unix.CLONE_NEWUSER, ret(refuse)))
}

// refusedRequests denies the requests by which btrfs and bcachefs make and remove subvolumes and snapshots:
// Landlock does not see them, and the history does not keep them. It also denies those that push characters
// into a terminal, or have the kernel load a module for it.
func refusedRequests(filterOf) filter {
	program := append(load(arg(1)), unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: 0xffff})
	for _, request := range []uint32{0x9401, 0x940e, 0x940f, 0x9417, 0x9418, 0x943f, 0xbc10, 0xbc11,
		unix.TIOCSTI, unix.TIOCLINUX, unix.TIOCSETD} {
		program = append(program, ifEqual(request, ret(refuse))...)
	}
	return program
}

// givesNothing lets root's calls that would give a file to another user succeed and do
// nothing. Root lacks the right, but tar, cp -p and npm, run by root, take a failure to
// keep an owner for an error.
func givesNothing(f filterOf) filter {
	if !f.root {
		return nil
	}
	return ret(done)
}

// socketCheck allows Unix sockets and the netlink of routes, TCP and UDP in a network of the
// command's own, and TCP where Landlock lets a port be used: a TCP socket that is never bound
// could listen.
func socketCheck(f filterOf) filter {
	if f.network {
		return nil
	}
	local := slices.Concat(load(arg(0)), ifEqual(unix.AF_UNIX, ret(allow)),
		ifEqual(unix.AF_NETLINK, protocols(unix.NETLINK_ROUTE)))
	if !f.tcp && !f.own {
		return append(local, ret(denied)...)
	}
	// without SOCK_CLOEXEC and SOCK_NONBLOCK
	typeMask := filter{{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: 0xf}}
	inet := slices.Concat(local, ifNotEqual(unix.AF_INET, ifNotEqual(unix.AF_INET6, ret(denied))),
		load(arg(1)), typeMask)
	if f.own {
		inet = slices.Concat(inet,
			ifEqual(unix.SOCK_STREAM, protocols(0, unix.IPPROTO_TCP, unix.IPPROTO_MPTCP)),
			ifEqual(unix.SOCK_DGRAM, protocols(0, unix.IPPROTO_UDP)))
	} else {
		inet = append(inet, ifEqual(unix.SOCK_STREAM, protocols(0, unix.IPPROTO_TCP))...)
	}
	return append(inet, ret(denied)...)
}

// protocols allows a socket of one of the protocols, which are its third argument.
func protocols(allowed ...uint32) filter {
	list := load(arg(2))
	for _, p := range allowed {
		list = append(list, ifEqual(p, ret(allow))...)
	}
	return append(list, ret(denied)...)
}

// fastOpen denies a call that connects while it sends. Its flags are argument n.
func fastOpen(n uint32) check {
	return func(f filterOf) filter {
		if f.network || f.own {
			return nil
		}
		return slices.Concat(load(arg(n)), ifBits(unix.MSG_FASTOPEN, ret(denied)))
	}
}

// setID denies set-id bits in the mode, which is argument n.
func setID(n uint32) check {
	return func(filterOf) filter {
		return slices.Concat(load(arg(n)), ifBits(unix.S_ISUID|unix.S_ISGID, ret(refuse)))
	}
}

// setIDIfCreated is setID for a call whose mode counts if its flags create a file.
func setIDIfCreated(flags, mode uint32) check {
	return func(f filterOf) filter {
		const tmpFile = unix.O_TMPFILE &^ unix.O_DIRECTORY
		return slices.Concat(load(arg(flags)), ifBits(unix.O_CREAT|tmpFile, setID(mode)(f)))
	}
}

// ownProcess allows a call for the calling thread only.
func ownProcess(filterOf) filter {
	return slices.Concat(load(arg(0)), ifNotEqual(0, ret(refuse)))
}

// ownLimits allows changes of the limits of the calling process, and reads of any.
func ownLimits(filterOf) filter {
	change := slices.Concat(load(arg(2)), ifNotEqual(0, ret(refuse)), load(arg(2)+upperHalf),
		ifNotEqual(0, ret(refuse)))
	return slices.Concat(load(arg(0)), ifNotEqual(0, change))
}

// ownPriority allows changes of the priority of the calling process and its group.
func ownPriority(filterOf) filter {
	return slices.Concat(load(arg(0)), ifEqual(unix.PRIO_USER, ret(refuse)), load(arg(1)),
		ifNotEqual(0, ret(refuse)))
}

// ownIOPriority is ownPriority of input and output.
func ownIOPriority(filterOf) filter {
	const user = 3
	return slices.Concat(load(arg(0)), ifEqual(user, ret(refuse)), load(arg(1)), ifNotEqual(0, ret(refuse)))
}

func load(offset uint32) filter {
	return filter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}}
}

func ret(action uint32) filter {
	return filter{{Code: unix.BPF_RET | unix.BPF_K, K: action}}
}

// ifEqual runs body if the loaded value is k.
func ifEqual(k uint32, body filter) filter {
	return append(filter{{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: uint8(len(body)),
		K: k}}, body...)
}

// ifNotEqual runs body if the loaded value is not k.
func ifNotEqual(k uint32, body filter) filter {
	return append(filter{{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: uint8(len(body)),
		K: k}}, body...)
}

// ifBits runs body if the loaded value has any bit of k.
func ifBits(k uint32, body filter) filter {
	return append(filter{{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, Jf: uint8(len(body)),
		K: k}}, body...)
}
