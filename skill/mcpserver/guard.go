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

// guard passes valid requests to the SDK's handler and refuses all others.
type guard struct {
	server   *Server
	next     http.Handler
	http     HTTP
	loopback bool
	names    []string // the server's host names, in lower case
	requests chan struct{}

	mu      sync.Mutex
	opening int // sessions that are about to begin
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

// ServeHTTP checks the host that a request is meant for, the page it comes from, its
// token, and last its body.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case g.requests <- struct{}{}:
		defer func() { <-g.requests }()
	default:
		deny(w, http.StatusServiceUnavailable, fmt.Sprintf("%d requests are being answered; try again later", maxRequests))
		return
	}
	switch {
	case !g.hostAllowed(r.Host):
		deny(w, http.StatusForbidden, fmt.Sprintf("Host %q is not a name of this server", r.Host))
	case !g.originAllowed(r.Header.Values("Origin")):
		deny(w, http.StatusForbidden, fmt.Sprintf("Origin %q is not this server", r.Header.Get("Origin")))
	case r.URL.Path != "/" && r.URL.Path != "/mcp":
		deny(w, http.StatusNotFound, "MCP is served at /mcp")
	case !g.authorized(r.Header.Get("Authorization")):
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

// hostAllowed reports whether a Host header names this server. A page of another
// site may have its own name resolve to this machine (DNS rebinding), but its
// requests still carry that name; a numeric address cannot be rebound.
func (g *guard) hostAllowed(hostport string) bool {
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

// originAllowed reports whether a request does not come from a web page, or comes
// from one of this server.
func (g *guard) originAllowed(origins []string) bool {
	if len(origins) == 0 {
		return true
	}
	u, err := url.Parse(origins[0])
	return len(origins) == 1 && err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && g.hostAllowed(u.Host)
}

// authorized reports whether a request has the token, in a time that does not depend
// on the token.
func (g *guard) authorized(authorization string) bool {
	if g.http.Token == "" {
		return true
	}
	scheme, token, _ := strings.Cut(authorization, " ")
	given, want := sha256.Sum256([]byte(strings.TrimSpace(token))), sha256.Sum256([]byte(g.http.Token))
	return subtle.ConstantTimeCompare(given[:], want[:]) == 1 && strings.EqualFold(scheme, "Bearer")
}

// post reads a body, and passes the request on if the body is a message.
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
		if !g.reserve() {
			w.Header().Set("Retry-After", "60")
			deny(w, http.StatusServiceUnavailable, fmt.Sprintf("there are %d sessions already; end one", g.http.MaxSessions))
			return
		}
		defer g.unreserve()
	}
	g.next.ServeHTTP(w, r)
}

// body reads the body of a request within limits of size and time.
func (g *guard) body(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	c := http.NewResponseController(w)
	_ = c.SetReadDeadline(time.Now().Add(bodyTime)) // without deadlines, the limits of the server itself apply
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, g.http.MaxBody))
	_ = c.SetReadDeadline(time.Time{})
	switch tooLarge, ok := errors.AsType[*http.MaxBytesError](err); {
	case ok:
		deny(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the request is larger than %d bytes", tooLarge.Limit))
	case errors.Is(err, os.ErrDeadlineExceeded):
		deny(w, http.StatusRequestTimeout, fmt.Sprintf("the request took longer than %v to arrive", bodyTime))
	case err != nil:
		deny(w, http.StatusBadRequest, "the request was cut off")
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

// reserve counts a session that is about to begin; it returns false if there are
// MaxSessions.
func (g *guard) reserve() bool {
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

func (g *guard) unreserve() {
	g.mu.Lock()
	g.opening--
	g.mu.Unlock()
}

// stopCalls stops the calls of a session that is about to end.
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
