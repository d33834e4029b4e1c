package process

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A network is a network namespace with a loopback interface and no other: commands meet
// each other there, and nothing else. The owner of its user namespace may configure it from
// outside, but only a process inside makes sockets. Sockets stay inside, wherever they are sent.
type network struct {
	users int    // the user namespace that owns it; -1 for root, who needs none
	net   int    // the namespace
	ino   uint64 // its number, which no other has while this one exists
}

func (n *network) close() {
	unix.Close(n.net)
	if n.users >= 0 {
		unix.Close(n.users)
	}
}

// files returns the descriptors of n in the order in which they are sent.
func (n *network) files() []int {
	if n.users < 0 {
		return []int{n.net}
	}
	return []int{n.net, n.users}
}

// networkOf returns the network of descriptors that came from another process. On an error it
// closes them. A command could have sent them: it refuses every network that is not empty and
// every network that a command may configure.
func networkOf(fds []int) (*network, error) {
	n := &network{users: -1, net: -1}
	if len(fds) > 0 {
		n.net = fds[0]
	}
	if len(fds) > 1 {
		n.users = fds[1]
	}
	err := n.check(len(fds))
	if err != nil {
		for _, fd := range fds {
			unix.Close(fd)
		}
		return nil, fmt.Errorf("network: %w", err)
	}
	return n, nil
}

// check sets the number of n. It fails unless a helper of this user has made n.
func (n *network) check(count int) (err error) {
	if want := len(idMaps()); count == 0 || count > 2 || (count == 2) != (want > 0) {
		return fmt.Errorf("%d descriptors came", count)
	}
	own, err := numberOf("/proc/self/ns/net")
	if err != nil {
		return err
	}
	if n.ino, err = namespace(n.net, unix.CLONE_NEWNET); err != nil {
		return err
	}
	if n.ino == own {
		return errors.New("it is the network of this machine")
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
	if has, err := related(n.net, unix.NS_GET_USERNS); err != nil || has != owner {
		return errors.Join(err, errors.New("another user namespace owns it"))
	}
	return nil
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
func newNetwork() (*network, error) {
	low := textFor{cWord("/proc/sys/net/ipv4/ip_unprivileged_port_start"), []byte("0")}
	r, err := (&netPlan{fresh: true, low: low, ids: idMaps(), kinds: []socketKind{udp4}}).run()
	if err != nil {
		return nil, err
	}
	fds := []int{int(r.net)}
	if r.users >= 0 {
		fds = append(fds, int(r.users))
	}
	defer unix.Close(int(r.made[0]))
	up, err := unix.NewIfreq("lo")
	if err == nil {
		up.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
		err = unix.IoctlIfreq(int(r.made[0]), unix.SIOCSIFFLAGS, up)
	}
	if err != nil {
		for _, fd := range fds {
			unix.Close(fd)
		}
		return nil, err
	}
	return networkOf(fds)
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
	low        textFor   // lets every user listen on ports below 1024 in it
	ids        []textFor // of its user namespace; nil for root
	users, net int       // the network to enter, if not fresh
	kinds      []socketKind
}

type netReport struct {
	done       bool // or else the process was killed
	errno      uint32
	users, net int32
	made       [maxSockets]int32
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
	for _, fd := range append(r.made[:], r.net, r.users) {
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
		r      = netReport{users: -1, net: -1}
		errno  syscall.Errno
		user   = cWord("/proc/self/ns/user")
		net    = cWord("/proc/self/ns/net")
		null   = cWord(os.DevNull)
		tables = [2]*byte{cWord("/proc/self/net/tcp"), cWord("/proc/self/net/tcp6")}
		family = [3]uintptr{unix.AF_INET, unix.AF_INET6, unix.AF_INET}
		typ    = [3]uintptr{unix.SOCK_STREAM, unix.SOCK_STREAM, unix.SOCK_DGRAM}
	)
	flags := uintptr(unix.CLONE_FILES) // and no signal at its end: see [helper.reap]
	if p.fresh {
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
		p.low.write() // fails where /proc is read-only; then low ports stay root's
		if p.ids != nil {
			if r.users, errno = openNamespace(user); errno != 0 {
				goto done
			}
		}
		if r.net, errno = openNamespace(net); errno != 0 {
			goto done
		}
	}
	for i := range p.kinds {
		k := p.kinds[i]
		if k >= table4 {
			r.made[i], errno = openNamespace(tables[k-table4])
		} else {
			fd, _, e := syscall.RawSyscall(unix.SYS_SOCKET, family[k], typ[k]|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
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
	_, _, errno = syscall.RawSyscall(unix.SYS_SETNS, uintptr(net), unix.CLONE_NEWNET, 0)
	return errno
}
