package skill

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

// proxy is an HTTP proxy on the loopback interface that reaches what its guard
// lets it.
type proxy struct {
	*guard
	addr   string
	server *http.Server

	mu     sync.Mutex
	failed map[string]error // what was not reached, by host and port, and why
}

func startProxy(g *guard) (*proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{guard: g, addr: l.Addr().String(), failed: map[string]error{}}
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

func (p *proxy) close() { p.server.Close() }

// refuse answers a request that the proxy does not carry out.
func (p *proxy) refuse(w http.ResponseWriter, r *http.Request, err error) {
	var address *AddressError
	if errors.As(err, &address) {
		err = address
	}
	p.mu.Lock()
	p.failed[hostPort(r.URL)] = err
	p.mu.Unlock()
	http.Error(w, err.Error(), http.StatusBadGateway)
}

// failure tells why the host of an address was not reached, nil if it was.
func (p *proxy) failure(address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed[hostPort(u)]
}

// hostPort is the host of an address with its port. Of a CONNECT the host is all.
func hostPort(u *url.URL) string { return net.JoinHostPort(u.Hostname(), port(u)) }

// connect joins a client with what it asks for.
func (p *proxy) connect(w http.ResponseWriter, r *http.Request) {
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
