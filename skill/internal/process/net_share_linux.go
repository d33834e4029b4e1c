package process

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"textskill/skill/internal/egress"
	"textskill/skill/internal/history"
)

// A session holds the network in which the commands of a Runner run. The zero session is ready for
// use. It is safe for concurrent use.
type session struct {
	mu  sync.Mutex
	now *network
	all []*network // also of earlier commands, which may still use them
	why error      // no network can be made

	names egress.Log // refused lookups
	posed map[posed]netip.Addr
	open  []io.Closer // of the name servers and posed hosts
}

// posed names a host in a network.
type posed struct {
	ino  uint64
	name string
}

func (s *session) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.open {
		c.Close()
	}
	for _, n := range s.all {
		n.close()
	}
	s.now, s.all, s.open, s.posed = nil, nil, nil, nil
}

// use makes n the network of the next commands.
func (x *Runner) use(n *network) {
	s := x.session
	if s.posed == nil {
		s.posed = map[posed]netip.Addr{}
	}
	s.now, s.all = n, append(s.all, n)
	if n.alone() {
		x.serveNames(n)
	}
}

// network returns the network for the next command: that of a server which runs in this workspace,
// or else one of its own. It returns nil where no network can be made.
func (x *Runner) network() *network {
	s := x.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.why != nil || x.cfg.shared {
		return nil
	}
	if n := x.lentNetwork(s.now); n != nil {
		x.use(n)
	}
	if s.now == nil {
		q := askNetwork
		if x.cfg.Network {
			q = askDirs
		}
		n, err := x.makeNetwork(q)
		if err != nil {
			if !isTransient(err) {
				s.why = err
			}
			return nil
		}
		x.use(n)
	}
	return s.now
}

// makeNetwork has a helper make a network.
func (x *Runner) makeNetwork(q question) (*network, error) {
	fds, err := x.askHelper(q)
	if err != nil {
		return nil, err
	}
	return networkOf(fds)
}

// askHelper asks a helper that waits for a command.
func (x *Runner) askHelper(q question, files ...int) (fds []int, err error) {
	h := x.cfg.Ready.take()
	if h == nil {
		if h, err = startHelper(x.cfg.Helper); err != nil {
			return nil, err
		}
	}
	if fds, err = h.ask(q, files...); err != nil {
		h.end()
		return nil, err
	}
	x.cfg.Ready.giveBack(h)
	return fds, nil
}

// lentNetwork returns the network of the newest server that runs in this workspace and reaches the
// same hosts, unless that one is used already. It returns nil for none.
func (x *Runner) lentNetwork(used *network) *network {
	dir, err := x.ws.State(history.Servers)
	if err != nil {
		return nil
	}
	defer dir.Close()
	for _, r := range readRecords(dir) {
		if r.Net == 0 || r.Reach != x.reach().String() || !r.Helper.isRunning() {
			continue
		}
		if used != nil && used.ino == r.Net {
			return nil
		}
		if n, err := borrow(dir, r.ID); err == nil {
			return n
		}
	}
	return nil
}

// borrow asks the helper of a server for its network.
func borrow(dir *os.Root, id string) (*network, error) {
	c, err := dialServer(dir, id)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if _, err := c.Write([]byte{lendNetwork}); err != nil {
		return nil, err
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	fds, err := receiveFrom(raw)
	if err != nil {
		return nil, err
	}
	return networkOf(fds)
}

// The requests of a program to the helper of a server, in one byte.
const (
	lendNetwork = 'n'
	typeText    = 't' // followed by the text; answered by one byte
)

// maxTyped is how many bytes are typed at a time.
const maxTyped = 64 << 10

// typeInto has the helper of a server write to the server's input.
func typeInto(dir *os.Root, id, text string) error {
	if len(text) > maxTyped {
		return fmt.Errorf("the input has %d bytes, more than %d", len(text), maxTyped)
	}
	c, err := dialServer(dir, id)
	if err != nil {
		return errors.New("the server takes no input: it has ended, or another version of this program has started it")
	}
	defer c.Close()
	if _, err := c.Write(append([]byte{typeText}, text...)); err != nil {
		return err
	}
	c.CloseWrite()
	if n, _ := c.Read(make([]byte, 1)); n != 1 {
		return errors.New("the server does not read its input")
	}
	return nil
}

// meetTimeout is how long a program waits for the helper of a server, and the other way round.
const meetTimeout = time.Second

// atDoor calls do with a name of a server's socket that is short enough for the kernel.
func atDoor[T any](dir *os.Root, id string, do func(*net.UnixAddr) (T, error)) (t T, err error) {
	d, err := dir.Open(".")
	if err != nil {
		return t, err
	}
	defer d.Close()
	return do(&net.UnixAddr{Name: fmt.Sprintf("/proc/self/fd/%d/%s", d.Fd(), id+doorSuffix), Net: "unix"})
}

// listenForServer makes the socket of a server.
func listenForServer(dir *os.Root, id string) (*os.File, error) {
	return atDoor(dir, id, func(at *net.UnixAddr) (*os.File, error) {
		l, err := net.ListenUnix("unix", at)
		if err != nil {
			return nil, err
		}
		defer l.Close()
		l.SetUnlinkOnClose(false)
		return l.File()
	})
}

func dialServer(dir *os.Root, id string) (*net.UnixConn, error) {
	return atDoor(dir, id, func(at *net.UnixAddr) (*net.UnixConn, error) {
		c, err := net.DialUnix("unix", nil, at)
		if err == nil {
			c.SetDeadline(time.Now().Add(meetTimeout))
		}
		return c, err
	})
}

// meet answers the programs of this user that connect with a server's socket. It closes the socket.
func meet(share *os.File, n *network, input int) {
	l, err := net.FileListener(share)
	share.Close()
	if err != nil {
		return
	}
	for {
		c, err := l.(*net.UnixListener).AcceptUnix()
		if err != nil {
			return
		}
		c.SetDeadline(time.Now().Add(meetTimeout))
		if isOwn(c) {
			meetOne(c, n, input)
		}
		c.Close()
	}
}

// isOwn reports whether this user has connected.
func isOwn(c *net.UnixConn) (own bool) {
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	raw.Control(func(fd uintptr) {
		peer, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		own = err == nil && int(peer.Uid) == os.Geteuid()
	})
	return own
}

func meetOne(c *net.UnixConn, n *network, input int) {
	var request [1]byte
	if _, err := c.Read(request[:]); err != nil {
		return
	}
	if request[0] == typeText {
		text, err := io.ReadAll(io.LimitReader(c, maxTyped))
		if err == nil && writeAll(input, text) {
			c.Write([]byte{1})
		}
		return
	}
	raw, err := c.SyscallConn()
	if request[0] == lendNetwork && n != nil && err == nil {
		raw.Control(func(fd uintptr) { sendDescriptors(int(fd), n.files(), nil) })
	}
}

// writeAll writes text to a descriptor that does not block, as far as its reader takes it in time.
func writeAll(fd int, text []byte) bool {
	for wait := patient(meetTimeout); len(text) > 0; {
		n, err := unix.Write(fd, text)
		text = text[max(n, 0):]
		switch {
		case err == unix.EAGAIN && !wait.over():
			unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, int(wait.step().Milliseconds())+1)
		case err != nil && err != unix.EINTR:
			return false
		}
	}
	return true
}

// shareServer has other programs reach the server of r: its port, and the network of its commands.
// The caller closes spec.extras.
func (x *Runner) shareServer(dir *os.Root, r *serverRecord, spec *Spec) error {
	if err := spec.reserve(r.Port); err != nil {
		return err
	}
	if spec.fence.own != nil {
		r.Net, r.Reach = spec.fence.own.ino, spec.reach.String()
	}
	// on an error only commands of other programs do not reach it
	spec.extras.share, _ = listenForServer(dir, r.ID)
	return nil
}

// reserve has the helper relay a port of this machine into the network of s, if s has one.
func (s *Spec) reserve(port int) (err error) {
	if s.fence.own.alone() && port != 0 {
		s.extras.relay, err = reservePort(port)
	}
	return err
}

// whyShared says why commands have no network of their own, and what to do; "" if they have one.
func (x *Runner) whyShared(f Fence) string {
	if f.ABI == 0 || f.Alone || x.cfg.Network || x.network() != nil {
		return ""
	}
	x.session.mu.Lock()
	defer x.session.mu.Unlock()
	return namespaceRemedy(x.session.why, func(name string) string {
		data, _ := os.ReadFile(name)
		return strings.TrimSpace(string(data))
	})
}

// namespaceRemedy says why no namespace can be made, from what the system's files say, and what a
// person can do about it.
func namespaceRemedy(err error, read func(name string) string) string {
	limits := []struct{ file, value, cause string }{
		{"/proc/sys/user/max_user_namespaces", "0",
			"this system allows no user namespaces: sysctl user.max_user_namespaces=10000 allows them"},
		{"/proc/sys/user/max_net_namespaces", "0",
			"this system allows no network namespaces: sysctl user.max_net_namespaces=10000 allows them"},
		{"/proc/sys/user/max_mnt_namespaces", "0",
			"this system allows no mount namespaces: sysctl user.max_mnt_namespaces=10000 allows them"},
		{"/proc/sys/kernel/unprivileged_userns_clone", "0",
			"this system lets root alone make user namespaces: sysctl kernel.unprivileged_userns_clone=1 lets all users"},
		{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1",
			"AppArmor keeps this program from namespaces: copy /usr/share/apparmor/extra-profiles/textskill of its package to /etc/apparmor.d and load it with apparmor_parser -r"},
	}
	for _, l := range limits {
		if read(l.file) == l.value {
			return l.cause
		}
	}
	if err == nil {
		return "namespaces cannot be made here now; try again"
	}
	return "no namespace can be made here (" + err.Error() +
		"): a container needs --security-opt seccomp=unconfined --security-opt apparmor=unconfined, or --cap-add SYS_ADMIN"
}
