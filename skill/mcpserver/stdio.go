package mcpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
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
func (s *Server) Stdio(ctx context.Context, in io.Reader, out io.Writer) error {
	c := newConn(s, in, out)
	ss, err := s.sdk.Connect(ctx, c, nil)
	if err != nil {
		return err
	}
	c.session = s.session(ss)
	c.session.unread.hangUp = func(why error) {
		if c.out.fail(why) {
			s.logf("closed the client: %v", why)
		}
	}
	c.out.unread = c.session.unread
	go c.readLines()
	select {
	case <-ctx.Done():
	case <-c.out.broken:
	case <-c.ended:
		c.session.endInput()
		c.awaitIdle(drainTime)
	}
	c.session.stopCalls()
	c.awaitIdle(stopTime)
	c.Close()
	return nil
}

// conn is the connection to a client that reads and writes lines. To the SDK it is both a
// transport and its connection. It answers lines that are not valid messages, for which the SDK
// would end the connection.
type conn struct {
	server  *Server
	session *session
	in      *bufio.Reader
	out     *lineWriter
	forSDK  chan jsonrpc.Message // messages for the SDK, in the order of the lines
	ended   chan struct{}        // closed at the end of the input
	closed  chan struct{}
	closing sync.Once

	requests
	sending int    // messages that are being written
	version string // of the protocol; "" before it has been negotiated
	// closed when no request is pending and no message is being written; nil when nobody waits for that
	whenIdle chan struct{}
}

func newConn(s *Server, in io.Reader, out io.Writer) *conn {
	c := &conn{
		server:   s,
		in:       bufio.NewReaderSize(in, 64<<10),
		out:      newLineWriter(out),
		forSDK:   make(chan jsonrpc.Message),
		ended:    make(chan struct{}),
		closed:   make(chan struct{}),
		requests: requests{pending: make(map[callID]*pending)},
	}
	return c
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
func (c *conn) Connect(context.Context) (mcp.Connection, error) { return c, nil }

// SessionID implements mcp.Connection.
func (c *conn) SessionID() string { return "" }

// Close implements mcp.Connection.
func (c *conn) Close() error {
	c.closing.Do(func() { close(c.closed) })
	return nil
}

// Read implements mcp.Connection: it returns the next message for the SDK.
func (c *conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-c.forSDK:
		return m, nil
	case <-c.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write implements mcp.Connection: it sends a message of the SDK to the client.
func (c *conn) Write(_ context.Context, m jsonrpc.Message) error {
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
	case p.agreed != nil && json.Unmarshal(r.Result, &agreed) == nil:
		c.mu.Lock()
		c.version = agreed.ProtocolVersion
		c.mu.Unlock()
	}
	if p.agreed != nil {
		defer close(p.agreed)
	}
	if p.reads {
		defer c.session.unread.release()
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
