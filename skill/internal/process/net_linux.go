package process

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"

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
	if !needsUsers() {
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
	p := newPlan(unix.CLONE_FILES | unix.CLONE_NEWNS)
	users, mount, net, socket := p.result(), p.result(), p.result(), p.result()
	if needsUsers() {
		p.flags |= unix.CLONE_NEWUSER
		p.keepUser()
		p.open("/proc/self/ns/user", users)
	}
	if alone {
		p.flags |= unix.CLONE_NEWNET
		// every user may listen at low ports in it, unless /proc is read-only
		p.write("/proc/sys/net/ipv4/ip_unprivileged_port_start", "0", true)
		p.open("/proc/self/ns/net", net)
		p.socket(udp4, socket)
	}
	p.makeOwn(mount)
	r, err := p.finish()
	if err != nil {
		return nil, err
	}
	n := &network{users: r.fd(users), mount: r.fd(mount), net: r.fd(net)}
	if alone {
		defer unix.Close(r.fd(socket))
		if err := raiseLoopback(r.fd(socket)); err != nil {
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
type socketKind int

const (
	tcp4 socketKind = iota
	tcp6
	udp4
	table4 // not a socket: the table of the sockets of TCP
	table6
)

// maxSockets is how many files are made at a time.
const maxSockets = 8

// sockets makes files in n. The caller closes them. In a helper only.
func (n *network) sockets(kinds ...socketKind) (fds []int, err error) {
	p := newPlan(unix.CLONE_FILES)
	p.join(n.users, unix.CLONE_NEWUSER)
	p.join(n.net, unix.CLONE_NEWNET)
	for _, k := range kinds {
		p.socket(k, p.result())
	}
	r, err := p.finish()
	if err != nil {
		return nil, err
	}
	for i := range kinds {
		fds = append(fds, r.fd(result(1+i)))
	}
	return fds, nil
}

// socket makes a file in the network of the process.
func (p *plan) socket(k socketKind, to result) {
	const typ = unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK
	var made *step
	switch k {
	case tcp4:
		made = p.call(unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM|typ, 0).into(to)
	case tcp6:
		made = p.call(unix.SYS_SOCKET, unix.AF_INET6, unix.SOCK_STREAM|typ, 0).into(to)
	case udp4:
		made = p.call(unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_DGRAM|typ, 0).into(to)
	case table4:
		made = p.open("/proc/self/net/tcp", to)
	case table6:
		made = p.open("/proc/self/net/tcp6", to)
	}
	if k == tcp6 || k == table6 { // a kernel without IPv6 has none: nothing is reached with it
		made.mayFail()
		p.open(os.DevNull, to).without(to)
	}
}

// finish forks a process that shares the descriptors of this one, waits for its end and returns its report.
func (p *plan) finish() (r report, err error) {
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return r, err
	}
	defer unix.Close(ends[0])
	defer unix.Close(ends[1]) // the process shares it, so that it stays open
	child := int(p.fork(uintptr(ends[1])))
	if child < 0 {
		return r, syscall.Errno(-child)
	}
	awaitChild(child)
	return r, r.receive(ends[0])
}

// viewRoot is where the root of a view is made in the mount namespace of a network.
const viewRoot = "/.view"

// makeOwn turns the new mount namespace of the process into that of a network. Its root has the [ownDirs],
// a place for the root of a view, and nothing else.
func (p *plan) makeOwn(mount result) {
	p.open("/proc/self/ns/mnt", mount)
	p.call(unix.SYS_MOUNT, 0, "/", 0, unix.MS_REC|unix.MS_PRIVATE, 0)
	p.tmpfs("/proc", "mode=755")
	p.call(unix.SYS_CHDIR, "/proc")
	for _, name := range ownNames {
		p.call(unix.SYS_MKDIRAT, unix.AT_FDCWD, name[1:], 0o755).mayFail()
		p.tmpfs(name[1:], "mode=1777,size=25%")
	}
	p.call(unix.SYS_MKDIRAT, unix.AT_FDCWD, viewRoot[1:], 0o755).mayFail()
	p.pivot()
}
