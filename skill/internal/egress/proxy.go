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
	if p.Policy.empty() {
		set("http://"+addr, "npm_config_proxy", "npm_config_https_proxy", "YARN_HTTP_PROXY", "YARN_HTTPS_PROXY", "PIP_PROXY", "CARGO_HTTP_PROXY")
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
		host, port, err := splitTarget(addr)
		if err != nil {
			return nil, err
		}
		return p.dial(ctx, host, port)
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
	server := &http.Server{Handler: http.HandlerFunc(p.serveHTTP), ReadHeaderTimeout: greetingTimeout, IdleTimeout: time.Minute}
	defer server.Close()
	go server.Serve(&queue{p.conns, l.Addr(), make(chan struct{})})
	p.accept(l, p.serve)
}

// ServeHost carries the connections of l, which listens at an address that [NameServer] poses, to
// a host.
func (p *Proxy) ServeHost(l net.Listener, host string, port int) {
	p.accept(l, func(c net.Conn) {
		defer c.Close()
		server, err := p.dial(context.Background(), host, port)
		if p.refused(err); err == nil {
			p.tunnel(c, server, host, port)
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

// splitTarget returns the host and the port of a target. A host that is an address is an error.
func splitTarget(target string) (host string, port int, err error) {
	name, number, err := net.SplitHostPort(target)
	if err != nil {
		return "", 0, err
	}
	if port, err = strconv.Atoi(number); err != nil || port < 1 || port > 65535 {
		return "", 0, fmt.Errorf("%q has no port", target)
	}
	if host, err = canonical(name); err != nil {
		return "", 0, &Refused{name, port, "hosts are reached by their name only"}
	}
	return host, port, nil
}

// dial connects to a host that may be reached.
func (p *Proxy) dial(ctx context.Context, host string, port int) (net.Conn, error) {
	if err := p.Policy.check(host, port); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	return p.Dialer.dial(ctx, host, port)
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
		p.plain(w, r)
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

// plain carries a request without TLS.
func (p *Proxy) plain(w http.ResponseWriter, r *http.Request) {
	target := r.URL.Host
	if r.URL.Port() == "" {
		target = net.JoinHostPort(r.URL.Hostname(), "80")
	}
	host, port, err := splitTarget(target)
	if err == nil {
		err = p.Policy.check(host, port)
	}
	if err != nil {
		p.answer(w, err)
		return
	}
	r.Header.Del("Proxy-Authorization")
	p.forward.ServeHTTP(w, r)
}

func (p *Proxy) connect(w http.ResponseWriter, r *http.Request) {
	host, port, err := splitTarget(r.Host)
	var server net.Conn
	if err == nil {
		server, err = p.dial(r.Context(), host, port)
	}
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
	p.tunnel(withBuffered(client, buffered.Reader), server, host, port)
}

// withBuffered returns c with what r has read of it ahead.
func withBuffered(c net.Conn, r *bufio.Reader) net.Conn {
	early, _ := r.Peek(r.Buffered())
	if len(early) == 0 {
		return c
	}
	return &prefixed{c, bytes.Clone(early)}
}
