package mcpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	drainTime = 5 * time.Second // for running calls to end after the input has ended
	stopTime  = 5 * time.Second // for cancelled calls to end
)

// Stdio serves one client that writes messages to in, one per line, and reads
// them from out. It returns nil when in ends or ctx is done, after the calls that
// were running have been answered or stopped. A read of in may then still block.
// A second initialize begins a new session, with roots of its own: some gateways have
// several clients in turn on one pipe.
func (s *Server) Stdio(ctx context.Context, in io.Reader, out io.Writer) error {
	c := newConn(ctx, s, in, out)
	first, err := c.begun()
	if err != nil {
		return err
	}
	c.current, c.unread, c.out.unread = first, first.session.unread, first.session.unread
	c.unread.hangUp = func(why error) {
		if c.out.fail(why) {
			s.logf("closed the client: %v", why)
		}
	}
	go c.readLines()
	select {
	case <-ctx.Done():
	case <-c.out.broken:
	case <-c.ended:
		for _, e := range c.all() {
			e.session.endInput()
		}
		c.awaitIdle(drainTime)
	}
	for _, e := range c.all() {
		e.session.stopCalls()
	}
	c.awaitIdle(stopTime)
	for _, e := range c.all() {
		e.Close()
	}
	return nil
}

// conn is the connection to a client that reads and writes lines. It answers lines that are not
// valid messages, for which the SDK would end the connection.
type conn struct {
	ctx    context.Context // of the whole connection
	server *Server
	unread *unread
	in     *bufio.Reader
	out    *lineWriter
	ended  chan struct{} // closed at the end of the input

	requests
	current *end   // of the session that messages belong to; the reader of lines alone changes it
	older   []*end // of sessions before, whose calls have not been answered
	sending int    // messages that are being written
	version string // of the protocol; "" before it has been negotiated
	// closed when no request is pending and no message is being written; nil when nobody waits for that
	whenIdle chan struct{}
}

// An end is the connection's end of one session: to the SDK it is both a transport and its
// connection.
type end struct {
	c       *conn
	session *session
	forSDK  chan jsonrpc.Message // messages for the SDK, in the order of the lines
	closed  chan struct{}
	closing sync.Once
	pending int // requests that the SDK has not answered
}

func newConn(ctx context.Context, s *Server, in io.Reader, out io.Writer) *conn {
	return &conn{
		ctx:      ctx,
		server:   s,
		in:       bufio.NewReaderSize(in, 64<<10),
		out:      newLineWriter(out),
		ended:    make(chan struct{}),
		requests: requests{pending: make(map[callID]*pending)},
	}
}

// begun returns the end of a new session.
func (c *conn) begun() (*end, error) {
	e := &end{c: c, forSDK: make(chan jsonrpc.Message), closed: make(chan struct{})}
	ss, err := c.server.sdk.Connect(c.ctx, e, nil)
	if err != nil {
		return nil, err
	}
	e.session = c.server.session(ss)
	return e, nil
}

// all returns the ends of all sessions that are open.
func (c *conn) all() []*end {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append(slices.Clone(c.older), c.current)
}

// follow makes e the end of the session that the next messages belong to. Calls that run in the
// sessions before it are answered.
func (c *conn) follow(e *end) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.older, c.current = append(c.older, c.current), e
	c.closeAnswered()
}

// closeAnswered closes the older sessions that have nothing to answer. c.mu is held.
func (c *conn) closeAnswered() {
	c.older = slices.DeleteFunc(c.older, func(e *end) bool {
		if e.pending == 0 {
			e.Close()
		}
		return e.pending == 0
	})
}

// readLines routes all lines of the input.
func (c *conn) readLines() {
	defer close(c.ended)
	for {
		line, err := readLine(c.in)
		switch {
		case err == errLongLine:
			c.refuse(nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("a line is longer than %d bytes", maxLine))
		case err != nil:
			return
		default:
			c.route(line)
		}
	}
}

// Connect implements mcp.Transport.
func (e *end) Connect(context.Context) (mcp.Connection, error) { return e, nil }

// SessionID implements mcp.Connection.
func (e *end) SessionID() string { return "" }

// Close implements mcp.Connection.
func (e *end) Close() error {
	e.closing.Do(func() { close(e.closed) })
	return nil
}

// Read implements mcp.Connection: it returns the next message for the SDK.
func (e *end) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-e.forSDK:
		return m, nil
	case <-e.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write implements mcp.Connection: it sends a message of the SDK to the client.
func (e *end) Write(_ context.Context, m jsonrpc.Message) error {
	c := e.c
	r, ok := m.(*jsonrpc.Response)
	if ok && r.Error != nil {
		r.Error = wordedError(r.Error)
	}
	data, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	if !ok {
		c.mu.Lock()
		c.sending++
		c.mu.Unlock()
		defer c.sent()
		return c.out.send(append(data, '\n'))
	}
	var agreed struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	p := c.done(callIDOf(r.ID))
	switch {
	case p == nil:
		return nil
	case p.agreed != nil && r.Error == nil && json.Unmarshal(r.Result, &agreed) == nil:
		c.mu.Lock()
		c.version, p.accepted = agreed.ProtocolVersion, true
		c.mu.Unlock()
	}
	if p.agreed != nil {
		defer close(p.agreed)
	}
	if p.reads {
		defer c.unread.release()
	}
	return c.answer(p, append(data, '\n'))
}

// done removes a pending request and returns it, so that answer can be called; nil
// for an unknown ID.
func (c *conn) done(id callID) *pending {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.pending[id]
	if p != nil {
		delete(c.pending, id)
		c.sending++
		p.to.pending--
		c.closeAnswered()
	}
	return p
}

// answer sends a line, the answer to a request that done has returned.
func (c *conn) answer(p *pending, line []byte) error {
	defer c.sent()
	if p.cancelled {
		return nil
	}
	return c.out.send(line)
}

// sent records that a message has been written, or left to a writer that has not
// called sent itself.
func (c *conn) sent() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sending--
	if c.idle() && c.whenIdle != nil {
		close(c.whenIdle)
		c.whenIdle = nil
	}
}

func (c *conn) idle() bool { return len(c.pending) == 0 && c.sending == 0 }

// awaitIdle waits until all requests have been answered, but no longer than d and
// not for a client that is gone.
func (c *conn) awaitIdle(d time.Duration) {
	c.mu.Lock()
	if c.idle() {
		c.mu.Unlock()
		return
	}
	idle := make(chan struct{})
	c.whenIdle = idle
	c.mu.Unlock()
	select {
	case <-idle:
	case <-c.out.broken:
	case <-time.After(d):
	}
}
