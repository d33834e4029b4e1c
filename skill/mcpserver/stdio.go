package mcpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	maxPending = 4096            // requests of one client under way
	afterInput = 5 * time.Second // for what is under way when the input ends
	afterStop  = 5 * time.Second // for what was told to stop
)

// Stdio serves one client that writes messages to in, one per line, and reads
// them from out. It returns nil when in ends or ctx is done, once what was under
// way has been answered or stopped. A read of in may still be waiting then.
func (s *Server) Stdio(ctx context.Context, in io.Reader, out io.Writer) error {
	c := newConn(s, in, out)
	ss, err := s.sdk.Connect(ctx, c, nil)
	if err != nil {
		return err
	}
	c.session = s.session(ss)
	go c.work()
	select {
	case <-ctx.Done():
	case <-c.out.broken:
	case <-c.ended:
		c.session.noMore()
		c.settled(afterInput)
	}
	c.session.stopCalls()
	c.settled(afterStop)
	c.Close()
	return nil
}

// conn is the connection to a client that reads and writes lines. For the SDK it
// is a transport and its connection; the lines are read by workers, which carry
// out short calls themselves and leave the rest to the SDK.
type conn struct {
	server  *Server
	session *session
	in      *bufio.Reader
	out     *lineWriter
	turn    chan struct{}        // whoever has it reads; closed at the end of the input
	forSDK  chan jsonrpc.Message // what the SDK is to handle, in the order of the lines
	ended   chan struct{}        // closed at the end of the input
	closed  chan struct{}
	closing sync.Once
	waiting atomic.Int32 // workers that wait for their turn

	mu      sync.Mutex
	pending map[callID]*pending
	sending int           // messages that are not all written yet
	version string        // of the protocol, once it is agreed on; "" before
	none    chan struct{} // closed when nothing is pending or sent; nil when nobody waits for that
}

// pending is a request that has not been answered.
type pending struct {
	running   *running // the call that a worker carries out; nil of one that the SDK does
	cancelled bool     // no answer is sent
	first     bool     // is the request that agrees on a version of the protocol
}

var errCancelled = errors.New("the client cancelled the call")

func newConn(s *Server, in io.Reader, out io.Writer) *conn {
	c := &conn{
		server:  s,
		in:      bufio.NewReaderSize(in, 64<<10),
		out:     newLineWriter(out),
		turn:    make(chan struct{}, 1),
		forSDK:  make(chan jsonrpc.Message),
		ended:   make(chan struct{}),
		closed:  make(chan struct{}),
		pending: make(map[callID]*pending),
	}
	c.turn <- struct{}{}
	return c
}

// Connect is for the SDK.
func (c *conn) Connect(context.Context) (mcp.Connection, error) { return c, nil }

// SessionID is for the SDK.
func (c *conn) SessionID() string { return "" }

// Close is for the SDK.
func (c *conn) Close() error {
	c.closing.Do(func() { close(c.closed) })
	return nil
}

// Read gives the SDK its next message.
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

// Write sends a message of the SDK.
func (c *conn) Write(_ context.Context, m jsonrpc.Message) error {
	r, ok := m.(*jsonrpc.Response)
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
	case p.first && json.Unmarshal(r.Result, &agreed) == nil:
		c.mu.Lock()
		c.version = agreed.ProtocolVersion
		c.mu.Unlock()
	}
	return c.answer(p, append(data, '\n'))
}

// begin makes a request pending. It fails if another of its id is, or too many are.
func (c *conn) begin(id callID, p *pending) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.pending[id] != nil:
		return errInUse
	case len(c.pending) >= maxPending:
		return errBusy
	}
	c.pending[id] = p
	return nil
}

// done ends what begin began, and returns it, for answer; nil if there is none.
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

// answer sends the answer to a request that is done, a line.
func (c *conn) answer(p *pending, line []byte) error {
	defer c.sent()
	if p.cancelled {
		return nil
	}
	return c.out.send(line)
}

// sent ends the sending of a message. What it left to another to write is written
// before that one's ends.
func (c *conn) sent() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sending--
	if c.idle() && c.none != nil {
		close(c.none)
		c.none = nil
	}
}

func (c *conn) idle() bool { return len(c.pending) == 0 && c.sending == 0 }

// cancel stops a request that is under way. Its answer is not sent; that it was
// too late is no error.
func (c *conn) cancel(id callID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.pending[id]; p != nil && !p.first {
		p.cancelled = true
		if p.running != nil {
			p.running.stop(errCancelled)
		}
	}
}

// mayStop lets cancel stop a call, which it may have asked for already.
func (c *conn) mayStop(p *pending, r *running) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p.running = r
	if p.cancelled {
		r.stop(errCancelled)
	}
}

// settled waits until all requests are answered, the client is gone, or for d.
func (c *conn) settled(d time.Duration) {
	c.mu.Lock()
	if c.idle() {
		c.mu.Unlock()
		return
	}
	none := make(chan struct{})
	c.none = none
	c.mu.Unlock()
	select {
	case <-none:
	case <-c.out.broken:
	case <-time.After(d):
	}
}
