package web

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"sync"
	"time"

	"textskill/skill/internal/refusal"
)

// A Proxy is an HTTP proxy on the loopback interface that connects only as its guard
// allows.
type Proxy struct {
	*Guard
	Addr   string // host and port on which it listens
	server *http.Server

	mu     sync.Mutex
	failed map[string]error // errors of refused or failed connections, by host and port
}

// StartProxy starts a proxy with the guard of c. The caller closes it.
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
			p.tunnel(w, r)
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

// Port returns the TCP port on which the proxy listens.
func (p *Proxy) Port() int {
	_, port, _ := net.SplitHostPort(p.Addr)
	n, _ := strconv.Atoi(port)
	return n
}

// Close closes the proxy and its connections.
func (p *Proxy) Close() { p.server.Close() }

// refuse answers a request with an error and records it for [Proxy.Failure].
func (p *Proxy) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if address, ok := errors.AsType[*refusal.RefusedError](err); ok {
		err = address
	}
	p.mu.Lock()
	p.failed[hostPort(r.URL)] = err
	p.mu.Unlock()
	http.Error(w, err.Error(), http.StatusBadGateway)
}

// Failure returns the error of the last connection to an address that failed, or nil.
func (p *Proxy) Failure(address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed[hostPort(u)]
}

func hostPort(u *url.URL) string { return net.JoinHostPort(u.Hostname(), Port(u)) }

func (p *Proxy) tunnel(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), dialTimeout)
	defer cancel()
	server, err := p.dial(ctx, "tcp", r.Host)
	if err != nil {
		p.refuse(w, r, err)
		return
	}
	defer server.Close()
	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		p.refuse(w, r, err)
		return
	}
	defer client.Close()
	client.SetDeadline(time.Now().Add(maxTimeout))
	server.SetDeadline(time.Now().Add(maxTimeout))
	if _, err := io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	go func() {
		io.Copy(server, buffered)
		server.Close()
	}()
	io.Copy(client, server)
}
