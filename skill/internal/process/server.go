package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"textskill/skill/internal/refusal"
	"textskill/skill/internal/words"
)

// A ServerCommand is a shell command that keeps running after the call, and after this
// program has ended. The helper that supervises it ends everything that it started when
// it is stopped.
type ServerCommand struct {
	Command    string
	Shell      bool          // run Command by bash where this machine has it
	TTY        bool          // with a terminal
	Port       int           // TCP port on which it will listen, on this machine; 0 means none
	Dir        string        // working directory
	Wait       time.Duration // how long to wait until it listens, or prints if it has no port; 0 means one second
	MustListen bool          // after Wait, stop a server that does not listen yet
}

// A ServerName selects servers: one by its id, or all of a port. Where one server is
// needed, the newest that runs is chosen, or else the newest.
type ServerName struct {
	ID   string // "" for any
	Port int    // 0 for any
}

func (n ServerName) String() string {
	if n.ID != "" {
		return "the id " + n.ID
	}
	return "port " + strconv.Itoa(n.Port)
}

// A ServerState describes a server.
type ServerState struct {
	ID      string
	Command string
	Dir     string // absolute
	Port    int
	Pid     int // of the shell; 0 before it is started
	Started time.Time
	Log     string // absolute path of its output, with at least the last 4 MiB

	Fence    Fence // the restrictions that the kernel enforces
	Running  bool
	Ready    bool   // it runs, and something listens on its port
	Lost     bool   // it ended without a record of how
	ExitCode int    // valid if it is neither Running nor Lost; -N if signal N ended it
	Signal   string // such as "SIGKILL"; "" if no signal ended it
}

// Message says in one sentence how the server is.
func (s ServerState) Message() string {
	switch {
	case s.Running && s.Port == 0:
		return fmt.Sprintf("server %s runs", s.ID)
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

// Servers is a list of servers, the newest first.
type Servers []ServerState

// Message says how many servers there are.
func (s Servers) Message() string { return words.Count(len(s), "server", "servers") }

// A ServerLog is the end of a server's output.
type ServerLog struct {
	ServerState
	Text []byte // whole lines
	More bool   // there are earlier lines
}

// A NotServingError reports a server that ended, or did not listen in time.
type NotServingError struct {
	ServerState
	Waited time.Duration // 0 if it ended by itself
	Text   []byte        // its last lines
}

func (e *NotServingError) Error() string {
	if e.Waited > 0 {
		return fmt.Sprintf("nothing listened on port %d after %v, and the server was ended", e.Port, e.Waited)
	}
	return e.Message() + " before it was ready"
}

// ErrNoServer reports that no server has the name that was asked for.
var ErrNoServer = errors.New("there is no server for")

// listens reports whether something accepts connections on a port of this machine.
func listens(ctx context.Context, port int) bool {
	c, err := dialMachine(ctx, port)
	if err == nil {
		c.Close()
	}
	return err == nil
}

// dialMachine connects with a port of this machine's loopback interface.
func dialMachine(ctx context.Context, port int) (c net.Conn, err error) {
	d := net.Dialer{Timeout: time.Second}
	for _, host := range []string{"127.0.0.1", "::1"} {
		if c, err = d.DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port))); err == nil {
			return c, nil
		}
	}
	return nil, err
}

// check refuses an empty command, a NUL byte and an invalid port.
func (a ServerCommand) check() error {
	switch {
	case a.Command == "":
		return &refusal.ArgError{Arg: "command", Reason: "is empty; it is what starts the server"}
	case a.Port < 0 || a.Port > 65535:
		return &refusal.ArgError{Arg: "port", Reason: fmt.Sprintf("must be from 1 to 65535, not %d", a.Port)}
	}
	return checkNUL("command", a.Command)
}
