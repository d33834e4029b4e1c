package process

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"textskill/skill/internal/refusal"
	"textskill/skill/internal/words"
)

// A ServerCommand is a command of the shell that goes on after the call, also after
// this program. It runs under a helper, which ends all of it when it is stopped.
type ServerCommand struct {
	Command string
	Port    int           // where it is to listen, on this machine
	Dir     string        // the folder to run in
	Wait    time.Duration // how long it is waited for to listen; 0 means a second
	MustBe  bool          // it is ended if it does not listen by then; else it may take longer
}

// ServerName says which server is meant: one by its id, or the newest of a port.
type ServerName struct {
	ID   string // "" for any
	Port int    // 0 for any
}

func (n ServerName) String() string {
	switch {
	case n.ID != "":
		return "the id " + n.ID
	case n.Port != 0:
		return "port " + strconv.Itoa(n.Port)
	}
	return "this workspace"
}

// A ServerState is a server and how it is.
type ServerState struct {
	ID      string
	Command string
	Dir     string // absolute
	Port    int
	Pid     int // of the shell; 0 before it runs
	Started time.Time
	Log     string // absolute; the newest megabytes of what it printed

	Fence    Fence // what the system itself keeps it to
	Running  bool
	Ready    bool   // something listens on its port, and it runs
	Lost     bool   // it ended, and how is not known
	ExitCode int    // once it has ended
	Signal   string // that ended it; "" where none did
}

// Message tells how the server is.
func (s ServerState) Message() string {
	switch {
	case s.Ready:
		return fmt.Sprintf("server %s listens on port %d", s.ID, s.Port)
	case s.Running:
		return fmt.Sprintf("server %s runs; nothing listens on port %d yet", s.ID, s.Port)
	case s.Lost:
		return fmt.Sprintf("server %s was ended together with what watched it", s.ID)
	case s.Signal != "":
		return fmt.Sprintf("server %s was ended by %s", s.ID, s.Signal)
	}
	return fmt.Sprintf("server %s exited with %d", s.ID, s.ExitCode)
}

// Servers are those that were asked for, the newest first.
type Servers []ServerState

// Message counts the servers.
func (s Servers) Message() string { return words.Count(len(s), "server", "servers") }

// A ServerLog is the end of what a server printed.
type ServerLog struct {
	ServerState
	Text []byte // whole lines
	More bool   // there are lines before
}

// A NotServingError reports a server that ended, or did not listen, when it was to.
type NotServingError struct {
	ServerState
	Waited time.Duration
	Text   []byte // its last lines
}

func (e *NotServingError) Error() string {
	if e.Waited > 0 {
		return fmt.Sprintf("nothing listened on port %d after %v, and the server was ended", e.Port, e.Waited)
	}
	return e.Message() + " before it was ready"
}

// A PortTakenError reports a port on which something listens already.
type PortTakenError struct {
	Port int
	Pid  int    // of who listens; 0 where that cannot be told
	ID   string // of the server here that has the port; "" if it is none of these
}

func (e *PortTakenError) Error() string {
	switch {
	case e.ID != "" && e.Pid == 0:
		return fmt.Sprintf("port %d is that of server %s, which is being started; stop it first", e.Port, e.ID)
	case e.ID != "":
		return fmt.Sprintf("port %d is that of server %s, which runs as process %d; stop it first", e.Port, e.ID, e.Pid)
	case e.Pid != 0:
		return fmt.Sprintf("port %d is taken by process %d", e.Port, e.Pid)
	}
	return fmt.Sprintf("port %d is taken", e.Port)
}

// A NoServerError reports that there is no server of a name.
type NoServerError struct{ ServerName }

func (e *NoServerError) Error() string { return "there is no server for " + e.String() }

// listens reports whether something takes connections on a port of this machine.
func listens(ctx context.Context, port int) bool {
	d := net.Dialer{Timeout: time.Second}
	for _, host := range []string{"127.0.0.1", "::1"} {
		if c, err := d.DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port))); err == nil {
			c.Close()
			return true
		}
	}
	return false
}

// check refuses a server that cannot be.
func (a ServerCommand) check() error {
	switch {
	case a.Command == "":
		return &refusal.ArgError{Arg: "command", Reason: "is empty; it is what starts the server"}
	case a.Port < 1 || a.Port > 65535:
		return &refusal.ArgError{Arg: "port", Reason: fmt.Sprintf("must be from 1 to 65535, not %d", a.Port)}
	}
	return checkNUL("command", a.Command)
}
