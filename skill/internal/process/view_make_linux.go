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

// A viewPlan is what the process that makes a view does. It is forked, as in [launch]: a
// user namespace is for processes of one thread only.
type viewPlan struct {
	ids   []idMap // of the user namespace; nil for root
	shown []shownPath
	dirs  []*byte // made first, as are files and links; relative to the new root
	files []*byte
	links []madeLink
}

type idMap struct {
	file *byte
	text []byte
}

type shownPath struct {
	path, target *byte // absolute, and relative to the new root
	tree         uintptr
}

type madeLink struct{ target, path *byte }

// cWord returns s, which holds no NUL, as the kernel takes it.
func cWord(s string) *byte { return &append([]byte(s), 0)[0] }

// idMaps returns how a user who is not root appears in the user namespace: as before, and
// alone.
func idMaps() []idMap {
	if os.Geteuid() == 0 {
		return nil
	}
	same := func(id int) []byte { return fmt.Appendf(nil, "%d %d 1", id, id) }
	return []idMap{
		{cWord("/proc/self/setgroups"), []byte("deny")},
		{cWord("/proc/self/uid_map"), same(os.Geteuid())},
		{cWord("/proc/self/gid_map"), same(os.Getegid())},
	}
}

// viewReport is what the process that makes a view writes before it ends.
type viewReport struct {
	made          uint32 // 1, or 0 with errno
	errno         uint32
	users, mounts int32
}

// errViewKilled says that the process that makes a view has not reported.
var errViewKilled = errors.New("the process that makes a view was killed")

func (p *viewPlan) make() (view, error) {
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return view{}, err
	}
	defer unix.Close(pipe[0])
	defer unix.Close(pipe[1]) // which the child shares
	child := p.fork(uintptr(pipe[1]))
	if int(child) < 0 {
		return view{}, syscall.Errno(-int(child))
	}
	awaitChild(int(child))
	var r viewReport
	if n, _ := descriptor(pipe[0]).Read((*[unsafe.Sizeof(r)]byte)(unsafe.Pointer(&r))[:]); n == 0 {
		return view{}, errViewKilled
	}
	if r.made == 0 {
		return view{}, syscall.Errno(r.errno)
	}
	return view{users: int(r.users), mounts: int(r.mounts)}, nil
}

func awaitChild(pid int) {
	err := error(syscall.EINTR)
	for err == syscall.EINTR {
		_, err = syscall.Wait4(pid, nil, 0, nil)
	}
}

// fork starts the process that makes the view, and returns its id, or a negative errno. The
// descriptors of the view appear among those of this process. In the child the rules of
// [launch.fork] hold.
//
//go:noinline
//go:norace
//go:nocheckptr
func (p *viewPlan) fork(report uintptr) uintptr {
	const (
		here     = ^uintptr(99) // AT_FDCWD
		treeFlag = unix.OPEN_TREE_CLONE | unix.AT_RECURSIVE | unix.AT_SYMLINK_NOFOLLOW | unix.O_CLOEXEC
	)
	var (
		r     viewReport
		errno syscall.Errno
		n     uintptr
		empty = cWord("")
		dot   = cWord(".")
		root  = cWord("/")
		base  = cWord("/proc") // hidden meanwhile
		tmpfs = cWord("tmpfs")
		mode  = cWord("mode=755")
		mnt   = cWord("/proc/self/ns/mnt")
		user  = cWord("/proc/self/ns/user")
	)
	flags, stack := uintptr(syscall.SIGCHLD)|unix.CLONE_FILES|unix.CLONE_NEWNS, uintptr(0)
	if p.ids != nil {
		flags |= unix.CLONE_NEWUSER
	}
	if runtime.GOARCH == "s390x" {
		flags, stack = stack, flags
	}
	beforeFork()
	pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, flags, stack, 0, 0, 0, 0)
	if pid != 0 || errno != 0 {
		afterFork()
		if errno != 0 {
			return -uintptr(errno)
		}
		return pid
	}
	afterForkInChild()
	syscall.RawSyscall(syscall.SYS_UMASK, 0, 0, 0)
	if p.ids != nil { // whose files belong to root while the process is not dumpable
		syscall.RawSyscall(syscall.SYS_PRCTL, unix.PR_SET_DUMPABLE, 1, 0)
	}
	for i := range p.ids {
		if n, _, errno = syscall.RawSyscall6(syscall.SYS_OPENAT, here, uintptr(unsafe.Pointer(p.ids[i].file)), unix.O_WRONLY|unix.O_CLOEXEC, 0, 0, 0); errno != 0 {
			goto failed
		}
		_, _, errno = syscall.RawSyscall(syscall.SYS_WRITE, n, uintptr(unsafe.Pointer(&p.ids[i].text[0])), uintptr(len(p.ids[i].text)))
		syscall.RawSyscall(syscall.SYS_CLOSE, n, 0, 0)
		if errno != 0 {
			goto failed
		}
	}
	// What the user mounts later appears here, too, and not the other way round.
	if _, _, errno = syscall.RawSyscall6(syscall.SYS_MOUNT, 0, uintptr(unsafe.Pointer(root)), 0, unix.MS_REC|unix.MS_SLAVE, 0, 0); errno != 0 {
		goto failed
	}
	for i := range p.shown {
		p.shown[i].tree, _, errno = syscall.RawSyscall(unix.SYS_OPEN_TREE, here, uintptr(unsafe.Pointer(p.shown[i].path)), treeFlag)
		if errno != 0 {
			p.shown[i].tree = ^uintptr(0)
		}
		if errno != 0 && errno != syscall.ENOENT {
			goto failed
		}
	}
	if _, _, errno = syscall.RawSyscall6(syscall.SYS_MOUNT, uintptr(unsafe.Pointer(tmpfs)), uintptr(unsafe.Pointer(base)), uintptr(unsafe.Pointer(tmpfs)), unix.MS_NOSUID|unix.MS_NODEV, uintptr(unsafe.Pointer(mode)), 0); errno != 0 {
		goto failed
	}
	if _, _, errno = syscall.RawSyscall(syscall.SYS_CHDIR, uintptr(unsafe.Pointer(base)), 0, 0); errno != 0 {
		goto failed
	}
	for i := range p.dirs {
		syscall.RawSyscall(syscall.SYS_MKDIRAT, here, uintptr(unsafe.Pointer(p.dirs[i])), 0o755)
	}
	for i := range p.files {
		syscall.RawSyscall6(syscall.SYS_MKNODAT, here, uintptr(unsafe.Pointer(p.files[i])), unix.S_IFREG|0o644, 0, 0, 0)
	}
	for i := range p.links {
		syscall.RawSyscall(syscall.SYS_SYMLINKAT, uintptr(unsafe.Pointer(p.links[i].target)), here, uintptr(unsafe.Pointer(p.links[i].path)))
	}
	for i := range p.shown {
		if p.shown[i].tree == ^uintptr(0) {
			continue
		}
		if _, _, errno = syscall.RawSyscall6(unix.SYS_MOVE_MOUNT, p.shown[i].tree, uintptr(unsafe.Pointer(empty)), here, uintptr(unsafe.Pointer(p.shown[i].target)), unix.MOVE_MOUNT_F_EMPTY_PATH, 0); errno != 0 {
			goto failed
		}
	}
	if _, _, errno = syscall.RawSyscall(syscall.SYS_PIVOT_ROOT, uintptr(unsafe.Pointer(dot)), uintptr(unsafe.Pointer(dot)), 0); errno != 0 {
		goto failed
	}
	if _, _, errno = syscall.RawSyscall(syscall.SYS_UMOUNT2, uintptr(unsafe.Pointer(dot)), unix.MNT_DETACH, 0); errno != 0 {
		goto failed
	}
	if _, _, errno = syscall.RawSyscall(syscall.SYS_CHDIR, uintptr(unsafe.Pointer(root)), 0, 0); errno != 0 {
		goto failed
	}
	r.users = -1
	if p.ids != nil {
		if n, _, errno = syscall.RawSyscall6(syscall.SYS_OPENAT, here, uintptr(unsafe.Pointer(user)), unix.O_RDONLY|unix.O_CLOEXEC, 0, 0, 0); errno != 0 {
			goto failed
		}
		r.users = int32(n)
	}
	if n, _, errno = syscall.RawSyscall6(syscall.SYS_OPENAT, here, uintptr(unsafe.Pointer(mnt)), unix.O_RDONLY|unix.O_CLOEXEC, 0, 0, 0); errno == 0 {
		r.mounts, r.made = int32(n), 1
	}
failed:
	r.errno = uint32(errno)
	for i := range p.shown {
		if int(p.shown[i].tree) > 0 {
			syscall.RawSyscall(syscall.SYS_CLOSE, p.shown[i].tree, 0, 0)
		}
	}
	syscall.RawSyscall(syscall.SYS_WRITE, report, uintptr(unsafe.Pointer(&r)), unsafe.Sizeof(r))
	for {
		syscall.RawSyscall(syscall.SYS_EXIT, 0, 0, 0)
	}
}
