package process

import "net"

// A Gate is where a program that this one starts for itself reaches other machines: an address at
// which this program listens. Where the system allows it, the program has a network of its own
// with that address and no other machine.
type Gate struct {
	Addr   string // host and port
	listen net.Listener
	own    *network // nil if the address is one of this machine
	port   int      // at which the program may connect then, at any address
}

// OpenGate opens a Gate, and has serve answer its connections. The caller closes it.
func (x *Runner) OpenGate(serve func(net.Listener)) (g *Gate, err error) {
	g = &Gate{}
	if f, err := x.newFence(); err != nil {
		return nil, err
	} else if f.possible {
		g.own, g.listen = x.listenApart()
	}
	if g.own == nil {
		if g.listen, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return nil, err
		}
		g.port = g.Port()
	}
	g.Addr = g.listen.Addr().String()
	go serve(g.listen)
	return g, nil
}

// Port returns the TCP port of the Gate.
func (g *Gate) Port() int { return g.listen.Addr().(*net.TCPAddr).Port }

// Close closes the Gate.
func (g *Gate) Close() {
	g.listen.Close()
	if g.own != nil {
		g.own.close()
	}
}
