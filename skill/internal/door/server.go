package door

import (
	"container/list"
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

const (
	maxOpen    = 1024             // connections at a time
	newTime    = 5 * time.Second  // without a request, until a new connection may be closed for another
	usedTime   = 10 * time.Second // the same for a connection that has had a request
	headerTime = 10 * time.Second // for the head of a request
	maxHeader  = 64 << 10
	idleTime   = 2 * time.Minute // between two requests of one connection
	stopTime   = 5 * time.Second // for the requests that run when a server ends
)

// A Server is an HTTP server whose silent connections shut nobody out: above 1,024 connections it closes
// the ones without a request, the oldest first. The fields of its http.Server must not be changed.
type Server struct {
	http   http.Server
	mu     sync.Mutex
	open   map[net.Conn]*list.Element // connections; nil for one with a request
	silent *list.List                 // of silent, the oldest first
}

// A silent is a connection without a request.
type silent struct {
	conn  net.Conn
	until time.Time // it stays open
}

// NewServer returns a server whose requests have the context ctx.
func NewServer(ctx context.Context, handler http.Handler) *Server {
	s := &Server{open: map[net.Conn]*list.Element{}, silent: list.New()}
	s.http = http.Server{Handler: handler, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime,
		MaxHeaderBytes: maxHeader, BaseContext: func(net.Listener) context.Context { return ctx },
		ConnState: s.note}
	return s
}

// note follows the state of a connection.
func (s *Server) note(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := s.open[c]; at != nil {
		s.silent.Remove(at)
	}
	switch state {
	case http.StateNew:
		s.open[c] = s.silent.PushBack(silent{c, time.Now().Add(newTime)})
	case http.StateIdle:
		s.open[c] = s.silent.PushBack(silent{c, time.Now().Add(usedTime)})
	case http.StateActive:
		s.open[c] = nil
	default:
		delete(s.open, c)
	}
	for e := s.silent.Front(); e != nil && len(s.open) > maxOpen; {
		at := e
		e = e.Next()
		if old := at.Value.(silent); time.Now().After(old.until) {
			s.silent.Remove(at)
			delete(s.open, old.conn)
			old.conn.Close()
		}
	}
}

// Serve serves the connections of a listener until [Server.End] is called. The error is that it failed.
func (s *Server) Serve(l net.Listener) error {
	err := s.http.Serve(l)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// End closes silent connections, and ends the server when its requests have been answered, or after 5
// seconds.
func (s *Server) End() error {
	s.mu.Lock()
	for e := s.silent.Front(); e != nil; e = e.Next() {
		e.Value.(silent).conn.Close()
	}
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return s.http.Close()
	}
	return err
}

// Busy refuses a request that the server has no room for, and says after which time the client may try
// again.
func Busy(w http.ResponseWriter, why string, after time.Duration) {
	w.Header().Set("Retry-After", strconv.Itoa(int(after.Seconds())))
	http.Error(w, why+"; try again later", http.StatusServiceUnavailable)
}
