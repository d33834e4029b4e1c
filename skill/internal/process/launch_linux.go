package process

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A launch starts a program inside a fence of its own. Between fork and exec the child
// restricts itself: a thread of the helper that shared the command's fence could be
// signalled by the command.
type launch struct {
	path       *byte
	argv, envp []*byte
	files      []uintptr // descriptors 0 and up of the program

	terminal   int             // becomes its controlling terminal; -1 for none
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
	dir    string       // in a view, the working directory; "" if that has been removed
	was    unix.Statx_t // that directory as it is outside
	stubs  []fenceRule  // see [guard.hold]
}

// A resourceLimit is a limit that the child sets for itself: the helper goes on with other
// commands, and could not live with some limits.
type resourceLimit struct {
	resource uintptr
	limit    unix.Rlimit
}

// The parts of a launch that can fail.
const (
	partExec = iota
	partFence
	partFilter
)

// newLaunch returns a launch without a fence.
func newLaunch(spec Spec, files []uintptr) (l launch, err error) {
	if l.path, err = syscall.BytePtrFromString(spec.Path); err != nil {
		return l, err
	}
	if l.argv, err = syscall.SlicePtrFromStrings(spec.Args); err != nil {
		return l, err
	}
	l.envp, err = syscall.SlicePtrFromStrings(spec.Env)
	l.rules, l.terminal, l.files = -1, -1, files
	return l, err
}

// highFD is above all descriptors that a program is given.
const highFD = 64

// start starts the program in its own session. The program is killed when this thread
// ends. pidfd becomes readable when the program ends; -1 if the kernel has none.
func (l launch) start() (pid, pidfd int, part uint32, err error) {
	var told [2]int
	if err := unix.Pipe2(told[:], unix.O_CLOEXEC); err != nil {
		return 0, -1, partExec, err
	}
	defer unix.Close(told[0])
	to, err := unix.FcntlInt(uintptr(told[1]), unix.F_DUPFD_CLOEXEC, highFD)
	unix.Close(told[1])
	if err != nil {
		return 0, -1, partExec, err
	}
	sources := make([]int, len(l.files))
	for i, file := range l.files {
		if sources[i], err = unix.FcntlInt(file, unix.F_DUPFD_CLOEXEC, highFD); err != nil {
			unix.Close(to)
			return 0, -1, partExec, err
		}
		defer unix.Close(sources[i])
	}
	leave := l.joinProcesses()
	p := l.plan(sources)
	child := int(p.fork(uintptr(to)))
	leave()
	unix.Close(to)
	if child < 0 {
		return 0, -1, partExec, syscall.Errno(-child)
	}
	pidfd = int(p.pidfd)
	var r report
	err = r.receive(told[0])
	if r.next != 0 {
		child = int(r.next)
		if pidfd, err = unix.PidfdOpen(child, 0); err != nil {
			pidfd = -1
		}
		r = report{}
		err = r.receive(told[0])
	}
	if err != errKilled { // or else it runs the program, which tells nothing
		awaitChild(child)
		if pidfd >= 0 {
			unix.Close(pidfd)
		}
		return 0, -1, r.part, err
	}
	return child, pidfd, partExec, nil
}

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

// plan returns what the child does. sources are the files that become its descriptors 0 and up.
func (l *launch) plan(sources []int) *plan {
	p, parent := newPlan(int(syscall.SIGCHLD)), os.Getpid()
	again := l.view.first != 0 && !l.joined
	if !again {
		p.flags |= unix.CLONE_PIDFD
	}
	if l.net != nil {
		p.join(l.net.users, unix.CLONE_NEWUSER)
		p.join(l.net.net, unix.CLONE_NEWNET)
	}
	if l.view.key != "" {
		l.enterView(p)
	}
	if again { // only a child of this one is in the PID namespace
		p.call(unix.SYS_CLONE, p.flags|unix.CLONE_PARENT)
	}
	if l.view.first != 0 { // it is not seen there
		parent = 0
	}
	p.call(unix.SYS_SETSID).mayFail()
	p.call(unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, int(syscall.SIGKILL))
	p.call(unix.SYS_GETPPID).returns(uintptr(parent)) // or the parent has ended before the line above
	for i, fd := range sources {
		p.call(unix.SYS_DUP3, fd, i, 0)
	}
	if l.terminal >= 0 {
		p.call(unix.SYS_IOCTL, l.terminal, unix.TIOCSCTTY, 0).mayFail()
	}
	l.restrict(p)
	p.part = partExec
	p.call(unix.SYS_EXECVE, unsafe.Pointer(l.path), unsafe.Pointer(&l.argv[0]), unsafe.Pointer(&l.envp[0]))
	return p
}

// restrict has the child restrict itself.
func (l *launch) restrict(p *plan) {
	ownIPC := p.result()
	if l.ownIPC {
		p.call(unix.SYS_UNSHARE, unix.CLONE_NEWIPC).into(ownIPC).mayFail()
	}
	for i := range l.limits {
		p.call(unix.SYS_PRLIMIT64, 0, l.limits[i].resource, unsafe.Pointer(&l.limits[i].limit), 0).mayFail()
	}
	for _, capability := range l.bounding {
		p.call(unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, capability).mayFail()
	}
	p.part = partFence
	if l.noNewPrivs {
		p.call(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1)
	}
	if l.rules >= 0 {
		p.call(unix.SYS_LANDLOCK_RESTRICT_SELF, l.rules, 0)
	}
	p.part = partFilter
	if l.private != nil {
		p.call(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, unsafe.Pointer(l.private)).when(ownIPC)
	}
	if l.shared != nil {
		p.call(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, unsafe.Pointer(l.shared)).without(ownIPC)
	}
}

// enterView moves the child into the view, and there into its working directory, which
// must be the one that it had.
func (l *launch) enterView(p *plan) {
	p.join(l.view.users, unix.CLONE_NEWUSER)
	if l.view.first != 0 && !l.joined {
		p.join(l.view.pids, unix.CLONE_NEWPID)
	}
	p.join(l.view.mounts, unix.CLONE_NEWNS)
	for _, s := range l.stubs {
		p.fix(s.path, s.write)
	}
	p.call(unix.SYS_CHDIR, l.dir).fails(syscall.ESTALE)
	if l.was.Mask != 0 { // or else the view has a / of its own
		p.is(unix.AT_FDCWD, ".", l.was).fails(syscall.ESTALE)
	}
}

// noteDir has the program find this process's working directory again in its view.
func (l *launch) noteDir() {
	path, err := unix.Getwd()
	if err == nil && path != "/" {
		err = unix.Statx(unix.AT_FDCWD, ".", unix.AT_NO_AUTOMOUNT, unix.STATX_INO, &l.was)
	}
	if err == nil {
		l.dir = path
	}
}
