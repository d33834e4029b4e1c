package egress

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Proxy carries connections to the hosts of a Policy, for all that reach it.
type Proxy struct {
	Policy *Policy
	Dialer *Dialer
	Log    *Log
	// connects in the place of the three others; may be nil
	Open func(ctx context.Context, network, target string) (net.Conn, error)

	once    sync.Once
	places  chan struct{} // one for each connection
	conns   chan net.Conn
	forward *httputil.ReverseProxy
}

// maxConnections is how many connections a Proxy carries at a time; more wait.
const maxConnections = 256

// Variables are the names of variables by which programs find a proxy.
var Variables = []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"}

// Environment returns the variables that lead programs to the proxy at an address. Where nothing
// may be reached, they lead package managers alone: without a network these try again for minutes,
// and they stop when a proxy refuses.
func (p *Proxy) Environment(addr string) (env []string) {
	set := func(value string, names ...string) {
		for _, name := range names {
			env = append(env, name+"="+value)
		}
	}
	const local = "localhost,127.0.0.1,::1,.localhost"
	set(local, "npm_config_noproxy")
	if p.Policy.Empty() {
		set("http://"+addr, "npm_config_proxy", "npm_config_https_proxy", "YARN_HTTP_PROXY",
			"YARN_HTTPS_PROXY", "PIP_PROXY", "CARGO_HTTP_PROXY")
		set("0", "PIP_RETRIES", "CARGO_NET_RETRY", "npm_config_fetch_retries")
		set("false", "npm_config_audit", "npm_config_update_notifier") // which ask the registry, too
		set("1", "PIP_DISABLE_PIP_VERSION_CHECK")
		return env
	}
	set("http://"+addr, "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
	set("socks5h://"+addr, "ALL_PROXY", "all_proxy")
	set(local, "NO_PROXY", "no_proxy")
	set("1", "NODE_USE_ENV_PROXY")
	return env
}

func (p *Proxy) init() {
	p.places, p.conns = make(chan struct{}, maxConnections), make(chan net.Conn)
	transport := &http.Transport{DisableKeepAlives: true, ResponseHeaderTimeout: time.Minute}
	transport.DialContext = func(ctx context.Context, _, addr string) (net.Conn, error) {
		server, _, err := p.dial(ctx, addr)
		return server, err
	}
	p.forward = &httputil.ReverseProxy{
		Rewrite:      func(r *httputil.ProxyRequest) { r.Out.Host = r.Out.URL.Host },
		Transport:    transport,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) { p.answer(w, err) },
	}
}

// accept has serve serve the connections of l until l is closed.
func (p *Proxy) accept(l net.Listener, serve func(net.Conn)) {
	p.once.Do(p.init)
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		p.places <- struct{}{}
		go serve(&placed{Conn: c, leave: sync.OnceFunc(func() { <-p.places })})
	}
}

// A placed connection gives its place back when it is closed.
type placed struct {
	net.Conn
	leave func()
}

func (c *placed) Close() error {
	c.leave()
	return c.Conn.Close()
}

func (c *placed) CloseWrite() error { return closeWrite(c.Conn) }

// Serve serves l until it is closed.
func (p *Proxy) Serve(l net.Listener) {
	p.once.Do(p.init)
	server := &http.Server{Handler: http.HandlerFunc(p.serveHTTP), ReadHeaderTimeout: greetingTimeout,
		IdleTimeout: time.Minute}
	defer server.Close()
	go server.Serve(&queue{p.conns, l.Addr(), make(chan struct{})})
	p.accept(l, p.serve)
}

// ServeTarget carries the connections of l, which may listen at an address that [NameServer] poses,
// to a HOST:PORT.
func (p *Proxy) ServeTarget(l net.Listener, target string) {
	p.accept(l, func(c net.Conn) {
		defer c.Close()
		server, to, err := p.dial(context.Background(), target)
		if p.refused(err); err == nil {
			p.tunnel(c, server, to)
		}
	})
}

// serve tells SOCKS5 from HTTP by the first byte.
func (p *Proxy) serve(c net.Conn) {
	c.SetReadDeadline(time.Now().Add(greetingTimeout))
	first := make([]byte, 1)
	if _, err := io.ReadFull(c, first); err != nil {
		c.Close()
		return
	}
	c.SetReadDeadline(time.Time{})
	if first[0] == socksVersion {
		defer c.Close()
		p.serveSOCKS(c)
		return
	}
	p.conns <- &prefixed{c, first}
}

// A queue is the listener of the HTTP server.
type queue struct {
	conns  chan net.Conn
	addr   net.Addr
	closed chan struct{}
}

func (q *queue) Accept() (net.Conn, error) {
	select {
	case c := <-q.conns:
		return c, nil
	case <-q.closed:
		return nil, net.ErrClosed
	}
}

func (q *queue) Close() error {
	close(q.closed)
	return nil
}

func (q *queue) Addr() net.Addr { return q.addr }

// An endpoint is a host, by its canonical name, and a port. The zero endpoint is any.
type endpoint struct {
	host string
	port int
}

// endpointOf returns the endpoint of a target. A host that is an address is an error.
func endpointOf(target string) (to endpoint, err error) {
	name, number, err := net.SplitHostPort(target)
	if err != nil {
		return to, err
	}
	if to.port, err = strconv.Atoi(number); err != nil || to.port < 1 || to.port > 65535 {
		return to, fmt.Errorf("%q has no port", target)
	}
	if to.host, err = canonical(name); err != nil {
		return to, &Refused{name, to.port, "hosts are reached by their name only"}
	}
	return to, nil
}

// dial connects to a target that may be reached. Only a tunnel to to.host may be made of it.
func (p *Proxy) dial(ctx context.Context, target string) (server net.Conn, to endpoint, err error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if p.Open != nil {
		server, err = p.Open(ctx, "tcp", target)
		return server, to, err
	}
	if to, err = endpointOf(target); err == nil {
		err = p.Policy.check(to.host, to.port)
	}
	if err == nil {
		server, err = p.Dialer.dial(ctx, to.host, to.port)
	}
	return server, to, err
}

// refused logs err if it is a refusal, and returns nil if not.
func (p *Proxy) refused(err error) *Refused {
	r, ok := errors.AsType[*Refused](err)
	if ok {
		p.Log.add(*r)
	}
	return r
}

func (p *Proxy) serveHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodConnect:
		p.connect(w, r)
	case r.URL.Scheme != "http" || r.URL.Host == "":
		http.Error(w, "the proxy carries http and CONNECT only", http.StatusBadRequest)
	default:
		r.Header.Del("Proxy-Authorization")
		p.forward.ServeHTTP(w, r)
	}
}

// answer answers a request with an error. The error is the reason of the status, too: of an answer
// to CONNECT many programs print nothing else.
func (p *Proxy) answer(w http.ResponseWriter, err error) {
	code, more := http.StatusBadGateway, ""
	if r := p.refused(err); r != nil {
		code, more, err = http.StatusForbidden, "X-Proxy-Error: blocked-by-allowlist\r\n", r
	}
	c, _, failed := http.NewResponseController(w).Hijack()
	if failed != nil {
		http.Error(w, err.Error(), code)
		return
	}
	defer c.Close()
	text := printable(err.Error())
	fmt.Fprintf(c, "HTTP/1.1 %d skill: %s\r\nContent-Type: text/plain\r\n%sConnection: close\r\nContent-Length: %d\r\n\r\n%s\n", code, text, more, len(text)+1, text)
	closeWrite(c)
	c.SetReadDeadline(time.Now().Add(500 * time.Millisecond))
	io.CopyN(io.Discard, c, 1<<20) // to close while bytes come could take the answer back
}

func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, s)
}

func (p *Proxy) connect(w http.ResponseWriter, r *http.Request) {
	server, to, err := p.dial(r.Context(), r.Host)
	if err != nil {
		p.answer(w, err)
		return
	}
	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		server.Close()
		return
	}
	defer client.Close()
	if _, err := io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		server.Close()
		return
	}
	p.tunnel(withBuffered(client, buffered.Reader), server, to)
}

// withBuffered returns c with what r has read of it ahead.
func withBuffered(c net.Conn, r *bufio.Reader) net.Conn {
	early, _ := r.Peek(r.Buffered())
	if len(early) == 0 {
		return c
	}
	return &prefixed{c, bytes.Clone(early)}
}
