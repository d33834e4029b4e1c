package process

import (
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A launch starts a program inside a fence of its own. Between fork and exec the child
// restricts itself, which package syscall cannot do: a thread of the helper that shared
// the command's fence could be signalled by the command.
type launch struct {
	path       *byte
	argv, envp []*byte
	files      []uintptr // descriptors 0 and up of the program

	tty        bool            // descriptor 0 becomes its controlling terminal
	limits     []resourceLimit //
	bounding   []uintptr       // capabilities to drop
	noNewPrivs bool            //
	rules      int             // Landlock's; -1 for none
	private    *unix.SockFprog // filter of a program that has System V's IPC of its own; nil for none
	shared     *unix.SockFprog // filter of any other
	ownIPC     bool            // try to give the program an IPC namespace of its own

	net    *network     // nil for that of this process
	view   view         // the zero view for none
	joined bool         // the child begins in the view's PID namespace
	dir    *byte        // in a view, the working directory; nil without
	dot    *byte        // ".", after the change to dir
	was    unix.Statx_t // that directory as it is outside
	is     unix.Statx_t // and in the view
}

// A resourceLimit is a limit that the child sets for itself: the helper goes on with other
// commands, and could not live with some limits.
type resourceLimit struct {
	resource uintptr
	limit    unix.Rlimit
}

// The steps of a launch that can fail.
const (
	stepExec = iota
	stepFence
	stepFilter

	stepForked // no failure: errno is the id of the program's process
)

// failure is what a child reports through a pipe before it ends.
type failure struct{ step, errno uint32 }

// newLaunch returns a launch without a fence.
func newLaunch(spec Spec, files []uintptr) (l launch, err error) {
	if l.path, err = syscall.BytePtrFromString(spec.Path); err != nil {
		return l, err
	}
	if l.argv, err = syscall.SlicePtrFromStrings(spec.Args); err != nil {
		return l, err
	}
	l.envp, err = syscall.SlicePtrFromStrings(spec.Env)
	l.rules, l.files = -1, files
	return l, err
}

// highFD is above all descriptors that a program is given.
const highFD = 64

// atCWD is AT_FDCWD as system calls take it.
const atCWD = ^uintptr(99)

// start starts the program in its own session. The program is killed when this thread
// ends. pidfd becomes readable when the program ends; -1 if the kernel has none.
func (l launch) start() (pid, pidfd int, step uint32, err error) {
	var failed [2]int
	if err := unix.Pipe2(failed[:], unix.O_CLOEXEC); err != nil {
		return 0, -1, stepExec, err
	}
	defer unix.Close(failed[0])
	report, err := unix.FcntlInt(uintptr(failed[1]), unix.F_DUPFD_CLOEXEC, highFD)
	unix.Close(failed[1])
	if err != nil {
		return 0, -1, stepExec, err
	}
	sources := make([]uintptr, len(l.files))
	for i, file := range l.files {
		fd, err := unix.FcntlInt(file, unix.F_DUPFD_CLOEXEC, highFD)
		if err != nil {
			unix.Close(report)
			return 0, -1, stepExec, err
		}
		defer unix.Close(fd)
		sources[i] = uintptr(fd)
	}
	fd := int32(-1)
	leave := l.joinProcesses()
	child := l.fork(sources, uintptr(report), &fd, os.Getpid())
	leave()
	unix.Close(report)
	if int(child) < 0 {
		return 0, -1, stepExec, syscall.Errno(-int(child))
	}
	var f failure
	read := func() int {
		n, _ := descriptor(failed[0]).Read((*[8]byte)(unsafe.Pointer(&f))[:])
		return n
	}
	n := read()
	if f.step == stepForked {
		child = uintptr(f.errno)
		if pidfd, err := unix.PidfdOpen(int(child), 0); err == nil {
			fd = int32(pidfd)
		}
		n = read()
	}
	if n != 0 {
		awaitChild(int(child))
		if fd >= 0 {
			unix.Close(int(fd))
		}
		return 0, -1, f.step, syscall.Errno(f.errno)
	}
	return int(child), int(fd), 0, nil
}

//go:linkname beforeFork syscall.runtime_BeforeFork
func beforeFork()

//go:linkname afterFork syscall.runtime_AfterFork
func afterFork()

//go:linkname afterForkInChild syscall.runtime_AfterForkInChild
func afterForkInChild()

// joinProcesses has the next child of this thread start in the view's PID namespace; leave undoes
// that. It saves a fork, and does nothing for users other than root, who could not leave again.
func (l *launch) joinProcesses() (leave func()) {
	own := -1
	if l.view.first != 0 {
		own, _ = unix.Open("/proc/self/ns/pid", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	}
	back := func() error { return unix.Setns(own, unix.CLONE_NEWPID) }
	l.joined = back() == nil && unix.Setns(l.view.pids, unix.CLONE_NEWPID) == nil
	return func() {
		if l.joined {
			back()
		}
		unix.Close(own)
	}
}

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

// fork starts the child and returns its id, or a negative errno. In the child there is
// one thread and no runtime: nothing may be allocated there, and no stack may grow.
//
//go:noinline
//go:norace
//go:nocheckptr
func (l *launch) fork(files []uintptr, report uintptr, pidfd *int32, parent int) uintptr {
	var (
		f      failure
		errno  syscall.Errno
		filter *unix.SockFprog
	)
	path, argv, envp := uintptr(unsafe.Pointer(l.path)), uintptr(unsafe.Pointer(&l.argv[0])),
		uintptr(unsafe.Pointer(&l.envp[0]))
	flags := uintptr(syscall.SIGCHLD)
	again := l.view.first != 0 && !l.joined
	if !again {
		flags |= unix.CLONE_PIDFD
	}
	if l.view.first != 0 { // it is not seen there
		parent = 0
	}
	beforeFork()
	pid := clone(flags, pidfd)
	if pid != 0 {
		afterFork()
		return pid
	}
	afterForkInChild()
	if l.net != nil {
		if errno = enterNetwork(l.net.users, l.net.net); errno != 0 {
			goto failed
		}
	}
	if l.dir != nil {
		if errno = l.enterView(); errno != 0 {
			goto failed
		}
	}
	if again { // only a child of this one is in the PID namespace
		pid = clone(flags|unix.CLONE_PARENT, nil)
		if int(pid) < 0 {
			errno = syscall.Errno(-pid)
			goto failed
		}
		if pid != 0 {
			f.step, errno = stepForked, syscall.Errno(pid)
			goto failed
		}
	}
	syscall.RawSyscall(syscall.SYS_SETSID, 0, 0, 0)
	if _, _, errno = syscall.RawSyscall(syscall.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL),
		0); errno != 0 {
		goto failed
	}
	// ended before the line above
	if ppid, _, _ := syscall.RawSyscall(syscall.SYS_GETPPID, 0, 0, 0); int(ppid) != parent {
		goto failed
	}
	for i := range files {
		if _, _, errno = syscall.RawSyscall(syscall.SYS_DUP3, files[i], uintptr(i), 0); errno != 0 {
			goto failed
		}
	}
	if l.tty {
		syscall.RawSyscall(syscall.SYS_IOCTL, 0, unix.TIOCSCTTY, 0)
	}
	filter = l.shared
	if l.ownIPC {
		if _, _, errno = syscall.RawSyscall(syscall.SYS_UNSHARE, unix.CLONE_NEWIPC, 0, 0); errno == 0 {
			filter = l.private
		}
	}
	for i := range l.limits {
		syscall.RawSyscall6(unix.SYS_PRLIMIT64, 0, l.limits[i].resource,
			uintptr(unsafe.Pointer(&l.limits[i].limit)), 0, 0, 0)
	}
	for i := range l.bounding {
		syscall.RawSyscall(syscall.SYS_PRCTL, unix.PR_CAPBSET_DROP, l.bounding[i], 0)
	}
	f.step = stepFence
	if l.noNewPrivs {
		if _, _, errno = syscall.RawSyscall6(syscall.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0); errno != 0 {
			goto failed
		}
	}
	if l.rules >= 0 {
		if _, _, errno = syscall.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(l.rules), 0, 0); errno != 0 {
			goto failed
		}
	}
	f.step = stepFilter
	if filter != nil {
		if _, _, errno = syscall.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0,
			uintptr(unsafe.Pointer(filter))); errno != 0 {
			goto failed
		}
	}
	f.step = stepExec
	_, _, errno = syscall.RawSyscall(syscall.SYS_EXECVE, path, argv, envp)
failed:
	f.errno = uint32(errno)
	syscall.RawSyscall(syscall.SYS_WRITE, report, uintptr(unsafe.Pointer(&f)), unsafe.Sizeof(f))
	for {
		syscall.RawSyscall(syscall.SYS_EXIT, 127, 0, 0)
	}
}

// noteDir has the program find this process's working directory again in its view.
func (l *launch) noteDir() {
	path, err := unix.Getwd()
	if err == nil && path != "/" {
		err = unix.Statx(unix.AT_FDCWD, ".", unix.AT_NO_AUTOMOUNT, unix.STATX_INO, &l.was)
	}
	if err != nil { // it has been removed
		path = ""
	}
	l.dir, l.dot = cWord(path), cWord(".")
}

// enterView moves the child into the view, and there into its working directory, which
// must be the one that it had.
//
//go:nosplit
//go:norace
//go:nocheckptr
func (l *launch) enterView() (errno syscall.Errno) {
	if l.view.users >= 0 {
		if _, _, errno = syscall.RawSyscall(unix.SYS_SETNS, uintptr(l.view.users), unix.CLONE_NEWUSER, 0); errno != 0 {
			return errno
		}
	}
	if l.view.first != 0 && !l.joined {
		if _, _, errno = syscall.RawSyscall(unix.SYS_SETNS, uintptr(l.view.pids), unix.CLONE_NEWPID, 0); errno != 0 {
			return errno
		}
	}
	if _, _, errno = syscall.RawSyscall(unix.SYS_SETNS, uintptr(l.view.mounts), unix.CLONE_NEWNS, 0); errno != 0 {
		return errno
	}
	if _, _, errno = syscall.RawSyscall(syscall.SYS_CHDIR, uintptr(unsafe.Pointer(l.dir)), 0, 0); errno != 0 {
		return syscall.ESTALE
	}
	if l.was.Mask == 0 { // the view has a / of its own
		return 0
	}
	_, _, errno = syscall.RawSyscall6(unix.SYS_STATX, atCWD, uintptr(unsafe.Pointer(l.dot)),
		unix.AT_NO_AUTOMOUNT, unix.STATX_INO, uintptr(unsafe.Pointer(&l.is)), 0)
	if errno != 0 || l.is.Ino != l.was.Ino || l.is.Dev_major != l.was.Dev_major ||
		l.is.Dev_minor != l.was.Dev_minor {
		return syscall.ESTALE
	}
	return 0
}
