package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"textskill/parser/rawjson"
	"textskill/skill/internal/door"
)

// A Relay carries a message of a client to a [Server] elsewhere, and returns what
// [Server.Relayed] returns there. Its error is that the server cannot be reached. It is
// safe for concurrent use.
type Relay func(ctx context.Context, m Message) (Reply, error)

// A Message is what a client has sent over streamable HTTP, or could have.
type Message struct {
	Header http.Header // those that the protocol knows
	Body   []byte

	// Notify is called with each notification about a call that the client is to see before
	// the reply, as JSON. It is nil if the client wants none.
	Notify func(notification []byte) `json:"-"`
}

// A Reply is the answer to a Message.
type Reply struct {
	Status int
	Header http.Header
	Body   []byte
}

var relayed = []string{"Accept", "Content-Type", sessionHeader, versionHeader, methodHeader, nameHeader}

const (
	sessionHeader = "Mcp-Session-Id"
	versionHeader = "Mcp-Protocol-Version"
	methodHeader  = "Mcp-Method"
	nameHeader    = "Mcp-Name"

	carriedHeader = "Skill-Carried" // names a message that was carried here
)

// HTTP serves clients over streamable HTTP, as [Server.HTTP] does, until ctx is done.
func (r Relay) HTTP(ctx context.Context, h HTTP) error {
	h = h.withDefaults()
	listener, err := h.listen()
	if err != nil {
		return err
	}
	g := &guard{relay: r, http: h, door: door.New(listener.Addr(), h.Addr, h.Hosts),
		requests: make(chan struct{}, maxRequests)}
	return h.serve(ctx, listener, g, (*door.Server).End)
}

func (r Relay) post(w http.ResponseWriter, req *http.Request, body []byte) {
	m := Message{Header: http.Header{}, Body: body}
	for _, name := range relayed {
		if v := req.Header.Values(name); v != nil {
			m.Header[name] = v
		}
	}
	events := &eventStream{w: w}
	if wantsProgress(body) { // the answer may be events: a client that does not take them is refused
		m.Notify = events.notify
	}
	reply, err := r(req.Context(), m)
	if events.end(reply, err, body) {
		return
	}
	if err != nil {
		door.Busy(w, err.Error(), 5*time.Second)
		return
	}
	maps.Copy(w.Header(), reply.Header)
	w.WriteHeader(reply.Status)
	w.Write(reply.Body)
}

// wantsProgress reports whether a message may ask for notifications of progress.
func wantsProgress(message []byte) bool { return bytes.Contains(message, []byte(`"progressToken"`)) }

// An eventStream answers a request of HTTP with events, once there is one before the reply.
type eventStream struct {
	w http.ResponseWriter

	mu           sync.Mutex
	begun, ended bool
}

func (s *eventStream) notify(notification []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	if !s.begun {
		s.begun = true
		s.w.Header().Set("Content-Type", "text/event-stream")
		s.w.Header().Set("Cache-Control", "no-cache")
	}
	s.send(notification)
}

func (s *eventStream) send(message []byte) {
	fmt.Fprintf(s.w, "event: message\ndata: %s\n\n", bytes.TrimSpace(message))
	_ = http.NewResponseController(s.w).Flush() // fails only if the client is gone
}

// end sends the reply to a request if there were events before it, which it reports. No
// notification follows.
func (s *eventStream) end(reply Reply, err error, request []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended = true; !s.begun {
		return false
	}
	e, _ := readEnvelope(bytes.Clone(request))
	s.send(answerTo(e.id, reply, err))
	return true
}

// answerTo returns the answer to a request as JSON: the reply of a server elsewhere, or an error
// that says why it cannot be passed on.
func answerTo(id []byte, reply Reply, err error) []byte {
	switch {
	case err != nil:
		return errorLine(id, codeBusy, err.Error())
	case !json.Valid(reply.Body):
		return errorLine(id, jsonrpc.CodeInvalidRequest, strings.TrimSpace(string(reply.Body)))
	}
	return reply.Body
}

// Stdio serves one client that writes messages to in, one per line, and reads them from
// out, as [Server.Stdio] does.
func (r Relay) Stdio(ctx context.Context, in io.Reader, out io.Writer) error {
	c := &relayConn{relay: r, out: newLineWriter(out), session: rand.Text(), version: "2025-11-25",
		room: make(chan struct{}, maxPending)}
	c.out.unread = &unread{limit: maxUnread, patience: unreadTime,
		hangUp: func(why error) { c.out.fail(why) }}
	ended := make(chan struct{})
	inner, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		defer close(ended)
		lines := bufio.NewReaderSize(in, 64<<10)
		for {
			line, err := readLine(lines)
			switch {
			case err == errLongLine:
				c.out.send(errorLine(nil, jsonrpc.CodeInvalidRequest,
					fmt.Sprintf("a line is longer than %d bytes", maxLine)))
			case err != nil:
				c.calls.Wait()
				return
			case len(bytes.TrimSpace(line)) > 0:
				c.line(inner, line)
			}
		}
	}()
	select {
	case <-ctx.Done():
	case <-c.out.broken:
	case <-ended:
	}
	return nil
}

// relayConn is a connection to a client that reads and writes lines.
type relayConn struct {
	relay   Relay
	out     *lineWriter
	session string
	version string // of the protocol, which initialize agrees on
	calls   sync.WaitGroup
	room    chan struct{} // for requests that have not been answered
}

// line carries a message. Only initialize is waited for, whose answer the next ones need.
func (c *relayConn) line(ctx context.Context, line []byte) {
	if problem := checkBody(line); problem != nil {
		c.out.send(problem)
		return
	}
	m := Message{Header: c.header(line), Body: line}
	e, _ := readEnvelope(bytes.TrimSpace(line))
	if string(e.method) == `"initialize"` || e.id == nil {
		c.carry(ctx, m, e)
		return
	}
	c.room <- struct{}{}
	c.calls.Go(func() {
		c.carry(ctx, m, e)
		<-c.room
	})
}

func (c *relayConn) carry(ctx context.Context, m Message, e envelope) {
	var mu sync.Mutex
	ended := false
	if wantsProgress(m.Body) {
		m.Notify = func(notification []byte) {
			mu.Lock()
			defer mu.Unlock()
			if !ended {
				c.out.send(append(bytes.TrimSpace(notification), '\n'))
			}
		}
	}
	reply, err := c.relay(ctx, m)
	mu.Lock()
	ended = true
	mu.Unlock()
	if e.id == nil || e.method == nil {
		return
	}
	answer := answerTo(e.id, reply, err)
	var head struct {
		Result struct {
			Version string `json:"protocolVersion"`
		}
	}
	if string(e.method) == `"initialize"` && json.Unmarshal(answer, &head) == nil &&
		head.Result.Version != "" {
		c.version = head.Result.Version
	}
	c.out.send(append(bytes.TrimRight(answer, "\n"), '\n'))
}

// header returns what a client of HTTP would send with a message.
func (c *relayConn) header(line []byte) http.Header {
	var m struct {
		Method string
		Params struct {
			Name, URI string
			Meta      map[string]json.RawMessage `json:"_meta"`
		}
	}
	_ = json.Unmarshal(line, &m) // of other forms nothing is known
	h := http.Header{"Accept": {"application/json, text/event-stream"}, "Content-Type": {"application/json"}}
	if version, ok := rawjson.String(m.Params.Meta[mcp.MetaKeyProtocolVersion]); ok {
		h.Set(versionHeader, version)
		h.Set(methodHeader, m.Method)
		if name := m.Params.Name + m.Params.URI; name != "" {
			h.Set(nameHeader, name)
		}
		return h
	}
	h.Set(sessionHeader, c.session)
	if m.Method != "initialize" {
		h.Set(versionHeader, c.version)
	}
	return h
}

// Relayed answers a message that a [Relay] has carried here. Nothing is kept between two
// messages: a client may be served by one server and then by another. A session of the
// protocol's versions that have them is only a name, which begins with place, and by which
// a request can be cancelled.
func (s *Server) Relayed(ctx context.Context, place string, m Message) Reply {
	session, call := m.Header.Get(sessionHeader), ctx
	e, err := readEnvelope(append([]byte(nil), bytes.TrimSpace(m.Body)...))
	if err == nil && session != "" {
		if string(e.method) == `"notifications/cancelled"` {
			s.relaying.cancel(session, e.params)
			return Reply{Status: http.StatusAccepted}
		}
		var stop context.CancelFunc
		call, stop = context.WithCancel(ctx) // the message itself goes on: it is answered
		defer stop()
		defer s.relaying.begin(session, e.id, stop)()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/mcp",
		bytes.NewReader(m.Body))
	if err != nil {
		return Reply{Status: http.StatusBadRequest, Body: []byte(err.Error())}
	}
	req.Header = m.Header.Clone()
	req.Header.Del(sessionHeader)
	id := rand.Text()
	req.Header.Set(carriedHeader, id)
	s.relaying.carried.Store(id, carried{call, m.Notify})
	defer s.relaying.carried.Delete(id)
	w := &recorder{Reply: Reply{Status: http.StatusOK, Header: http.Header{}}}
	s.relaying.handler().ServeHTTP(w, req)
	if string(e.method) == `"initialize"` && w.Status == http.StatusOK {
		w.Reply.Header.Set(sessionHeader, place+"."+rand.Text())
	}
	return w.Reply
}

// relaying are the messages that were carried here.
type relaying struct {
	handler func() http.Handler
	carried sync.Map // by carriedHeader

	mu      sync.Mutex
	running map[string]context.CancelFunc // by session and ID
}

// carried is what a call needs of the message that it came in. The SDK hands on neither: it ends a
// call with its request only in the protocol's newest version.
type carried struct {
	ctx    context.Context
	notify func([]byte) // nil if the client wants none
}

// begin records a request, until the function that it returns is called.
func (r *relaying) begin(session string, id []byte, stop context.CancelFunc) (end func()) {
	key := session + " " + string(id)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running[key] = stop
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.running, key)
	}
}

// of returns what a call needs of its message, false if it was not carried here.
func (r *relaying) of(req *mcp.CallToolRequest) (carried, bool) {
	if req.Extra == nil {
		return carried{}, false
	}
	m, _ := r.carried.Load(req.Extra.Header.Get(carriedHeader))
	c, ok := m.(carried)
	return c, ok
}

// cancel stops the request that a notification names.
func (r *relaying) cancel(session string, params []byte) {
	var p struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	_ = json.Unmarshal(params, &p) // one without params names none
	r.mu.Lock()
	stop := r.running[session+" "+string(p.RequestID)]
	r.mu.Unlock()
	if stop != nil {
		stop()
	}
}

type recorder struct{ Reply }

func (w *recorder) Header() http.Header    { return w.Reply.Header }
func (w *recorder) WriteHeader(status int) { w.Status = status }
func (w *recorder) Write(data []byte) (int, error) {
	w.Body = append(w.Body, data...)
	return len(data), nil
}
