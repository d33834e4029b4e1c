package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"textskill/skill/internal/egress"
)

// A gateway is the proxy that a helper has in the network of its commands. It is kept for the next
// command. The zero gateway is ready for use.
type gateway struct {
	of   string         // the network and the hosts
	open []net.Listener // the proxy's, and for the ports of this machine
	env  []string
	log  egress.Log
	none bool // no host may be reached
}

// serve starts the proxy for a command and puts it into the command's environment.
func (g *gateway) serve(spec *Spec) {
	if !spec.fence.own.alone() || spec.reach.All {
		return // such a program has a [Gate]
	}
	if of := fmt.Sprint(spec.fence.own.ino, spec.reach); of != g.of {
		g.close()
		policy, err := egress.NewPolicy(spec.reach.Rules) // the program has checked it
		fds, failed := spec.fence.own.sockets(tcp4)
		if errors.Join(err, failed) != nil {
			return
		}
		p := &egress.Proxy{Policy: policy, Dialer: &egress.Dialer{Hosts: spec.reach.Hosts}, Log: &g.log}
		l, err := listenOn(fds[0], &unix.SockaddrInet4{Addr: localhost.As4()})
		if err != nil {
			return
		}
		go p.Serve(l)
		g.of, g.open, g.env = of, []net.Listener{l}, p.Environment(l.Addr().String())
		g.none = policy.Empty()
		for _, port := range spec.reach.Local {
			g.serveLocal(spec.fence.own, port)
		}
	}
	if g.none && spec.exact {
		return
	}
	rest := slices.DeleteFunc(spec.Env, func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return variableIndex(g.env, name) >= 0
	})
	spec.Env = slices.Concat(g.env, rest) // the variables that a caller sets are the last ones
}

func (g *gateway) close() {
	for _, l := range g.open {
		l.Close()
	}
	g.of, g.open, g.env = "", nil, nil
}

// serveLocal has a port of this machine appear at the same port of a network. Several helpers do
// so at a time.
func (g *gateway) serveLocal(n *network, port int) {
	fds, err := n.sockets(tcp4, tcp6)
	if err != nil {
		return
	}
	for i, at := range loopback(port) {
		unix.SetsockoptInt(fds[i], unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
		l, err := listenOn(fds[i], at)
		if err != nil {
			continue // a command listens there
		}
		g.open = append(g.open, l)
		go forward(l, make(chan struct{}, maxRelayed),
			func() (net.Conn, error) { return dialMachine(context.Background(), port) })
	}
}

// tell sends the hosts that were refused since the last call.
func (g *gateway) tell() {
	for _, r := range g.log.Take() {
		sendText(eventRefused, r.Told())
	}
}

// sendText sends an event with a text, which is cut after some hundred bytes.
func sendText(kind uint32, text string) {
	text = text[:min(len(text), maxEventText)]
	event{kind, uint32(len(text)), 0}.send()
	descriptor(reportFD).Write([]byte(text))
}

var localhost = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// listenOn listens with a socket, which it closes.
func listenOn(fd int, at unix.Sockaddr) (net.Listener, error) {
	f := os.NewFile(uintptr(fd), "listener")
	defer f.Close()
	unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	if err := unix.Bind(fd, at); err != nil {
		return nil, err
	}
	if err := unix.Listen(fd, unix.SOMAXCONN); err != nil {
		return nil, err
	}
	return net.FileListener(f)
}

// serveNames answers programs in n that look up names themselves, at the addresses at which those
// of this machine ask. It does nothing where another program of this user does so.
func (x *Runner) serveNames(n *network) {
	fds, err := x.askHelper(askPackets, n.places()...)
	if err != nil {
		return
	}
	p := &egress.Proxy{Policy: x.policy, Dialer: &egress.Dialer{Hosts: x.cfg.hosts}, Log: &x.session.names}
	servers := nameServers()
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "names")
		if i < len(servers) {
			x.serveNamesAt(n, p, f, i+1, servers[i])
		}
		f.Close()
	}
}

func (x *Runner) serveNamesAt(n *network, p *egress.Proxy, f *os.File, number int, at [4]byte) {
	fd := int(f.Fd())
	if addAddress(fd, number, at) != nil || unix.Bind(fd, &unix.SockaddrInet4{Port: 53, Addr: at}) != nil {
		return
	}
	c, err := net.FilePacketConn(f)
	if err != nil {
		return
	}
	x.session.open = append(x.session.open, c)
	s := &egress.NameServer{Policy: p.Policy, Log: p.Log,
		Pose: func(name string, ports []int) (netip.Addr, bool) { return x.pose(n, p, name, ports) }}
	go s.Serve(c)
}

// addAddress gives the loopback interface of a socket's network an address.
func addAddress(socket, number int, addr [4]byte) error {
	if addr[0] == 127 {
		return nil
	}
	lo, err := unix.NewIfreq(fmt.Sprint("lo:", number))
	if err != nil {
		return err
	}
	lo.SetInet4Addr(addr[:])
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFADDR, lo); err != nil {
		return err
	}
	lo.SetInet4Addr([]byte{255, 255, 255, 255})
	return unix.IoctlIfreq(socket, unix.SIOCSIFNETMASK, lo)
}

// nameServers returns the addresses of IPv4 at which programs of this machine ask for names.
func nameServers() (list [][4]byte) {
	data, _ := os.ReadFile("/etc/resolv.conf")
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) < 2 || f[0] != "nameserver" {
			continue
		}
		if a, err := netip.ParseAddr(f[1]); err == nil && a.Is4() && !slices.Contains(list, a.As4()) {
			list = append(list, a.As4())
		}
	}
	if len(list) == 0 {
		return [][4]byte{localhost.As4()} // the system's library asks there then
	}
	return list
}

// maxPosed is how many hosts have an address of the loopback interface.
const maxPosed = 1 << 12

// pose returns an address of the loopback interface of n at which a host is reached at its ports.
func (x *Runner) pose(n *network, p *egress.Proxy, name string, ports []int) (addr netip.Addr, ok bool) {
	s := x.session
	s.mu.Lock()
	defer s.mu.Unlock()
	at := posed{n.ino, name}
	if addr, ok = s.posed[at]; ok || s.now == nil || len(s.posed) == maxPosed {
		return addr, ok
	}
	number := len(s.posed) + 1
	addr = netip.AddrFrom4([4]byte{127, 1, byte(number >> 8), byte(number)})
	for _, port := range ports {
		l, err := x.listenIn(n, addr, port)
		if err != nil {
			continue // a command listens there at every address
		}
		s.open, ok = append(s.open, l), true
		go p.ServeTarget(l, net.JoinHostPort(name, strconv.Itoa(port)))
	}
	if ok {
		s.posed[at] = addr
	}
	return addr, ok
}

// Apart reports whether commands have a network of their own.
func (x *Runner) Apart() bool {
	f, err := x.newFence()
	return err == nil && f.possible && x.network().alone()
}

// DialLocal connects with a port of the loopback interface of the commands.
func (x *Runner) DialLocal(port int) (net.Conn, error) {
	if slices.Contains(x.cfg.Local, port) {
		return dialMachine(context.Background(), port)
	}
	n := x.network()
	if !n.alone() {
		return nil, unix.ENETUNREACH
	}
	fds, err := x.socketsIn(n)
	if err != nil {
		return nil, err
	}
	c, err := dialLoopback(fds, port)
	if errors.Is(err, unix.ECONNREFUSED) {
		return nil, fmt.Errorf("nothing listens on port %d of the localhost of commands; --allow-local %[1]d opens that port of this machine", port)
	}
	return c, err
}

// listenApart returns a network of its own for one program, and a listener in it; nil where none can be made.
func (x *Runner) listenApart() (*network, net.Listener) {
	if x.cfg.shared {
		return nil, nil
	}
	n, err := x.makeNetwork(askNetwork)
	if err != nil {
		return nil, nil
	}
	l, err := x.listenIn(n, localhost, 0)
	if err != nil {
		n.close()
		return nil, nil
	}
	return n, l
}

// listenIn listens in a network, at an address of IPv4.
func (x *Runner) listenIn(n *network, addr netip.Addr, port int) (net.Listener, error) {
	fds, err := x.socketsIn(n)
	if err != nil {
		return nil, err
	}
	unix.Close(fds[1])
	return listenOn(fds[0], &unix.SockaddrInet4{Port: port, Addr: addr.As4()})
}

// socketsIn has a helper make two sockets of TCP in n, of IPv4 and of IPv6.
func (x *Runner) socketsIn(n *network) (fds []int, err error) {
	fds, err = x.askHelper(askStreams, n.places()...)
	if err == nil && len(fds) != 2 {
		return nil, unix.EPROTO
	}
	return fds, err
}

// refusedNames returns the names that were looked up and may not be reached, without the names in list,
// which were also asked for at the proxy.
func (s *session) refusedNames(list []string) []string {
	for _, r := range s.names.Take() {
		if !slices.ContainsFunc(list,
			func(at string) bool { return at == r.Host || strings.HasPrefix(at, r.Host+":") }) {
			list = append(list, r.At())
		}
	}
	return list
}
