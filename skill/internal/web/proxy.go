package web

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"
)

// A Proxy is an HTTP proxy on the loopback interface that reaches what its guard
// lets it.
type Proxy struct {
	*Guard
	Addr   string // of this machine, with the port
	server *http.Server

	mu     sync.Mutex
	failed map[string]error // what was not reached, by host and port, and why
}

// StartProxy starts a proxy that reaches what requests of c may. The caller closes it.
func (c *Client) StartProxy() (*Proxy, error) { return startProxy(c.guard(nil)) }

func startProxy(g *Guard) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{Guard: g, Addr: l.Addr().String(), failed: map[string]error{}}
	forward := &httputil.ReverseProxy{
		Rewrite:      func(*httputil.ProxyRequest) {},
		Transport:    g.client(true).Transport,
		ErrorHandler: p.refuse,
	}
	p.server = &http.Server{ReadHeaderTimeout: headerTimeout, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodConnect:
			p.connect(w, r)
		case r.URL.Scheme != "http":
			p.refuse(w, r, errors.New("the proxy carries http and CONNECT only"))
		default:
			if err := g.check(r.URL); err != nil {
				p.refuse(w, r, err)
				return
			}
			forward.ServeHTTP(w, r)
		}
	})}
	go p.server.Serve(l)
	return p, nil
}

// Close ends the proxy and its connections.
func (p *Proxy) Close() { p.server.Close() }

// refuse answers a request that the proxy does not carry out.
func (p *Proxy) refuse(w http.ResponseWriter, r *http.Request, err error) {
	var address *AddressError
	if errors.As(err, &address) {
		err = address
	}
	p.mu.Lock()
	p.failed[hostPort(r.URL)] = err
	p.mu.Unlock()
	http.Error(w, err.Error(), http.StatusBadGateway)
}

// Failure returns why the host of an address was not reached, nil if it was.
func (p *Proxy) Failure(address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed[hostPort(u)]
}

// hostPort is the host of an address with its port. Of a CONNECT the host is all.
func hostPort(u *url.URL) string { return net.JoinHostPort(u.Hostname(), Port(u)) }

// connect joins a client with what it asks for.
func (p *Proxy) connect(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), dialTimeout)
	defer cancel()
	far, err := p.dial(ctx, "tcp", r.Host)
	if err != nil {
		p.refuse(w, r, err)
		return
	}
	defer far.Close()
	near, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		p.refuse(w, r, err)
		return
	}
	defer near.Close()
	near.SetDeadline(time.Now().Add(webLongest))
	far.SetDeadline(time.Now().Add(webLongest))
	if _, err := io.WriteString(near, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	go func() {
		io.Copy(far, buffered)
		far.Close()
	}()
	io.Copy(near, far)
}
