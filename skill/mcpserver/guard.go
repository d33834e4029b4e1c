package mcpserver

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// guard lets those requests through that the SDK's handler may have.
type guard struct {
	server   *Server
	next     http.Handler
	http     HTTP
	loopback bool
	names    []string // hosts that the server goes by, lower case
	requests chan struct{}

	mu      sync.Mutex
	opening int // sessions about to begin
}

func (s *Server) guarded(h HTTP, addr *net.TCPAddr) http.Handler {
	g := &guard{
		server:   s,
		next:     s.streamable(h),
		http:     h,
		loopback: addr.IP.IsLoopback(),
		names:    []string{"localhost"},
		requests: make(chan struct{}, maxRequests),
	}
	for _, name := range h.Hosts {
		g.names = append(g.names, strings.ToLower(name))
	}
	if host, _, err := net.SplitHostPort(h.Addr); err == nil {
		g.names = append(g.names, strings.ToLower(host))
	}
	if name, err := os.Hostname(); err == nil && !g.loopback {
		g.names = append(g.names, strings.ToLower(name))
	}
	return g
}

// ServeHTTP checks a request from the outside in: where it was meant to go, where
// it comes from, who sends it, and at last what it says.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case g.requests <- struct{}{}:
		defer func() { <-g.requests }()
	default:
		deny(w, http.StatusServiceUnavailable, "too many requests are being answered")
		return
	}
	switch {
	case !g.ours(r.Host):
		deny(w, http.StatusForbidden, fmt.Sprintf("Host %q is not a name of this server", r.Host))
	case !g.fromHere(r.Header.Values("Origin")):
		deny(w, http.StatusForbidden, fmt.Sprintf("Origin %q is not this server", r.Header.Get("Origin")))
	case r.URL.Path != "/" && r.URL.Path != "/mcp":
		deny(w, http.StatusNotFound, "MCP is served at /mcp")
	case !g.allowed(r.Header.Get("Authorization")):
		w.Header().Set("WWW-Authenticate", "Bearer")
		deny(w, http.StatusUnauthorized, "a bearer token is needed")
	case r.Method == http.MethodPost:
		g.post(w, r)
	case r.Method == http.MethodDelete:
		g.stopCalls(r.Header.Get("Mcp-Session-Id"))
		g.next.ServeHTTP(w, r)
	default:
		g.next.ServeHTTP(w, r)
	}
}

// ours tells whether a Host header names this server. A page of another site that
// has its own name lead here still sends that name; an address in figures cannot
// be led anywhere.
func (g *guard) ours(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().IsLoopback() || !g.loopback
	}
	for _, name := range g.names {
		if host == name || host == name+"." {
			return true
		}
	}
	return false
}

// fromHere tells whether a request comes from no web page at all, or from one of
// this server or machine.
func (g *guard) fromHere(origins []string) bool {
	if len(origins) == 0 {
		return true
	}
	u, err := url.Parse(origins[0])
	return len(origins) == 1 && err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && g.ours(u.Host)
}

// allowed compares in a time that says nothing about the token.
func (g *guard) allowed(authorization string) bool {
	if g.http.Token == "" {
		return true
	}
	scheme, token, _ := strings.Cut(authorization, " ")
	given, want := sha256.Sum256([]byte(strings.TrimSpace(token))), sha256.Sum256([]byte(g.http.Token))
	return subtle.ConstantTimeCompare(given[:], want[:]) == 1 && strings.EqualFold(scheme, "Bearer")
}

// post reads a message whole, and passes it on if it is one.
func (g *guard) post(w http.ResponseWriter, r *http.Request) {
	body, ok := g.body(w, r)
	if !ok {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if problem := checkBody(body); problem != nil {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		w.Write(problem)
		return
	}
	if r.Header.Get("Mcp-Session-Id") == "" && !g.http.Stateless {
		if !g.open() {
			w.Header().Set("Retry-After", "60")
			deny(w, http.StatusServiceUnavailable, fmt.Sprintf("there are %d sessions already; end one", g.http.MaxSessions))
			return
		}
		defer g.opened()
	}
	g.next.ServeHTTP(w, r)
}

// body reads the body of a request, in bounded time and space.
func (g *guard) body(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	c := http.NewResponseController(w)
	_ = c.SetReadDeadline(time.Now().Add(bodyTime)) // a connection that has none is closed by the server's own limits
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, g.http.MaxBody))
	_ = c.SetReadDeadline(time.Time{})
	switch tooLarge, ok := errors.AsType[*http.MaxBytesError](err); {
	case ok:
		deny(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the request is larger than %d bytes", tooLarge.Limit))
	case errors.Is(err, os.ErrDeadlineExceeded):
		deny(w, http.StatusRequestTimeout, fmt.Sprintf("the request took longer than %v to arrive", bodyTime))
	case err != nil:
		deny(w, http.StatusBadRequest, "the request did not arrive whole")
	}
	return body, err == nil
}

// checkBody returns the answer to a body that is not a message; nil if it is one.
func checkBody(body []byte) (answer []byte) {
	body = bytes.TrimSpace(body)
	switch {
	case len(body) == 0:
		return errorLine(nil, jsonrpc.CodeInvalidRequest, "the request is empty")
	case !json.Valid(body):
		return errorLine(nil, jsonrpc.CodeParseError, "the request is not JSON")
	case body[0] == '[':
		return nil // a batch; the SDK knows which versions have them
	}
	e, err := readEnvelope(body)
	if err != nil {
		return errorLine(e.id, jsonrpc.CodeInvalidRequest, err.Error())
	}
	if _, ok := readID(e.id); !ok && e.id != nil && e.method != nil {
		return errorLine(nil, jsonrpc.CodeInvalidRequest, errID.Error())
	}
	return nil
}

// open counts a session that is about to begin, if there is room for one.
func (g *guard) open() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.opening
	for range g.server.sdk.Sessions() {
		n++
	}
	if n >= g.http.MaxSessions {
		return false
	}
	g.opening++
	return true
}

func (g *guard) opened() {
	g.mu.Lock()
	g.opening--
	g.mu.Unlock()
}

// stopCalls stops what a session has under way, before it is ended.
func (g *guard) stopCalls(id string) {
	for ss := range g.server.sdk.Sessions() {
		if id != "" && ss.ID() == id {
			g.server.session(ss).stopCalls()
		}
	}
}

func deny(w http.ResponseWriter, status int, reason string) {
	http.Error(w, reason, status)
}
