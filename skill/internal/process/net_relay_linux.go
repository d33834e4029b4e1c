package process

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"textskill/skill/internal/egress"
)

// maxRelayed is how many connections a relay carries at a time; more wait.
const maxRelayed = 256

// A relay carries connections from a port of this machine to the same port of a network.
type relay struct {
	n       *network
	port    int
	places  chan struct{} // one for each connection that is carried
	over    chan struct{} // closed by stop
	stopped chan struct{}

	mu      sync.Mutex
	sockets []int // of IPv4 and IPv6 in turn, made ahead: each time a process is forked
}

// startRelay starts a relay for sockets that are bound to the port. They begin to listen once
// something listens in the network, so that the port is refused until then.
func startRelay(n *network, port int, bound []*os.File) *relay {
	r := &relay{n: n, port: port, places: make(chan struct{}, maxRelayed), over: make(chan struct{}),
		stopped: make(chan struct{})}
	go func() {
		defer close(r.stopped)
		defer extras{relay: bound}.close()
		if !r.awaitListener() {
			return
		}
		for _, f := range bound {
			if unix.Listen(int(f.Fd()), unix.SOMAXCONN) != nil {
				continue
			}
			if l, err := net.FileListener(f); err == nil {
				defer l.Close()
				go forward(l, r.places, r.dial)
			}
		}
		<-r.over
	}()
	return r
}

// stop frees the port. A nil relay has none.
func (r *relay) stop() {
	if r == nil {
		return
	}
	close(r.over)
	<-r.stopped
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, fd := range r.sockets {
		unix.Close(fd)
	}
	r.sockets = nil
}

// awaitListener waits until something listens on the port in the network, and returns false if the
// relay is stopped before.
func (r *relay) awaitListener() bool {
	tables, err := r.n.sockets(table4, table6)
	if err != nil {
		return false
	}
	defer unix.Close(tables[0])
	defer unix.Close(tables[1])
	wait := pollInterval
	for !listed(tables, r.port) {
		select {
		case <-r.over:
			return false
		case <-time.After(wait):
			wait = min(wait*21/20, time.Second) // a server may take minutes, or never listen
		}
	}
	return true
}

// listed reports whether a table of TCP sockets has one that listens on port.
func listed(tables []int, port int) bool {
	suffix := fmt.Appendf(nil, ":%04X", port)
	for _, fd := range tables {
		data, _ := io.ReadAll(io.NewSectionReader(positioned(fd), 0, 4<<20))
		for line := range bytes.Lines(data) {
			if f := bytes.Fields(line); len(f) > 3 && string(f[3]) == "0A" && bytes.HasSuffix(f[1], suffix) {
				return true
			}
		}
	}
	return false
}

// positioned reads a file from any position.
type positioned int

func (p positioned) ReadAt(b []byte, at int64) (int, error) {
	n, err := unix.Pread(int(p), b, at)
	if n <= 0 && err == nil {
		err = io.EOF
	}
	return max(n, 0), err
}

// forward joins each connection of l with one that dial makes, until l is closed. While all places
// are taken, more wait.
func forward(l net.Listener, places chan struct{}, dial func() (net.Conn, error)) {
	for {
		outer, err := l.Accept()
		if err != nil {
			return
		}
		places <- struct{}{}
		go func() {
			defer func() { outer.Close(); <-places }()
			inner, err := dial()
			if err != nil {
				outer.(*net.TCPConn).SetLinger(0) // it ends as if nothing had listened
				return
			}
			defer inner.Close()
			egress.Join(outer, inner)
		}()
	}
}

func (r *relay) dial() (net.Conn, error) {
	r.mu.Lock()
	if len(r.sockets) == 0 {
		fds, err := r.n.sockets(tcp4, tcp6, tcp4, tcp6, tcp4, tcp6, tcp4, tcp6)
		if err != nil {
			r.mu.Unlock()
			return nil, err
		}
		r.sockets = fds
	}
	pair := r.sockets[:2]
	r.sockets = r.sockets[2:]
	r.mu.Unlock()
	return dialLoopback(pair, r.port)
}

// loopback returns the addresses of a port at the loopback interface, of IPv4 and of IPv6.
func loopback(port int) [2]unix.Sockaddr {
	return [2]unix.Sockaddr{&unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}},
		&unix.SockaddrInet6{Port: port, Addr: [16]byte{15: 1}}}
}

// dialLoopback connects one of two sockets, of IPv4 and of IPv6, with a port of their loopback
// interface. It closes them.
func dialLoopback(pair []int, port int) (conn net.Conn, err error) {
	for i, to := range loopback(port) {
		f := os.NewFile(uintptr(pair[i]), "connection")
		if conn == nil {
			if err = connectNow(pair[i], to); err == nil {
				conn, err = net.FileConn(f)
			}
		}
		f.Close()
	}
	return conn, err
}

// connectNow connects a socket that does not block.
func connectNow(fd int, to unix.Sockaddr) error {
	err := unix.Connect(fd, to)
	if err != unix.EINPROGRESS {
		return err
	}
	unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, int(askTimeout.Milliseconds()))
	errno, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && errno != 0 {
		err = unix.Errno(errno)
	}
	return err
}

// reservePort binds a port at the loopback addresses of this machine, for a relay. The caller
// closes the sockets.
func reservePort(port int) (list []*os.File, err error) {
	for i, to := range loopback(port) {
		fd, err := unix.Socket([]int{unix.AF_INET, unix.AF_INET6}[i],
			unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err == nil {
			f := os.NewFile(uintptr(fd), "port")
			unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
			if err = unix.Bind(fd, to); err == nil {
				list = append(list, f)
				continue
			}
			f.Close()
		}
		if i == 0 || err == unix.EADDRINUSE { // or else this machine has no IPv6
			extras{relay: list}.close()
			return nil, fmt.Errorf("port %d of this machine: %w", port, err)
		}
	}
	return list, nil
}
