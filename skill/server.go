package skill

import (
	"context"
	"time"

	"textskill/skill/internal/process"
)

// StartServer starts a shell command that keeps running after the call, and after this
// program has ended. [StopServer] ends it. It returns a [ServerState].
type StartServer struct {
	Command    string
	Shell      bool          // run Command by bash where this machine has it
	TTY        bool          // with a terminal
	Port       int           // TCP port on which it will listen, on this machine; 0 means none
	Dir        string        // working directory; "" means the session's
	Wait       time.Duration // how long to wait until it listens, or prints if it has no port; 0 means one second
	MustListen bool          // after Wait, stop a server that does not listen yet
}

func (StartServer) op() {}

// TypeServer types into a server. It returns what the server prints from then on, as a [ServerLog].
type TypeServer process.Input

func (TypeServer) op() {}

// ListServers lists the servers that were started in this workspace. It returns [Servers].
type ListServers struct {
	ServerName
}

func (ListServers) op() {}

// ReadServerLog returns the last lines of a server's output, as a [ServerLog].
type ReadServerLog struct {
	ServerName
	Lines int // maximum number of lines; 0 means 50
}

func (ReadServerLog) op() {}

// StopServer ends a server and all that it started: with SIGTERM, and after 5 s with
// SIGKILL. It returns a [ServerState].
type StopServer struct {
	ServerName
}

func (StopServer) op() {}

// A ServerName selects servers: one by its ID, or all of a Port. Where one server is
// needed, the newest that runs is chosen, or else the newest.
type ServerName = process.ServerName

// A ServerState describes a server.
type ServerState = process.ServerState

// Servers is the result of [ListServers], the newest server first.
type Servers = process.Servers

// A ServerLog is the result of [ReadServerLog].
type ServerLog = process.ServerLog

// A NotServingError reports a server that ended, or did not listen in time.
type NotServingError = process.NotServingError

func (x *Executor) StartServer(ctx context.Context, s *Session, a StartServer) (ServerState, error) {
	return x.process.StartServer(ctx, s.Dir, process.ServerCommand(a))
}

func (x *Executor) TypeServer(ctx context.Context, _ *Session, a TypeServer) (ServerLog, error) {
	return x.process.Type(ctx, process.Input(a))
}

func (x *Executor) ListServers(ctx context.Context, _ *Session, a ListServers) (Servers, error) {
	return x.process.Servers(ctx, a.ServerName)
}

func (x *Executor) ReadServerLog(ctx context.Context, _ *Session, a ReadServerLog) (ServerLog, error) {
	return x.process.ServerLog(ctx, a.ServerName, a.Lines)
}

func (x *Executor) StopServer(_ context.Context, _ *Session, a StopServer) (ServerState, error) {
	return x.process.StopServer(a.ServerName)
}

// ErrNoServer reports that no server has the name that was asked for.
var ErrNoServer = process.ErrNoServer
