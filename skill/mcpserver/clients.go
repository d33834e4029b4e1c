package mcpserver

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// clients are the sessions of HTTP, by their ID.
type clients struct {
	server  *Server
	limits  HTTP
	minIdle time.Duration

	mu      sync.Mutex
	byID    map[string]*client
	opening int             // sessions that are about to begin
	ending  map[string]bool // sessions that are about to end: the SDK would still begin a call of theirs
}

// minIdle is how long a session must have been idle before another client may have its place.
const minIdle = 30 * time.Second

type client struct {
	sdk     *mcp.ServerSession
	session *session

	// clients.mu guards these.
	active map[*patientWriter]bool // of requests that are being answered, event streams not counted
	began  time.Time
	used   time.Time // when its last request ended
}

func newClients(s *Server, limits HTTP) *clients {
	return &clients{server: s, limits: limits, minIdle: minIdle, byID: make(map[string]*client), ending: make(map[string]bool)}
}

// reserve counts a session that is about to begin. If there are MaxSessions, it ends the
// one that is idle for longest; it returns false if none is idle for minIdle.
func (c *clients) reserve() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.byID)+c.opening >= c.limits.MaxSessions {
		id := ""
		for i, cl := range c.byID {
			if len(cl.active) == 0 && time.Since(cl.used) >= c.minIdle && (id == "" || cl.used.Before(c.byID[id].used)) {
				id = i
			}
		}
		if id == "" {
			return false
		}
		c.endLocked(id)
	}
	c.opening++
	return true
}

// opened ends what reserve began. id is that of the new session; "" if none has begun.
func (c *clients) opened(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opening--
	for ss := range c.server.sdk.Sessions() {
		if id == "" || ss.ID() != id {
			continue
		}
		now := time.Now()
		session := c.server.session(ss)
		session.unread.hangUp = func(why error) { c.hangUp(id, why) }
		c.byID[id] = &client{
			active: make(map[*patientWriter]bool),
			sdk:    ss, session: session, began: now, used: now,
		}
		go func() {
			_ = ss.Wait() // how the session ended does not matter
			c.mu.Lock()
			defer c.mu.Unlock()
			delete(c.byID, id)
		}()
	}
}

// endLocked ends a session without waiting for it. c.mu is held.
func (c *clients) endLocked(id string) {
	sdk := c.byID[id].sdk
	c.ending[id] = true
	delete(c.byID, id)
	go func() {
		c.server.endSession(sdk)
		c.mu.Lock()
		delete(c.ending, id)
		c.mu.Unlock()
	}()
}

// isEnding reports whether a session is about to end.
func (c *clients) isEnding(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ending[id]
}

// hangUp ends the session of a client that does not read, and its connections.
func (c *clients) hangUp(id string, why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cl := c.byID[id]
	if cl == nil {
		return
	}
	for w := range cl.active {
		_ = w.c.SetWriteDeadline(time.Now()) // without deadlines, the client is waited for
	}
	c.endLocked(id)
	c.server.logf("ended the session of a client: %v", why)
}

// stopCalls stops the calls of a session that is about to end.
func (c *clients) stopCalls(id string) {
	c.mu.Lock()
	cl := c.byID[id]
	c.mu.Unlock()
	if cl != nil {
		cl.session.stopCalls()
	}
}

// endOld ends sessions that are idle for too long or too old, until ctx is done.
func (c *clients) endOld(ctx context.Context) {
	tick := time.NewTicker(min(max(min(c.limits.Idle, c.limits.Life)/8, time.Millisecond), time.Minute))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			c.mu.Lock()
			for id, cl := range c.byID {
				if now.Sub(cl.began) >= c.limits.Life || len(cl.active) == 0 &&
					now.Sub(cl.used) >= c.limits.Idle {
					c.endLocked(id)
				}
			}
			c.mu.Unlock()
		}
	}
}

// begin returns the client of a request, for which end must be called; nil if the request
// has no session.
func (c *clients) begin(w *patientWriter, r *http.Request) *client {
	c.mu.Lock()
	defer c.mu.Unlock()
	cl := c.byID[r.Header.Get("Mcp-Session-Id")]
	if cl != nil {
		cl.active[w] = true
		w.unread = cl.session.unread
	}
	return cl
}

// end records that a request has been answered.
func (c *clients) end(cl *client, w *patientWriter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(cl.active, w)
	cl.used = time.Now()
}
