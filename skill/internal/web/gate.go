package web

import (
	"context"
	"errors"
	"net"
	"net/url"
	"sync"

	"textskill/skill/internal/egress"
	"textskill/skill/internal/process"
	"textskill/skill/internal/refusal"
)

// A Gate lets one program connect as a guard allows.
type Gate struct {
	*process.Gate
	guard *Guard

	mu     sync.Mutex
	failed map[string]error // errors of refused or failed connections, by host and port
}

// OpenGate opens a Gate with the guard of c, which is an HTTP proxy. For a target it leads to that
// host and port alone. The caller closes it.
func (c *Client) OpenGate(target string) (*Gate, error) { return c.openGate(c.guard(nil), target) }

func (c *Client) openGate(guard *Guard, target string) (g *Gate, err error) {
	g = &Gate{guard: guard, failed: map[string]error{}}
	p := &egress.Proxy{Open: g.open}
	g.Gate, err = c.run.OpenGate(func(l net.Listener) {
		if target == "" {
			p.Serve(l)
		} else {
			p.ServeTarget(l, target)
		}
	})
	return g, err
}

func (g *Gate) open(ctx context.Context, network, target string) (net.Conn, error) {
	conn, err := g.guard.dial(ctx, network, target)
	if refused, ok := errors.AsType[*refusal.RefusedError](err); ok {
		err = refused
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.failed[target] = err
	return conn, err
}

// Failure returns the error of the last connection to the host of a web address, or nil.
func (g *Gate) Failure(address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	return g.FailureAt(net.JoinHostPort(u.Hostname(), Port(u)))
}

// FailureAt is Failure for a host and port.
func (g *Gate) FailureAt(target string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.failed[target]
}
