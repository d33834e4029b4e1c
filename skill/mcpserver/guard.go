package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"textskill/parser/rawjson"
	"textskill/skill/internal/door"
)

// guard passes valid requests on and refuses all others.
type guard struct {
	relay     Relay // which all messages are for; nil if they are for server
	server    *Server
	sessions  *clients
	stateful  http.Handler
	stateless http.Handler // of the versions from statelessVersion on
	http      HTTP
	door      *door.Door
	requests  chan struct{}
	bodies    atomic.Int64 // bytes of requests that are being read
}

func (s *Server) guarded(h HTTP, addr net.Addr) *guard {
	return &guard{
		server:    s,
		sessions:  newClients(s, h),
		stateful:  s.streamable(h, h.Stateless),
		stateless: s.streamable(h, true),
		http:      h,
		door:      door.New(addr, h.Addr, h.Hosts),
		requests:  make(chan struct{}, maxRequests),
	}
}

// ServeHTTP checks the host that a request is meant for, the page it comes from, its
// token, and last its body. A request counts as one of maxRequests when its body has
// been read.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.serve(&patientWriter{ResponseWriter: w, c: http.NewResponseController(w)}, r)
}

func (g *guard) serve(w *patientWriter, r *http.Request) {
	unknown := g.http.Token != "" && !door.Bearer(r.Header.Get("Authorization"), g.http.Token)
	switch {
	case !g.door.Host(r.Host):
		http.Error(w, fmt.Sprintf("Host %q is not a name of this server", r.Host), http.StatusForbidden)
	case !g.door.Origin(r.Host, r.Header.Values("Origin")):
		http.Error(w, fmt.Sprintf("Origin %q is not this server", r.Header.Get("Origin")),
			http.StatusForbidden)
	case r.URL.Path != "/" && r.URL.Path != "/mcp" && unknown: // clients look here for a sign-in
		http.Error(w, "the bearer token is missing or wrong, and there is no sign-in; MCP is served at /mcp",
			http.StatusNotFound)
	case r.URL.Path != "/" && r.URL.Path != "/mcp":
		http.Error(w, "MCP is served at /mcp", http.StatusNotFound)
	case unknown:
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "a bearer token is needed", http.StatusUnauthorized)
	case r.Method == http.MethodPost:
		g.post(w, r)
	case g.relay != nil:
		w.Header().Set("Allow", "POST")
		http.Error(w, "only POST is answered here", http.StatusMethodNotAllowed)
	default:
		g.limited(w, func() { g.pass(w, r) })
	}
}

// limited calls serve, unless maxRequests are being answered.
func (g *guard) limited(w http.ResponseWriter, serve func()) {
	select {
	case g.requests <- struct{}{}:
		defer func() { <-g.requests }()
		serve()
	default:
		door.Busy(w, fmt.Sprintf("%d requests are being answered", maxRequests), busyTime)
	}
}

// pass hands a request to the SDK.
func (g *guard) pass(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Mcp-Protocol-Version") >= statelessVersion && r.Header.Get("Mcp-Session-Id") == "" {
		g.stateless.ServeHTTP(w, r)
		return
	}
	if r.Method == http.MethodDelete {
		g.sessions.stopCalls(r.Header.Get("Mcp-Session-Id"))
	}
	g.stateful.ServeHTTP(w, r)
}

// post reads a body, and passes the request on if the body is a message.
func (g *guard) post(w *patientWriter, r *http.Request) {
	body, ok := g.body(w, r)
	if !ok {
		return
	}
	if problem := checkBody(body); problem != nil {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		w.Write(problem)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	g.limited(w, func() {
		if g.relay != nil {
			g.relay.post(w, r, body)
			return
		}
		if cl := g.sessions.begin(w, r); cl != nil {
			defer g.sessions.end(cl, w)
			switch e, err := readEnvelope(body); {
			case err != nil: // a batch
			case string(e.method) == rootsChanged:
				cl.session.forgetScope()
			case g.server.reads(e):
				w.unread.reserve(r.Context().Done())
				defer w.unread.release()
			}
			g.pass(w, r)
			return
		}
		if g.sessions.isEnding(r.Header.Get("Mcp-Session-Id")) {
			http.Error(w, "the session has ended", http.StatusNotFound)
			return
		}
		if r.Header.Get("Mcp-Session-Id") != "" || g.http.Stateless ||
			r.Header.Get("Mcp-Protocol-Version") >= statelessVersion {
			g.pass(w, r)
			return
		}
		if !g.sessions.reserve() {
			door.Busy(w, fmt.Sprintf("%d sessions are in use", g.http.MaxSessions), minIdle)
			return
		}
		defer func() { g.sessions.opened(w.Header().Get("Mcp-Session-Id")) }()
		g.pass(w, r)
	})
}

// body reads the body of a request within limits of size and time.
func (g *guard) body(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	c := http.NewResponseController(w)
	in := http.MaxBytesReader(w, r.Body, g.http.MaxBody)
	body := make([]byte, 0, min(max(r.ContentLength, 0), 4<<10)+1)
	var err error
	defer func() { g.bodies.Add(-int64(len(body))) }()
	for began := time.Now(); err == nil; {
		// without deadlines, the limits of the server itself apply
		_ = c.SetReadDeadline(began.Add(bodyTime + time.Duration(len(body)/bodyPerSecond)*time.Second))
		var n int
		n, err = in.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if g.bodies.Add(int64(n)) > maxBodies {
			door.Busy(w, fmt.Sprintf("requests of %d bytes are being read", int64(maxBodies)), busyTime)
			return nil, false
		}
		if len(body) == cap(body) {
			body = slices.Grow(body, len(body))
		}
	}
	_ = c.SetReadDeadline(time.Time{})
	switch tooLarge, ok := errors.AsType[*http.MaxBytesError](err); {
	case ok:
		http.Error(w, fmt.Sprintf("the request is larger than %d bytes", tooLarge.Limit),
			http.StatusRequestEntityTooLarge)
	case errors.Is(err, os.ErrDeadlineExceeded):
		http.Error(w, fmt.Sprintf("the request took too long to arrive: %v and a second for each %d bytes are allowed", bodyTime, bodyPerSecond), http.StatusRequestTimeout)
	case err != io.EOF:
		http.Error(w, "the request was cut off", http.StatusBadRequest)
	}
	return body, err == io.EOF
}

func checkBody(body []byte) (answer []byte) {
	body = bytes.TrimSpace(body)
	switch {
	case len(body) == 0:
		return errorLine(nil, jsonrpc.CodeInvalidRequest, "the request is empty")
	case !json.Valid(body):
		return errorLine(nil, jsonrpc.CodeParseError, "the request is not JSON")
	case body[0] == '[':
		n := 0
		for range rawjson.EachElement(body) {
			n++
		}
		if n > maxBatch {
			return errorLine(nil, jsonrpc.CodeInvalidRequest,
				fmt.Sprintf("the request has %d messages; %d are allowed", n, maxBatch))
		}
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

// patientWriter closes the connection of a client that does not take what is written
// within writeTime and a second for each bodyPerSecond.
type patientWriter struct {
	http.ResponseWriter
	c      *http.ResponseController
	unread *unread // of the client; nil if it has no session
}

// WriteHeader implements [http.ResponseWriter].
func (w *patientWriter) WriteHeader(status int) {
	w.allow(0)
	w.ResponseWriter.WriteHeader(status)
}

// allow sets how long the client may take for n bytes and what is written with them.
func (w *patientWriter) allow(n int) {
	// without deadlines, such a client is waited for
	_ = w.c.SetWriteDeadline(time.Now().Add(writeTime + time.Duration(n/bodyPerSecond)*time.Second))
}

// Write implements [http.ResponseWriter].
func (w *patientWriter) Write(data []byte) (int, error) {
	w.allow(len(data)) // before add, so that a client which is closed now gets no more time
	if w.unread != nil {
		if !w.unread.add(len(data)) {
			return 0, os.ErrDeadlineExceeded
		}
		defer w.unread.take(len(data))
	}
	return w.ResponseWriter.Write(data)
}

// Unwrap lets the SDK flush and set deadlines.
func (w *patientWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
