package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"textskill/skill/internal/door"
)

// HTTP says where and to whom streamable HTTP is served. The zero HTTP needs a Token
// or NoToken, and listens on a free port of the loopback interface.
type HTTP struct {
	// HOST:PORT, without a host on the loopback interface; or unix:PATH, a socket for this user alone
	Addr    string
	Token   string   // bearer token that every request must have; not for unix:PATH
	NoToken bool     // serve every user of this machine without a token
	Hosts   []string // further host names that clients may use, without a port
	MaxBody int64    // bytes of one request; 0 means 16 MiB
	// clients at a time; 0 means 256. A further one ends the session that is idle for longest, if it is so
	// for half a minute, and else is refused
	MaxSessions int
	Idle        time.Duration    // a session without requests ends after this time; 0 means 1 hour
	Life        time.Duration    // every session ends after this time; 0 means 24 hours
	Stateless   bool             // no sessions: nothing is kept from one request to the next
	Ready       func(url string) // called when the server listens; may be nil
}

const (
	maxRequests   = 1024             // at a time, event streams included
	maxBodies     = 256 << 20        // bytes of all requests that are being read
	maxBatch      = 100              // messages of one request
	busyTime      = 5 * time.Second  // until a client that was refused may try again
	bodyTime      = 10 * time.Second // for its body, and a second more for each bodyPerSecond
	bodyPerSecond = 64 << 10
	writeTime     = 30 * time.Second // for a client to take what is written at once
)

// ErrNoToken is the error of an address that others than this user can reach, where no
// token was given.
var ErrNoToken = errors.New("needs a token")

// HTTP serves clients over streamable HTTP until ctx is done, and then ends their
// sessions. An address that others can reach, without a token, is [ErrNoToken].
func (s *Server) HTTP(ctx context.Context, h HTTP) error {
	h = h.withDefaults()
	listener, err := h.listen()
	if err != nil {
		return err
	}
	g := s.guarded(h, listener.Addr())
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	go g.sessions.endOld(inner)
	return h.serve(ctx, listener, g, s.shutDown)
}

func (h HTTP) withDefaults() HTTP {
	h.MaxBody = cmp.Or(h.MaxBody, 16<<20)
	h.MaxSessions = cmp.Or(h.MaxSessions, 256)
	h.Idle = cmp.Or(h.Idle, time.Hour)
	h.Life = cmp.Or(h.Life, 24*time.Hour)
	return h
}

// serve passes requests to a guard until ctx is done, and then calls end.
func (h HTTP) serve(ctx context.Context, listener net.Listener, g *guard,
	end func(*door.Server) error) error {
	server := door.NewServer(context.Background(), g)
	if h.Ready != nil {
		h.Ready(h.url(listener.Addr()))
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	return end(server)
}

// url returns the address that clients are given.
func (h HTTP) url(addr net.Addr) string {
	if path, ok := h.socket(); ok {
		return "unix:" + path
	}
	return "http://" + addr.String() + "/mcp"
}

// socket returns the path of a unix socket, if Addr names one.
func (h HTTP) socket() (path string, ok bool) { return strings.CutPrefix(h.Addr, "unix:") }

func (h HTTP) listen() (net.Listener, error) {
	if path, ok := h.socket(); ok {
		return listenUnix(path)
	}
	addr, err := h.address()
	if err != nil {
		return nil, err
	}
	return door.Listen(addr)
}

// Check returns an error if Addr cannot be an address, or needs a token although NoToken is set.
// It opens nothing. A Token may be set after it.
func (h HTTP) Check() error {
	switch path, ok := h.socket(); {
	case ok && path == "":
		return fmt.Errorf("%s %w or unix:PATH", h.Addr, door.ErrForm)
	case ok:
		return nil
	case !h.NoToken:
		h.Token = cmp.Or(h.Token, "set later")
	}
	_, err := h.address()
	return err
}

func (h HTTP) address() (*net.TCPAddr, error) {
	addr, err := door.Address(h.Addr)
	switch {
	case errors.Is(err, door.ErrForm):
		return nil, fmt.Errorf("%w or unix:PATH", err)
	case err != nil:
		return nil, err
	case h.Token == "" && !addr.IP.IsLoopback():
		return nil, fmt.Errorf("%v can be reached from other machines, so it %w", addr, ErrNoToken)
	case h.Token == "" && !h.NoToken:
		return nil, fmt.Errorf("%v can be reached by every user of this machine, so it %w", addr, ErrNoToken)
	}
	return addr, nil
}

// streamable returns the SDK's handler, with sessions or without.
func (s *Server) streamable(h HTTP, stateless bool) http.Handler {
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.sdk },
		&mcp.StreamableHTTPOptions{
			Stateless:                    stateless,
			MaxRequestBodyBytes:          h.MaxBody,
			DisableLocalhostProtection:   true, // the guard is stricter
			PropagateRequestCancellation: true,
		})
}

// endSession stops the calls of a client and ends its session.
func (s *Server) endSession(ss *mcp.ServerSession) {
	s.session(ss).stopCalls()
	ss.Close()
}

// shutDown ends all sessions, and with them their event streams, and then the server.
func (s *Server) shutDown(server *door.Server) error {
	var all sync.WaitGroup
	for ss := range s.sdk.Sessions() {
		all.Go(func() { s.endSession(ss) })
	}
	if err := server.End(); err != nil {
		return err
	}
	all.Wait()
	return nil
}
