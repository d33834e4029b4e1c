package mcpserver

import (
	"context"
	"errors"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"textskill/skill"
)

// session is what belongs to one client.
type session struct {
	server   *Server
	state    *skill.Session
	over     chan struct{} // closed when the client sends nothing more
	overOnce sync.Once

	mu      sync.Mutex
	running map[*running]bool
	ended   bool
	scope   *scope // nil until the client's roots are known
	changes int    // of the roots, as far as the client told

	asking sync.Mutex // held while the client is asked for its roots
}

// running is a call that can be stopped.
type running struct{ stop context.CancelCauseFunc }

// scope is what the calls of a session work on.
type scope struct {
	x       *skill.Executor
	refusal string // why no call is carried out; "" if they are
	narrow  bool   // x was opened for this scope
	users   int    // calls that use it, and one while the session does
}

var errOver = errors.New("the client is gone")

func newSession(s *Server) *session {
	return &session{server: s, state: &skill.Session{}, over: make(chan struct{}), running: make(map[*running]bool)}
}

// session returns the session of a client, which begins with its first call and
// ends with its connection.
func (s *Server) session(ss *mcp.ServerSession) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.sessions[ss]; c != nil {
		return c
	}
	c := newSession(s)
	s.sessions[ss] = c
	go func() {
		_ = ss.Wait() // how the connection ended does not matter
		s.mu.Lock()
		delete(s.sessions, ss)
		s.mu.Unlock()
		c.end()
	}()
	return c
}

// begin returns the context of one call, which the session's end cancels, and what
// stops it sooner.
func (c *session) begin(ctx context.Context) (context.Context, *running) {
	ctx, stop := context.WithCancelCause(ctx)
	r := &running{stop}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		stop(errOver)
	}
	c.running[r] = true
	return ctx, r
}

// done ends what begin began.
func (c *session) done(r *running) {
	r.stop(nil)
	c.mu.Lock()
	delete(c.running, r)
	c.mu.Unlock()
}

// noMore tells that the client sends nothing more, not even answers.
func (c *session) noMore() { c.overOnce.Do(func() { close(c.over) }) }

// stopCalls cancels what runs and whatever is begun from now on.
func (c *session) stopCalls() {
	c.noMore()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	for r := range c.running {
		r.stop(errOver)
	}
}

// end stops the calls and gives back what the session had opened.
func (c *session) end() {
	c.stopCalls()
	c.forgetScope()
}

// known returns the scope, for a call that then leaves it; nil if the client has
// to be asked first.
func (c *session) known() *scope {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.scope != nil {
		c.scope.users++
	}
	return c.scope
}

// leave ends one use of a scope.
func (c *session) leave(sc *scope) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.release(sc)
}

func (c *session) release(sc *scope) {
	if sc.users--; sc.users == 0 && sc.narrow {
		sc.x.Close()
	}
}

// forgetScope lets the next call ask for the roots again. Calls under way keep
// what they began with.
func (c *session) forgetScope() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes++
	if c.scope != nil {
		c.release(c.scope)
		c.scope = nil
	}
}
