package process

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A viewPlan is what the process that makes a view does. It is forked, as in [launch]: a
// user namespace is for processes of one thread only.
type viewPlan struct {
	ids    []textFor // of the user namespace that is made; nil for none
	within int       // the user namespace of a [network], in its place; -1 for none
	mount  int       // the mount namespace of a network; -1 for none
	pids   bool      // with a PID namespace, whose first process this one is from then on
	// the id before the ids of commands, for not all may begin with 2: files are named by ids
	last  textFor
	shown []shownPath
	dirs  []*byte // made first, as are files and links; relative to the new root
	files []*byte
	links []madeLink
}

// A textFor is what is written to a file.
type textFor struct {
	file *byte
	text []byte
}

type shownPath struct {
	path, target *byte // absolute, and relative to the new root
	tree         uintptr
	proc         bool // it is /proc; a PID namespace has its own
	write        bool // commands change what is in it; all else is mounted read-only

	fixed    bool // it lies where commands write: it is mounted only if it is still this one
	dev, ino uint64
	is       unix.Statx_t

	own   int     // one more than the index in [ownDirs]; path is its name in the network then
	below []entry // of the one that is own: what others are mounted in
}

// An entry is a file or directory of an own directory. Commands could put a link in its place, or
// rename it, so a mount of the view lies on it.
type entry struct {
	name, target *byte // alone, and relative to the new root
	dir          bool
	tree         uintptr // the mount that lies on it
	link         *byte   // its target, if it is a symbolic link
}

type madeLink struct{ target, path *byte }

// cWord returns s, which holds no NUL, as the kernel takes it.
func cWord(s string) *byte { return &append([]byte(s), 0)[0] }

// idMaps returns how a user who is not root appears in the user namespace: as before, and
// alone.
func idMaps() []textFor {
	if os.Geteuid() == 0 {
		return nil
	}
	same := func(id int) []byte { return fmt.Appendf(nil, "%d %d 1", id, id) }
	return []textFor{
		{cWord("/proc/self/setgroups"), []byte("deny")},
		{cWord("/proc/self/uid_map"), same(os.Geteuid())},
		{cWord("/proc/self/gid_map"), same(os.Getegid())},
	}
}

// viewReport is what the process that makes a view says of it.
type viewReport struct {
	made                      bool // or else errno is set
	errno                     uint32
	users, mounts, pids, proc int32
	own                       [len(ownDirs)]int32 // 0 for none

	next, pidfd int32 // not 0: the process that reports next, for this one could only fork it
}

// errViewKilled says that the process that makes a view has not reported.
var errViewKilled = errors.New("the process that makes a view was killed")

func (p *viewPlan) make() (view, error) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return view{}, err
	}
	defer unix.Close(ends[1]) // which the child shares
	first := processes{socket: ends[0], pids: -1, proc: -1}
	child := p.fork(uintptr(ends[1]), &first.pidfd)
	if int(child) < 0 {
		unix.Close(ends[0])
		return view{}, syscall.Errno(-int(child))
	}
	first.first = int(child)
	r, err := first.report()
	if r.next > 0 {
		unix.Close(int(first.pidfd))
		awaitChild(first.first)
		first.first, first.pidfd = int(r.next), r.pidfd
		r, err = first.report()
	}
	if !r.made || !p.pids {
		first.close()
	}
	if !r.made {
		return view{}, err
	}
	first.pids, first.proc = int(r.pids), int(r.proc)
	return view{users: int(r.users), mounts: int(r.mounts), own: r.own, processes: first}, nil
}

// report returns what the process that makes the view reports, or an error if it ended before.
func (p *processes) report() (r viewReport, err error) {
	fds := []unix.PollFd{{Fd: int32(p.socket), Events: unix.POLLIN}, {Fd: p.pidfd, Events: unix.POLLIN}}
	for fds[0].Revents == 0 && fds[1].Revents == 0 {
		unix.Poll(fds, -1)
	}
	if fds[0].Revents == 0 {
		return r, errViewKilled
	}
	descriptor(p.socket).Read((*[unsafe.Sizeof(r)]byte)(unsafe.Pointer(&r))[:])
	return r, syscall.Errno(r.errno)
}

func awaitChild(pid int) {
	err := error(syscall.EINTR)
	for err == syscall.EINTR {
		_, err = syscall.Wait4(pid, nil, unix.WALL, nil)
	}
}

// fork starts the process that makes the view, and returns its id, or a negative errno. The
// descriptors of the view appear among the descriptors of this process. In the child the rules of
// [launch.fork] hold.
//
//go:noinline
//go:norace
//go:nocheckptr
func (p *viewPlan) fork(report uintptr, pidfd *int32) uintptr {
	const treeFlag = unix.OPEN_TREE_CLONE | unix.AT_RECURSIVE | unix.AT_SYMLINK_NOFOLLOW | unix.O_CLOEXEC
	var (
		r     = viewReport{users: -1}
		errno syscall.Errno
		empty = cWord("")
		dot   = cWord(".")
		root  = cWord("/")
		base  = cWord("/proc") // hidden meanwhile
		tmpfs = cWord("tmpfs")
		mode  = cWord("mode=755")
		ready = cWord(viewRoot)
		mnt   = cWord("/proc/self/ns/mnt")
		user  = cWord("/proc/self/ns/user")
		pids  = cWord("/proc/self/ns/pid")
		proc  = cWord("proc")
		fixed = unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	)
	// and no signal at its end: see [helper.reap]
	flags := uintptr(unix.CLONE_FILES | unix.CLONE_NEWNS | unix.CLONE_PIDFD)
	if p.ids != nil {
		flags |= unix.CLONE_NEWUSER
	}
	if p.pids {
		flags |= unix.CLONE_NEWPID
	}
	begin := flags
	if p.within >= 0 {
		begin = unix.CLONE_FILES | unix.CLONE_PIDFD
	}
	beforeFork()
	if pid := clone(begin, pidfd); pid != 0 {
		afterFork()
		return pid
	}
	afterForkInChild()
	if p.within >= 0 {
		if errno = p.forkWithin(flags, pidfd, &r); errno != 0 {
			goto failed
		}
		if r.next != 0 {
			syscall.RawSyscall(syscall.SYS_WRITE, report, uintptr(unsafe.Pointer(&r)), unsafe.Sizeof(r))
			for {
				syscall.RawSyscall(syscall.SYS_EXIT, 0, 0, 0)
			}
		}
	}
	syscall.RawSyscall(syscall.SYS_UMASK, 0, 0, 0)
	if p.ids != nil { // whose files belong to root while the process is not dumpable
		syscall.RawSyscall(syscall.SYS_PRCTL, unix.PR_SET_DUMPABLE, 1, 0)
	}
	for i := range p.ids {
		if errno = p.ids[i].write(); errno != 0 {
			goto failed
		}
	}
	if p.pids {
		p.last.write()
	}
	// Later mounts of the user appear here, too, and not the other way round.
	if _, _, errno = syscall.RawSyscall6(syscall.SYS_MOUNT, 0, uintptr(unsafe.Pointer(root)), 0,
		unix.MS_REC|unix.MS_SLAVE, 0, 0); errno != 0 {
		goto failed
	}
	for i := range p.shown {
		if p.shown[i].own > 0 {
			p.shown[i].tree = ^uintptr(0)
			continue
		}
		if p.shown[i].proc {
			p.shown[i].tree, errno = mountProc(proc)
			r.proc = int32(p.shown[i].tree)
		} else {
			p.shown[i].tree, _, errno = syscall.RawSyscall(unix.SYS_OPEN_TREE, atCWD,
				uintptr(unsafe.Pointer(p.shown[i].path)), treeFlag)
		}
		if errno == 0 && p.shown[i].fixed && !p.shown[i].isSame(empty) {
			errno = syscall.EAGAIN
			goto failed
		}
		if errno != 0 {
			p.shown[i].tree = ^uintptr(0)
		}
		if errno != 0 && errno != syscall.ENOENT {
			goto failed
		}
		if errno == 0 && !p.shown[i].write && !p.shown[i].proc {
			_, _, errno = syscall.RawSyscall6(unix.SYS_MOUNT_SETATTR, p.shown[i].tree,
				uintptr(unsafe.Pointer(empty)), unix.AT_EMPTY_PATH|unix.AT_RECURSIVE,
				uintptr(unsafe.Pointer(&fixed)), unsafe.Sizeof(fixed), 0)
			if errno != 0 {
				goto failed
			}
		}
	}
	if p.mount >= 0 {
		base = ready
		if errno = p.enterOwn(empty, &r); errno != 0 {
			goto failed
		}
	}
	if errno = mountTmpfs(tmpfs, base, mode); errno != 0 {
		goto failed
	}
	if _, _, errno = syscall.RawSyscall(syscall.SYS_CHDIR, uintptr(unsafe.Pointer(base)), 0, 0); errno != 0 {
		goto failed
	}
	for i := range p.dirs {
		syscall.RawSyscall(syscall.SYS_MKDIRAT, atCWD, uintptr(unsafe.Pointer(p.dirs[i])), 0o755)
	}
	for i := range p.files {
		syscall.RawSyscall6(syscall.SYS_MKNODAT, atCWD, uintptr(unsafe.Pointer(p.files[i])),
			unix.S_IFREG|0o644, 0, 0, 0)
	}
	for i := range p.links {
		syscall.RawSyscall(syscall.SYS_SYMLINKAT, uintptr(unsafe.Pointer(p.links[i].target)), atCWD,
			uintptr(unsafe.Pointer(p.links[i].path)))
	}
	for i := range p.shown {
		if p.shown[i].tree == ^uintptr(0) {
			continue
		}
		if p.shown[i].own > 0 {
			if errno = p.shown[i].placeOwn(empty, &fixed); errno != 0 {
				goto failed
			}
			continue
		}
		if errno = moveMount(p.shown[i].tree, atCWD, empty, p.shown[i].target); errno != 0 {
			if p.shown[i].fixed { // it was replaced just now
				errno = syscall.EAGAIN
			}
			goto failed
		}
	}
	if errno = pivot(dot); errno != 0 {
		goto failed
	}
	if _, _, errno = syscall.RawSyscall(syscall.SYS_CHDIR, uintptr(unsafe.Pointer(root)), 0, 0); errno != 0 {
		goto failed
	}
	if p.ids != nil {
		if r.users, errno = openNamespace(user); errno != 0 {
			goto failed
		}
	}
	if p.pids {
		if r.pids, errno = openNamespace(pids); errno != 0 {
			goto failed
		}
	}
	r.mounts, errno = openNamespace(mnt)
failed:
	for i := range p.shown {
		if int(p.shown[i].tree) > 0 && !((p.shown[i].proc || p.shown[i].own > 0) && errno == 0) {
			syscall.RawSyscall(syscall.SYS_CLOSE, p.shown[i].tree, 0, 0)
		}
	}
	if errno == 0 && p.pids {
		errno = becomeFirst(report)
	}
	r.made, r.errno = errno == 0, uint32(errno)
	syscall.RawSyscall(syscall.SYS_WRITE, report, uintptr(unsafe.Pointer(&r)), unsafe.Sizeof(r))
	if r.made && p.pids {
		answer(report)
	}
	for {
		syscall.RawSyscall(syscall.SYS_EXIT, 0, 0, 0)
	}
}

// enterOwn moves this process into a copy of the network's mount namespace, and opens what is own there.
//
//go:nosplit
//go:norace
//go:nocheckptr
func (p *viewPlan) enterOwn(empty *byte, r *viewReport) (errno syscall.Errno) {
	if _, _, errno = syscall.RawSyscall(unix.SYS_SETNS, uintptr(p.mount), unix.CLONE_NEWNS, 0); errno != 0 {
		return errno
	}
	if _, _, errno = syscall.RawSyscall(syscall.SYS_UNSHARE, unix.CLONE_NEWNS, 0, 0); errno != 0 {
		return errno
	}
	for i := range p.shown {
		s := &p.shown[i]
		if s.own == 0 {
			continue
		}
		s.tree, _, errno = syscall.RawSyscall(unix.SYS_OPEN_TREE, atCWD, uintptr(unsafe.Pointer(s.path)),
			unix.OPEN_TREE_CLONE|unix.AT_SYMLINK_NOFOLLOW|unix.O_CLOEXEC)
		if errno != 0 {
			s.tree = ^uintptr(0)
			return errno
		}
		r.own[s.own-1] = int32(s.tree)
	}
	return 0
}

// placeOwn mounts an own directory, and in it what the view has there.
//
//go:nosplit
//go:norace
//go:nocheckptr
func (s *shownPath) placeOwn(empty *byte, fixed *unix.MountAttr) (errno syscall.Errno) {
	for i := range s.below {
		e := &s.below[i]
		if e.link != nil {
			continue
		}
		if e.tree, _, errno = syscall.RawSyscall(unix.SYS_OPEN_TREE, atCWD, uintptr(unsafe.Pointer(e.target)),
			unix.OPEN_TREE_CLONE|unix.AT_SYMLINK_NOFOLLOW|unix.O_CLOEXEC); errno != 0 {
			return errno
		}
		if _, _, errno = syscall.RawSyscall6(unix.SYS_MOUNT_SETATTR, e.tree, uintptr(unsafe.Pointer(empty)),
			unix.AT_EMPTY_PATH, uintptr(unsafe.Pointer(fixed)), unsafe.Sizeof(*fixed), 0); errno != 0 {
			return errno
		}
	}
	if errno = moveMount(s.tree, atCWD, empty, s.target); errno != 0 {
		return errno
	}
	for i := range s.below {
		e := &s.below[i]
		if e.link != nil {
			syscall.RawSyscall(syscall.SYS_SYMLINKAT, uintptr(unsafe.Pointer(e.link)), s.tree,
				uintptr(unsafe.Pointer(e.name)))
			continue
		}
		for again := 0; again < 2; again++ {
			if e.dir {
				syscall.RawSyscall(syscall.SYS_MKDIRAT, s.tree, uintptr(unsafe.Pointer(e.name)), 0o755)
			} else {
				syscall.RawSyscall6(syscall.SYS_MKNODAT, s.tree, uintptr(unsafe.Pointer(e.name)),
					unix.S_IFREG|0o644, 0, 0, 0)
			}
			if errno = moveMount(e.tree, s.tree, empty, e.name); errno == 0 {
				break
			}
			// a command has put something else there
			syscall.RawSyscall(syscall.SYS_UNLINKAT, s.tree, uintptr(unsafe.Pointer(e.name)), 0)
		}
		syscall.RawSyscall(syscall.SYS_CLOSE, e.tree, 0, 0)
		if errno != 0 {
			return syscall.EAGAIN
		}
	}
	return 0
}

// isSame reports whether the tree of s is the file that was to be shown.
//
//go:nosplit
//go:norace
//go:nocheckptr
func (s *shownPath) isSame(empty *byte) bool {
	_, _, errno := syscall.RawSyscall6(unix.SYS_STATX, s.tree, uintptr(unsafe.Pointer(empty)),
		unix.AT_EMPTY_PATH|unix.AT_NO_AUTOMOUNT, unix.STATX_INO, uintptr(unsafe.Pointer(&s.is)), 0)
	return errno == 0 && s.is.Ino == s.ino && unix.Mkdev(s.is.Dev_major, s.is.Dev_minor) == s.dev
}

// moveMount mounts a tree that has no place yet. It follows no link at the end of at.
//
//go:nosplit
//go:norace
//go:nocheckptr
func moveMount(tree, dir uintptr, empty, at *byte) syscall.Errno {
	_, _, errno := syscall.RawSyscall6(unix.SYS_MOVE_MOUNT, tree, uintptr(unsafe.Pointer(empty)), dir,
		uintptr(unsafe.Pointer(at)), unix.MOVE_MOUNT_F_EMPTY_PATH, 0)
	return errno
}

// forkWithin moves this process into the user namespace p.within and forks there. In the parent it
// sets r.next. Both processes have the same parent.
//
//go:nosplit
//go:norace
//go:nocheckptr
func (p *viewPlan) forkWithin(flags uintptr, pidfd *int32, r *viewReport) (errno syscall.Errno) {
	if _, _, errno = syscall.RawSyscall(unix.SYS_SETNS, uintptr(p.within), unix.CLONE_NEWUSER, 0); errno != 0 {
		return errno
	}
	pid := clone(flags|unix.CLONE_PARENT, pidfd)
	if int(pid) < 0 {
		return syscall.Errno(-pid)
	}
	r.next, r.pidfd = int32(pid), *pidfd
	return 0
}
