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
)

// HTTP says where and to whom streamable HTTP is served. The zero HTTP listens on
// a free port of the loopback interface.
type HTTP struct {
	Addr        string           // HOST:PORT; without a host it is the loopback interface
	Token       string           // bearer token that every request must have; "" means none
	Hosts       []string         // further host names that clients may use, without a port
	MaxBody     int64            // bytes of one request; 0 means 16 MiB
	MaxSessions int              // clients at a time; 0 means 256
	Idle        time.Duration    // a session without requests ends after this time; 0 means 1 hour
	Life        time.Duration    // every session ends after this time; 0 means 24 hours
	Stateless   bool             // no sessions: nothing is kept from one request to the next
	Ready       func(url string) // called when the server listens; may be nil
}

const (
	maxRequests   = 1024 // at a time, event streams included
	maxHeader     = 64 << 10
	headerTime    = 10 * time.Second // for the head of a request
	bodyTime      = 30 * time.Second // for its body
	keepAliveTime = 2 * time.Minute  // between two requests of one connection
)

// ErrNoToken is the error of an address that other machines can reach, where no
// token was given.
var ErrNoToken = errors.New("can be reached from other machines, so it needs a token")

// HTTP serves clients over streamable HTTP until ctx is done, and then ends their
// sessions. An address that is not the loopback interface, without a token,
// is a [*NoTokenError].
func (s *Server) HTTP(ctx context.Context, h HTTP) error {
	h.MaxBody = cmp.Or(h.MaxBody, 16<<20)
	h.MaxSessions = cmp.Or(h.MaxSessions, 256)
	h.Idle = cmp.Or(h.Idle, time.Hour)
	h.Life = cmp.Or(h.Life, 24*time.Hour)
	addr, err := h.address()
	if err != nil {
		return err
	}
	listener, err := net.ListenTCP("tcp", addr)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler:           s.guarded(h, addr),
		ReadHeaderTimeout: headerTime,
		IdleTimeout:       keepAliveTime,
		MaxHeaderBytes:    maxHeader,
	}
	if h.Ready != nil {
		h.Ready("http://" + listener.Addr().String() + "/mcp")
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	go s.endOld(inner, h.Life)
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	return s.shutDown(server)
}

// address returns the address to listen on.
func (h HTTP) address() (*net.TCPAddr, error) {
	given := cmp.Or(h.Addr, ":0")
	if !strings.Contains(given, ":") {
		given = ":" + given // a port alone
	}
	host, port, err := net.SplitHostPort(given)
	if err != nil {
		return nil, fmt.Errorf("%s is not an address of the form HOST:PORT", h.Addr)
	}
	addr, err := net.ResolveTCPAddr("tcp", net.JoinHostPort(cmp.Or(host, "127.0.0.1"), port))
	if err != nil {
		return nil, err
	}
	if h.Token == "" && !addr.IP.IsLoopback() {
		return nil, fmt.Errorf("%v %w", addr, ErrNoToken)
	}
	return addr, nil
}

// streamable returns the SDK's handler.
func (s *Server) streamable(h HTTP) http.Handler {
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.sdk }, &mcp.StreamableHTTPOptions{
		Stateless:                    h.Stateless,
		SessionTimeout:               h.Idle,
		MaxRequestBodyBytes:          h.MaxBody,
		DisableLocalhostProtection:   true, // the guard is stricter
		PropagateRequestCancellation: true,
	})
}

// endOld ends sessions that are older than life, until ctx is done.
func (s *Server) endOld(ctx context.Context, life time.Duration) {
	began := make(map[*mcp.ServerSession]time.Time)
	tick := time.NewTicker(min(max(life/8, time.Millisecond), time.Minute))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			old := began
			began = make(map[*mcp.ServerSession]time.Time)
			for ss := range s.sdk.Sessions() {
				began[ss] = now
				if t, ok := old[ss]; ok {
					began[ss] = t
				}
				if now.Sub(began[ss]) >= life {
					go s.endSession(ss)
				}
			}
		}
	}
}

// endSession stops the calls of a client and ends its session.
func (s *Server) endSession(ss *mcp.ServerSession) {
	s.session(ss).stopCalls()
	ss.Close()
}

// shutDown ends all sessions, and with them their event streams, and then the server.
func (s *Server) shutDown(server *http.Server) error {
	var all sync.WaitGroup
	for ss := range s.sdk.Sessions() {
		all.Go(func() { s.endSession(ss) })
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	err := server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return server.Close()
	}
	if err == nil {
		all.Wait()
	}
	return err
}
