package skill

import (
	"context"
	"time"

	"textskill/skill/internal/process"
)

// StartServer starts a command of the shell that goes on after the call, also after
// this program. It runs under a helper, which ends all of it when it is stopped.
type StartServer struct {
	Command    string
	Port       int           // where it is to listen, on this machine
	Dir        string        // the folder to run in
	Wait       time.Duration // how long it is waited for to listen; 0 means a second
	MustListen bool          // it is ended if it does not listen by then; else it may take longer
}

func (StartServer) op() {}

// ListServers finds the servers that were started in this workspace.
type ListServers struct {
	ServerName
}

func (ListServers) op() {}

// ReadServerLog reads the end of what a server printed.
type ReadServerLog struct {
	ServerName
	Lines int // at the most; 0 means 50
}

func (ReadServerLog) op() {}

// StopServer ends a server and all that it started: by SIGTERM, and five seconds
// later by force.
type StopServer struct {
	ServerName
}

func (StopServer) op() {}

// ServerName says which server is meant: one by its ID, or the newest of a Port.
type ServerName = process.ServerName

// A ServerState is a server and how it is.
type ServerState = process.ServerState

// Servers are those that were asked for, the newest first.
type Servers = process.Servers

// A ServerLog is the end of what a server printed.
type ServerLog = process.ServerLog

// Errors of servers.
type (
	NotServingError = process.NotServingError
	PortTakenError  = process.PortTakenError
	NoServerError   = process.NoServerError
)

func (x *Executor) startServer(ctx context.Context, s *Session, a StartServer) (Result, error) {
	return result(x.process.StartServer(ctx, s.Dir, process.ServerCommand(a)))
}

func (x *Executor) listServers(ctx context.Context, a ListServers) (Result, error) {
	return result(x.process.Servers(ctx, a.ServerName))
}

func (x *Executor) readServerLog(ctx context.Context, a ReadServerLog) (Result, error) {
	return result(x.process.ServerLog(ctx, a.ServerName, a.Lines))
}

func (x *Executor) stopServer(a StopServer) (Result, error) {
	return result(x.process.StopServer(a.ServerName))
}
