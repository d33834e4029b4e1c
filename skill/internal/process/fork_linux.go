package process

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A plan is what a forked process does: system calls, prepared before the fork. The process enters
// namespaces or restricts itself, which package syscall cannot do. It has one thread and no Go runtime:
// it allocates nothing, and its stack does not grow.
type plan struct {
	flags   uintptr // of clone
	part    uint32  // of the steps that are added next; told with an error
	steps   []step
	results []uintptr        // what the calls returned, by [result]
	kept    []unsafe.Pointer // what the arguments point to
	pidfd   int32            // of the process; -1 if the kernel has none
	answers bool             // in the end the process answers the questions of [views.empty]
}

// A step is a system call.
type step struct {
	call    uintptr
	args    [6]uintptr
	refs    uint8            // bit n: args[n] is a result
	part    uint32           // see [plan]
	to      result           // gets what the call returns
	given   result           // the step is left out without this result
	unless  result           // or with this one
	may     bool             // an error is ignored
	mayMiss bool             // ENOENT is ignored
	as      syscall.Errno    // told in the place of an error
	same    *[2]unix.Statx_t // both must be of one file; the call fills in the second
	checked bool             // the call must return the number want
	want    uintptr
}

// A result is what a step returns: the index of plan.results. The zero result is nothing.
type result int

// missing is a result that no step has returned.
const missing = ^uintptr(0)

// A report is what a forked process tells, unless it starts a program.
type report struct {
	done        bool // or it was killed
	part        uint32
	errno       uint32
	next, pidfd int32     // if next is not 0, that process goes on in the place of this one
	results     [12]int32 // the first ones; -1 for missing
}

// fd returns a descriptor that a step has opened, -1 for none.
func (r *report) fd(of result) int { return int(r.results[of]) }

// receive reads a report, and returns its error.
func (r *report) receive(fd int) error {
	descriptor(fd).Read((*[unsafe.Sizeof(*r)]byte)(unsafe.Pointer(r))[:])
	switch {
	case !r.done && r.next == 0:
		return errKilled
	case r.errno != 0:
		return syscall.Errno(r.errno)
	}
	return nil
}

// errKilled says that a forked process has told nothing.
var errKilled = errors.New("the process that makes namespaces was killed")

func newPlan(flags int) *plan {
	return &plan{flags: uintptr(flags), results: []uintptr{missing}, pidfd: -1}
}

func (p *plan) result() result {
	p.results = append(p.results, missing)
	return result(len(p.results) - 1)
}

// pin returns the address of an object, which neither moves nor goes from then on.
//
//go:noinline
func (p *plan) pin(object unsafe.Pointer) uintptr {
	p.kept = append(p.kept, object)
	return uintptr(object)
}

// call adds a step. Arguments are numbers, texts without NUL, pointers and results.
func (p *plan) call(number int, args ...any) *step {
	s := step{call: uintptr(number), part: p.part}
	for i, arg := range args {
		switch arg := arg.(type) {
		case int:
			s.args[i] = uintptr(arg)
		case uintptr:
			s.args[i] = arg
		case string:
			s.args[i] = p.pin(unsafe.Pointer(&append([]byte(arg), 0)[0]))
		case unsafe.Pointer:
			s.args[i] = p.pin(arg)
		case result:
			s.args[i], s.refs = uintptr(arg), s.refs|1<<i
		default:
			panic(fmt.Sprintf("process: %T is no argument of a system call", arg))
		}
	}
	p.steps = append(p.steps, s)
	return &p.steps[len(p.steps)-1]
}

func (s *step) into(r result) *step          { s.to = r; return s }
func (s *step) when(r result) *step          { s.given = r; return s }
func (s *step) without(r result) *step       { s.unless = r; return s }
func (s *step) mayFail() *step               { s.may = true; return s }
func (s *step) fails(as syscall.Errno) *step { s.as = as; return s }

// returns has the step fail unless its call returns a number.
func (s *step) returns(want uintptr) { s.checked, s.want = true, want }

// is fails unless the name in a directory, or the directory itself, is the file of was.
func (p *plan) is(dir any, name string, was unix.Statx_t) *step {
	both := &[2]unix.Statx_t{was}
	s := p.call(unix.SYS_STATX, dir, name, unix.AT_EMPTY_PATH|unix.AT_NO_AUTOMOUNT, unix.STATX_INO,
		unsafe.Pointer(&both[1]))
	s.same = both
	return s
}

// close closes a result, if it is there.
func (p *plan) close(fd result) { p.call(unix.SYS_CLOSE, fd).when(fd).mayFail() }

func (p *plan) open(path string, to result) *step {
	return p.call(unix.SYS_OPENAT, unix.AT_FDCWD, path, unix.O_RDONLY|unix.O_CLOEXEC).into(to)
}

// write writes a text to a file that exists. With may set, an error is ignored.
func (p *plan) write(path, text string, may bool) {
	fd := p.result()
	p.call(unix.SYS_OPENAT, unix.AT_FDCWD, path, unix.O_WRONLY|unix.O_CLOEXEC).into(fd).may = may
	p.call(unix.SYS_WRITE, fd, text, len(text)).when(fd).may = may
	p.close(fd)
}

// tmpfs mounts a file system in memory.
func (p *plan) tmpfs(at, options string) {
	p.call(unix.SYS_MOUNT, "tmpfs", at, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options)
}

// fix mounts a file or folder on itself, in the place of an earlier such mount. Without write set, nothing
// changes it.
func (p *plan) fix(path string, write bool) {
	p.call(unix.SYS_UMOUNT2, path, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW).mayFail()
	p.call(unix.SYS_MOUNT, path, path, 0, unix.MS_BIND, 0).fails(syscall.EAGAIN)
	if !write {
		attr := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
		p.call(unix.SYS_MOUNT_SETATTR, unix.AT_FDCWD, path, 0, unsafe.Pointer(attr), unsafe.Sizeof(*attr))
	}
}

// pivot makes the working directory, the root of a mount, the root of all.
func (p *plan) pivot() {
	p.call(unix.SYS_PIVOT_ROOT, ".", ".")
	p.call(unix.SYS_UMOUNT2, ".", unix.MNT_DETACH)
}

// join enters a namespace. A negative descriptor stands for none.
func (p *plan) join(fd, kind int) {
	if fd >= 0 {
		p.call(unix.SYS_SETNS, fd, kind)
	}
}

// keepUser has the user, who is not root, appear in the new user namespace of the process as before,
// and alone.
func (p *plan) keepUser() {
	// the files belong to root while the process is not dumpable
	p.call(unix.SYS_PRCTL, unix.PR_SET_DUMPABLE, 1).mayFail()
	p.write("/proc/self/setgroups", "deny", false)
	p.write("/proc/self/uid_map", fmt.Sprintf("%d %[1]d 1", os.Geteuid()), false)
	p.write("/proc/self/gid_map", fmt.Sprintf("%d %[1]d 1", os.Getegid()), false)
}

// needsUsers reports whether this user makes other namespaces in a user namespace only.
func needsUsers() bool { return os.Geteuid() != 0 }

//go:linkname beforeFork syscall.runtime_BeforeFork
func beforeFork()

//go:linkname afterFork syscall.runtime_AfterFork
func afterFork()

//go:linkname afterForkInChild syscall.runtime_AfterForkInChild
func afterForkInChild()

// fork starts the process and returns its id, or a negative errno. The process writes its reports to to.
//
//go:noinline
//go:norace
//go:nocheckptr
func (p *plan) fork(to uintptr) uintptr {
	beforeFork()
	pid := clone(p.flags, &p.pidfd)
	if pid != 0 {
		afterFork()
		return pid
	}
	afterForkInChild()
	p.run(to)
	return 0
}

// The functions below run in the forked process.

// clone is the system call. It returns the id of the child, 0 in the child, or a negative errno.
//
//go:nosplit
//go:norace
//go:nocheckptr
func clone(flags uintptr, pidfd *int32) uintptr {
	stack := uintptr(0)
	if runtime.GOARCH == "s390x" {
		flags, stack = stack, flags
	}
	pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, flags, stack,
		uintptr(unsafe.Pointer(pidfd)), 0, 0, 0)
	if errno != 0 {
		return -uintptr(errno)
	}
	return pid
}

// run carries out the steps, and tells the first error or the results.
//
//go:nosplit
//go:norace
//go:nocheckptr
func (p *plan) run(to uintptr) {
	var r report
	for i := range p.steps {
		s := &p.steps[i]
		if p.leavesOut(s) {
			continue
		}
		value, errno := p.perform(s)
		if s.call == syscall.SYS_CLONE && errno == 0 && value != 0 {
			r.next, r.pidfd = int32(value), p.pidfd
			break
		}
		if errno != 0 && !s.may && (!s.mayMiss || errno != syscall.ENOENT) {
			r.part, r.errno = s.part, uint32(errno)
			p.closeAll()
			break
		}
	}
	r.done = r.next == 0
	p.tell(&r, to)
	if p.answers && r.done && r.errno == 0 {
		answer(to)
	}
	for {
		syscall.RawSyscall(syscall.SYS_EXIT, 127, 0, 0)
	}
}

// tell adds the results to a report, and writes it.
//
//go:nosplit
//go:norace
//go:nocheckptr
func (p *plan) tell(r *report, to uintptr) {
	for i := range r.results {
		r.results[i] = -1
		if i < len(p.results) {
			r.results[i] = int32(p.results[i])
		}
	}
	syscall.RawSyscall(syscall.SYS_WRITE, to, uintptr(unsafe.Pointer(r)), unsafe.Sizeof(*r))
}

//go:nosplit
//go:norace
//go:nocheckptr
func (p *plan) leavesOut(s *step) bool {
	return s.given != 0 && p.results[s.given] == missing || s.unless != 0 && p.results[s.unless] != missing
}

// perform makes the call of a step.
//
//go:nosplit
//go:norace
//go:nocheckptr
func (p *plan) perform(s *step) (value uintptr, errno syscall.Errno) {
	a := s.args
	for i := range a {
		if s.refs&(1<<i) != 0 {
			a[i] = p.results[a[i]]
		}
	}
	if s.call == syscall.SYS_CLONE {
		if value = clone(a[0], &p.pidfd); int(value) < 0 {
			return missing, syscall.Errno(-value)
		}
		return value, 0
	}
	value, _, errno = syscall.RawSyscall6(s.call, a[0], a[1], a[2], a[3], a[4], a[5])
	switch {
	case errno != 0:
		value = missing
	case s.checked && value != s.want:
		errno = syscall.ESRCH
	case s.same != nil && !sameFile(&s.same[0], &s.same[1]):
		errno = syscall.ESTALE
	}
	if errno != 0 && s.as != 0 {
		errno = s.as
	}
	if s.to != 0 {
		p.results[s.to] = value
	}
	if s.call == syscall.SYS_CLOSE && s.refs != 0 {
		p.results[s.args[0]] = missing
	}
	return value, errno
}

//go:nosplit
//go:norace
func sameFile(a, b *unix.Statx_t) bool {
	return a.Ino == b.Ino && a.Dev_major == b.Dev_major && a.Dev_minor == b.Dev_minor
}

// closeAll closes the descriptors that steps have opened: the parent may share them. Calls that open
// nothing return 0, which is no new descriptor.
//
//go:nosplit
//go:norace
//go:nocheckptr
func (p *plan) closeAll() {
	for _, fd := range p.results {
		if fd != missing && fd != 0 {
			syscall.RawSyscall(syscall.SYS_CLOSE, fd, 0, 0)
		}
	}
}
