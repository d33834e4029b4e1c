package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"textskill/skill"
	"textskill/skill/dialect"
)

// session is what belongs to one client.
type session struct {
	server     *Server
	state      *skill.Session
	unread     *unread
	inputEnded chan struct{} // closed when the client sends nothing more
	inputOnce  sync.Once

	mu      sync.Mutex
	running map[*running]bool
	ended   bool
	scope   *scope          // nil until the client's roots are known
	changes int             // how often the client has announced a change of its roots
	always  map[string]bool // names of tools that the user is no longer asked about

	position []string // where the history stood after the last call
	looked   time.Time

	asking sync.Mutex // held while the client is asked for its roots
}

const (
	maxNews = 20 // changes that are looked at for what a person has undone
	// to look takes longer than to read a file; a person takes longer than that
	newsEvery = 200 * time.Millisecond
)

// news says what a person has undone since the last call, so that the model does not take the
// files for what it left; "" for nothing. The tools of this server undo under the name of their
// dialect, the command under that of [dialect.Undo], the page under none.
func (c *session) news(ctx context.Context, x *skill.Executor) string {
	c.mu.Lock()
	first, soon := c.looked.IsZero(), time.Since(c.looked) < newsEvery
	c.mu.Unlock()
	if soon {
		return ""
	}
	now, err := x.Position(ctx)
	if err != nil {
		return ""
	}
	c.mu.Lock()
	before := c.position
	c.position, c.looked = now, time.Now()
	c.mu.Unlock()
	if first || slices.Equal(before, now) {
		return ""
	}
	r, err := x.Execute(ctx, &skill.Session{}, skill.History{Limit: maxNews})
	changes, ok := r.(skill.Changes)
	if err != nil || !ok {
		return ""
	}
	var lines []string
	for _, e := range changes.List {
		if slices.Contains(before, e.ID) {
			break
		}
		if e.Of == "" || e.Dialect != "" && e.Dialect != dialect.Undo.Name {
			continue
		}
		name := e.Path
		if rel, err := filepath.Rel(x.Dir(), name); err == nil && filepath.IsLocal(rel) {
			name = filepath.ToSlash(rel)
		}
		if n := len(e.Paths); n > 1 {
			name += fmt.Sprintf(" and %d more", n-1)
		}
		lines = append(lines, fmt.Sprintf("[change %s was undone outside of this session: %s is as it was before that]", e.Of, name))
	}
	return strings.Join(lines, "\n")
}

// running is a call that can be stopped.
type running struct{ stop context.CancelCauseFunc }

// scope is the part of the workspace that the calls of a session may use.
type scope struct {
	x       *skill.Executor
	refusal string // why every call is refused; "" if calls are executed
	narrow  bool   // x was opened for this scope and is closed with it
	users   int    // the calls that use it, plus one while it is the session's
}

// refused returns why a call is refused, "" if it is executed.
func (sc *scope) refused() string {
	if sc.refusal != "" {
		return sc.refusal
	}
	if err := sc.x.CheckReplaced(); err != nil {
		return err.Error()
	}
	return ""
}

var errClientGone = errors.New("the client is gone")

func newSession(s *Server) *session {
	return &session{server: s, state: cmp.Or(s.cfg.Session, &skill.Session{Guard: s.guard()}),
		unread:     &unread{limit: s.maxUnread, patience: s.patience},
		inputEnded: make(chan struct{}), running: make(map[*running]bool), always: make(map[string]bool)}
}

// guard is the guard of changes: the executor's, or else that of the tools.
func (s *Server) guard() skill.Guard {
	g := s.cfg.Executor.Config().Guard
	for _, d := range s.cfg.Dialects {
		g = cmp.Or(g, d.Guard)
	}
	return g
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

// begin returns the context of one call, which ends with the session at the latest,
// and what stops the call sooner.
func (c *session) begin(ctx context.Context) (context.Context, *running) {
	ctx, stop := context.WithCancelCause(ctx)
	r := &running{stop}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		stop(errClientGone)
	}
	c.running[r] = true
	return ctx, r
}

// done must follow begin when the call has ended.
func (c *session) done(r *running) {
	r.stop(nil)
	c.mu.Lock()
	delete(c.running, r)
	c.mu.Unlock()
}

// endInput records that the client sends nothing more, not even answers.
func (c *session) endInput() { c.inputOnce.Do(func() { close(c.inputEnded) }) }

// whileOpen returns a context for waiting for an answer of the client, which ends when
// the client sends nothing more.
func (c *session) whileOpen(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-c.inputEnded:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// stopCalls cancels the calls that are running and all that begin later.
func (c *session) stopCalls() {
	c.endInput()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	for r := range c.running {
		r.stop(errClientGone)
	}
}

// end stops the calls and closes what the session has opened.
func (c *session) end() {
	c.stopCalls()
	c.forgetScope()
}

// enterKnown returns the scope for one call, which must leave it afterwards; nil if
// the client has to be asked for its roots first.
func (c *session) enterKnown() *scope {
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

// forgetScope makes the next call ask for the roots again. Calls that are running
// keep their scope.
func (c *session) forgetScope() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes++
	if c.scope != nil {
		c.release(c.scope)
		c.scope = nil
	}
}
