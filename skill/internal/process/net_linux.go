package process

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A network is what the commands and servers of a workspace have in common: a network namespace
// with a loopback interface and no other, where they meet each other and nothing else, and a mount
// namespace with the [ownDirs]. The owner of its user namespace may configure it from outside, but
// only a process inside makes sockets. Sockets stay inside, wherever they are sent.
type network struct {
	users int    // the user namespace that owns it; -1 for root, who needs none
	mount int    // the mount namespace
	net   int    // the network namespace; -1 for commands that use the network of this machine
	ino   uint64 // the number of the mount namespace, which no other has while this one exists
}

// ownDirs are the directories that commands have in memory. In the mount namespace of a [network]
// they have the names in ownNames.
var (
	ownDirs  = [...]string{"/tmp", "/dev/shm"}
	ownNames = [...]string{"/.own-tmp", "/.own-shm"}
)

// alone reports whether n has a network namespace. A nil network has none.
func (n *network) alone() bool { return n != nil && n.net >= 0 }

func (n *network) close() {
	for _, fd := range n.files() {
		unix.Close(fd)
	}
}

// files returns the descriptors of n in the order in which they are sent.
func (n *network) files() []int {
	return slices.DeleteFunc([]int{n.mount, n.users, n.net}, func(fd int) bool { return fd < 0 })
}

// places returns the descriptors that a helper needs to make sockets in n.
func (n *network) places() []int {
	return slices.DeleteFunc([]int{n.net, n.users}, func(fd int) bool { return fd < 0 })
}

// networkOf returns the network of descriptors that came from another process. On an error it
// closes them. A command could have sent them: it refuses every network that is not empty and
// every network that a command may configure.
func networkOf(fds []int) (*network, error) {
	n := &network{users: -1, mount: -1, net: -1}
	to := []*int{&n.mount, &n.users, &n.net}
	if idMaps() == nil {
		to = []*int{&n.mount, &n.net}
	}
	err := fmt.Errorf("%d descriptors came", len(fds))
	if len(fds) == len(to) || len(fds) == len(to)-1 {
		for i, fd := range fds {
			*to[i] = fd
		}
		err = n.check()
	}
	if err != nil {
		for _, fd := range fds {
			unix.Close(fd)
		}
		return nil, fmt.Errorf("network: %w", err)
	}
	return n, nil
}

// check sets the number of n. It fails unless a helper of this user has made n.
func (n *network) check() (err error) {
	if n.ino, err = apartFrom("mnt", n.mount, unix.CLONE_NEWNS); err != nil {
		return err
	}
	if n.net >= 0 {
		if _, err = apartFrom("net", n.net, unix.CLONE_NEWNET); err != nil {
			return err
		}
	}
	owner, err := numberOf("/proc/self/ns/user")
	if err != nil {
		return err
	}
	if n.users >= 0 {
		parent := owner
		if owner, err = namespace(n.users, unix.CLONE_NEWUSER); err != nil {
			return err
		}
		if above, err := related(n.users, unix.NS_GET_PARENT); err != nil || above != parent {
			return errors.Join(err, errors.New("a command has made its user namespace"))
		}
	}
	for _, fd := range []int{n.mount, n.net} {
		if fd < 0 {
			continue
		}
		if has, err := related(fd, unix.NS_GET_USERNS); err != nil || has != owner {
			return errors.Join(err, errors.New("another user namespace owns it"))
		}
	}
	return nil
}

// apartFrom returns the number of a namespace of a kind. It fails if this process is in it.
func apartFrom(name string, fd, kind int) (number uint64, err error) {
	own, err := numberOf("/proc/self/ns/" + name)
	if err == nil {
		number, err = namespace(fd, kind)
	}
	if err == nil && number == own {
		err = errors.New("it is that of this machine")
	}
	return number, err
}

// namespace returns the number of a namespace, or an error if fd is not one of that kind.
func namespace(fd, kind int) (uint64, error) {
	if got, err := unix.IoctlRetInt(fd, unix.NS_GET_NSTYPE); err != nil || got != kind {
		return 0, errors.Join(err, errors.New("it is another kind of file"))
	}
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	return st.Ino, err
}

// related returns the number of the namespace that an ioctl of fd leads to.
func related(fd int, request uint) (uint64, error) {
	to, err := unix.IoctlRetInt(fd, request)
	if err != nil {
		return 0, err
	}
	defer unix.Close(to)
	var st unix.Stat_t
	err = unix.Fstat(to, &st)
	return st.Ino, err
}

func numberOf(path string) (uint64, error) {
	var st unix.Stat_t
	err := unix.Stat(path, &st)
	return st.Ino, err
}

// newNetwork makes a network, in a helper: the process that forks is small and holds no credentials.
// Without alone it has no network namespace.
func newNetwork(alone bool) (*network, error) {
	p := &netPlan{fresh: true, alone: alone, ids: idMaps()}
	if alone {
		p.low = textFor{cWord("/proc/sys/net/ipv4/ip_unprivileged_port_start"), []byte("0")}
		p.kinds = []socketKind{udp4}
	}
	r, err := p.run()
	if err != nil {
		return nil, err
	}
	n := &network{users: int(r.users), mount: int(r.mount), net: int(r.net)}
	if alone {
		defer unix.Close(int(r.made[0]))
		if err := raiseLoopback(int(r.made[0])); err != nil {
			n.close()
			return nil, err
		}
	}
	return networkOf(n.files())
}

// raiseLoopback sets up the loopback interface of a socket's network.
func raiseLoopback(socket int) error {
	up, err := unix.NewIfreq("lo")
	if err == nil {
		up.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
		err = unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, up)
	}
	return err
}

// A socketKind is a kind of file that is made in a network.
type socketKind int32

const (
	tcp4 socketKind = iota
	tcp6
	udp4
	table4 // not a socket: the table of the sockets of TCP
	table6
)

// maxSockets is how many files a netPlan makes.
const maxSockets = 8

// sockets makes files in n. The caller closes them. In a helper only.
func (n *network) sockets(kinds ...socketKind) (fds []int, err error) {
	r, err := (&netPlan{users: n.users, net: n.net, kinds: kinds}).run()
	if err != nil {
		return nil, err
	}
	for i := range kinds {
		fds = append(fds, int(r.made[i]))
	}
	return fds, nil
}

// A netPlan is the work of a forked process: to make a network, or files in one.
type netPlan struct {
	fresh      bool      // make a network
	alone      bool      // with a network namespace
	low        textFor   // lets every user listen on ports below 1024 in it
	ids        []textFor // of its user namespace; nil for root
	users, net int       // the network to enter, if not fresh
	kinds      []socketKind
}

type netReport struct {
	done  bool // or else the process was killed
	errno uint32
	users int32
	mount int32
	net   int32
	made  [maxSockets]int32
}

// run forks the process and waits for its end. Its descriptors appear among the descriptors of this one.
func (p *netPlan) run() (r netReport, err error) {
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return r, err
	}
	defer unix.Close(ends[0])
	defer unix.Close(ends[1]) // the child shares it, so that it stays open
	child := p.fork(uintptr(ends[1]))
	if int(child) < 0 {
		return r, syscall.Errno(-int(child))
	}
	awaitChild(int(child))
	descriptor(ends[0]).Read((*[unsafe.Sizeof(r)]byte)(unsafe.Pointer(&r))[:])
	switch {
	case !r.done:
		return r, errViewKilled
	case r.errno == 0:
		return r, nil
	}
	for _, fd := range append(r.made[:], r.net, r.users, r.mount) {
		if fd > 0 {
			unix.Close(int(fd))
		}
	}
	return r, syscall.Errno(r.errno)
}

// fork starts the process and returns its id, or a negative errno. In the child the rules of
// [launch.fork] hold.
//
//go:noinline
//go:norace
//go:nocheckptr
func (p *netPlan) fork(report uintptr) uintptr {
	var (
		r      = netReport{users: -1, mount: -1, net: -1}
		errno  syscall.Errno
		user   = cWord("/proc/self/ns/user")
		net    = cWord("/proc/self/ns/net")
		dirs   = newOwnPlan()
		null   = cWord(os.DevNull)
		tables = [2]*byte{cWord("/proc/self/net/tcp"), cWord("/proc/self/net/tcp6")}
		family = [3]uintptr{unix.AF_INET, unix.AF_INET6, unix.AF_INET}
		typ    = [3]uintptr{unix.SOCK_STREAM, unix.SOCK_STREAM, unix.SOCK_DGRAM}
	)
	flags := uintptr(unix.CLONE_FILES) // and no signal at its end: see [helper.reap]
	if p.fresh {
		flags |= unix.CLONE_NEWNS
	}
	if p.alone {
		flags |= unix.CLONE_NEWNET
	}
	if p.ids != nil {
		flags |= unix.CLONE_NEWUSER
	}
	beforeFork()
	if pid := clone(flags, nil); pid != 0 {
		afterFork()
		return pid
	}
	afterForkInChild()
	if p.ids != nil { // whose files belong to root while the process is not dumpable
		syscall.RawSyscall(syscall.SYS_PRCTL, unix.PR_SET_DUMPABLE, 1, 0)
	}
	for i := range p.ids {
		if errno = p.ids[i].write(); errno != 0 {
			goto done
		}
	}
	if !p.fresh {
		if errno = enterNetwork(p.users, p.net); errno != 0 {
			goto done
		}
	} else {
		if p.ids != nil {
			if r.users, errno = openNamespace(user); errno != 0 {
				goto done
			}
		}
		if p.alone {
			p.low.write() // fails where /proc is read-only; then low ports stay root's
			if r.net, errno = openNamespace(net); errno != 0 {
				goto done
			}
		}
		if r.mount, errno = dirs.make(); errno != 0 {
			goto done
		}
	}
	for i := range p.kinds {
		k := p.kinds[i]
		if k >= table4 {
			r.made[i], errno = openNamespace(tables[k-table4])
		} else {
			fd, _, e := syscall.RawSyscall(unix.SYS_SOCKET, family[k],
				typ[k]|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
			r.made[i], errno = int32(fd), e
		}
		if errno != 0 && (k == tcp6 || k == table6) { // this kernel has no IPv6: nothing is reached with it
			r.made[i], errno = openNamespace(null)
		}
		if errno != 0 {
			r.made[i] = 0
			goto done
		}
	}
done:
	r.errno, r.done = uint32(errno), true
	syscall.RawSyscall(syscall.SYS_WRITE, report, uintptr(unsafe.Pointer(&r)), unsafe.Sizeof(r))
	for {
		syscall.RawSyscall(syscall.SYS_EXIT, 0, 0, 0)
	}
}

// enterNetwork moves a process of one thread into a network.
//
//go:nosplit
//go:norace
//go:nocheckptr
func enterNetwork(users, net int) (errno syscall.Errno) {
	if users >= 0 {
		if _, _, errno = syscall.RawSyscall(unix.SYS_SETNS, uintptr(users), unix.CLONE_NEWUSER, 0); errno != 0 {
			return errno
		}
	}
	if net >= 0 {
		_, _, errno = syscall.RawSyscall(unix.SYS_SETNS, uintptr(net), unix.CLONE_NEWNET, 0)
	}
	return errno
}

// An ownPlan is how the mount namespace of a network is made. Its root has the [ownDirs], a place
// for the root of a view, and nothing else.
type ownPlan struct {
	root, tmpfs, mode, option *byte // of the file systems
	at, mount, here           *byte
	names                     [len(ownNames)]*byte // relative to the new root
	view                      *byte
}

// viewRoot is where the root of a view is made in the mount namespace of a network.
const viewRoot = "/.view"

func newOwnPlan() ownPlan {
	p := ownPlan{
		root: cWord("/"), tmpfs: cWord("tmpfs"), mode: cWord("mode=755"), option: cWord("mode=1777,size=25%"),
		at: cWord("/proc"), mount: cWord("/proc/self/ns/mnt"), here: cWord("."), view: cWord(viewRoot[1:]),
	}
	for i, name := range ownNames {
		p.names[i] = cWord(name[1:])
	}
	return p
}

// make turns the mount namespace of this process into that of a network, and returns it. The rules
// of [launch.fork] hold.
//
//go:nosplit
//go:norace
//go:nocheckptr
func (p *ownPlan) make() (fd int32, errno syscall.Errno) {
	if fd, errno = openNamespace(p.mount); errno != 0 {
		return fd, errno
	}
	if _, _, errno = syscall.RawSyscall6(syscall.SYS_MOUNT, 0, uintptr(unsafe.Pointer(p.root)), 0,
		unix.MS_REC|unix.MS_PRIVATE, 0, 0); errno != 0 {
		return fd, errno
	}
	if errno = mountTmpfs(p.tmpfs, p.at, p.mode); errno != 0 {
		return fd, errno
	}
	if _, _, errno = syscall.RawSyscall(syscall.SYS_CHDIR, uintptr(unsafe.Pointer(p.at)), 0, 0); errno != 0 {
		return fd, errno
	}
	for i := range p.names {
		syscall.RawSyscall(syscall.SYS_MKDIRAT, atCWD, uintptr(unsafe.Pointer(p.names[i])), 0o755)
		if errno = mountTmpfs(p.tmpfs, p.names[i], p.option); errno != 0 {
			return fd, errno
		}
	}
	syscall.RawSyscall(syscall.SYS_MKDIRAT, atCWD, uintptr(unsafe.Pointer(p.view)), 0o755)
	return fd, pivot(p.here)
}

// mountTmpfs mounts a file system in memory.
//
//go:nosplit
//go:norace
//go:nocheckptr
func mountTmpfs(kind, at, options *byte) syscall.Errno {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_MOUNT, uintptr(unsafe.Pointer(kind)),
		uintptr(unsafe.Pointer(at)), uintptr(unsafe.Pointer(kind)), unix.MS_NOSUID|unix.MS_NODEV,
		uintptr(unsafe.Pointer(options)), 0)
	return errno
}

// pivot makes the working directory, the root of a mount, the root of all.
//
//go:nosplit
//go:norace
//go:nocheckptr
func pivot(here *byte) syscall.Errno {
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PIVOT_ROOT, uintptr(unsafe.Pointer(here)),
		uintptr(unsafe.Pointer(here)), 0); errno != 0 {
		return errno
	}
	_, _, errno := syscall.RawSyscall(syscall.SYS_UMOUNT2, uintptr(unsafe.Pointer(here)), unix.MNT_DETACH, 0)
	return errno
}
