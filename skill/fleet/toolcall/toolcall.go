// Package toolcall carries tool calls, and the messages of MCP, from any machine of a fleet
// to the worker that holds a workspace.
//
//	toolcall.go  the worker's side: a Desk
//	relay.go     the other side
//	carry.go     messages that are larger than the network allows
package toolcall

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"textskill/skill"
	"textskill/skill/dialect"
	"textskill/skill/fleet"
	"textskill/skill/mcpserver"
)

// A Config says what a [Desk] serves. All but Todos and Log is required.
type Config struct {
	Plane     fleet.Plane
	Worker    string // its name
	Workspace string // its name
	Executor  *skill.Executor
	Todos     *skill.Snapshot // of the callers, as they were committed last; nil if they have none
	Version   string          // of the program, sent to clients
	Log       io.Writer       // receives a line for each event that the worker's operator should see

	// Commit makes the files as they are, and the todos of the callers, durable. A call that
	// may have changed something is answered after it. It is called by several goroutines.
	Commit func(ctx context.Context, todos skill.Snapshot) error
}

// A Desk answers the calls for a workspace that this worker holds. All callers share one
// list of todos.
type Desk struct {
	cfg     Config
	session *skill.Session
	stop    func()
	carrier *carrier

	closing sync.Once

	mu      sync.Mutex
	servers map[string]*mcpserver.Server // by the names of their dialects
	calls   int                          // that are being answered
	last    time.Time                    // when one was answered
	none    *sync.Cond                   // calls is 0
}

// Open begins to answer. The caller closes the Desk before it gives the workspace up.
func Open(cfg Config) (*Desk, error) {
	d := &Desk{cfg: cfg, session: &skill.Session{}, servers: map[string]*mcpserver.Server{}, last: time.Now()}
	if cfg.Todos != nil {
		d.session.Restore(*cfg.Todos)
	}
	d.none = sync.NewCond(&d.mu)
	d.carrier = newCarrier(d.answer)
	stop, err := cfg.Plane.Serve(fleet.WorkspaceName+cfg.Workspace, d.carrier.receive)
	d.stop = stop
	return d, err
}

// closeTime is how long calls that are being made may take when a Desk is closed.
const closeTime = 5 * time.Second

// Close waits for the calls that are being made. Those that take longer than closeTime are
// ended as if their clients were gone.
func (d *Desk) Close() { d.closing.Do(d.end) }

func (d *Desk) end() {
	d.stop()
	late := time.AfterFunc(closeTime, d.carrier.close)
	defer late.Stop()
	defer d.carrier.close()
	d.mu.Lock()
	defer d.mu.Unlock()
	for d.calls > 0 {
		d.none.Wait()
	}
}

// Idle returns how long there has been no call; 0 while there is one.
func (d *Desk) Idle() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.calls > 0 {
		return 0
	}
	return time.Since(d.last)
}

// A request is what the other side sends.
type request struct {
	Tools   []string          `json:"tools,omitempty"` // names of dialects; none is [dialect.Workspace]
	Message mcpserver.Message `json:"message"`
	Notify  string            `json:"notify,omitempty"` // the topic of notifications about the call
}

// answer answers a request with the JSON of a [mcpserver.Reply].
func (d *Desk) answer(ctx context.Context, data []byte) []byte {
	d.mu.Lock()
	d.calls++
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.calls--; d.calls == 0 {
			d.none.Broadcast()
		}
		d.last = time.Now()
	}()
	var r request
	err := json.Unmarshal(data, &r)
	var s *mcpserver.Server
	if err == nil {
		s, err = d.server(r.Tools)
	}
	reply := mcpserver.Reply{Status: 400}
	if err != nil {
		reply.Body = []byte(err.Error())
	} else {
		if r.Notify != "" {
			r.Message.Notify = func(notification []byte) { _ = d.cfg.Plane.Tell(r.Notify, notification) }
		}
		reply = s.Relayed(ctx, d.cfg.Worker, r.Message)
	}
	out, err := json.Marshal(reply)
	if err != nil {
		panic(err) // texts and bytes can always be encoded
	}
	return out
}

// server returns the server of dialects.
func (d *Desk) server(tools []string) (*mcpserver.Server, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := strings.Join(tools, ",")
	if s := d.servers[key]; s != nil {
		return s, nil
	}
	list := []*dialect.Dialect{dialect.Workspace.For(d.cfg.Executor.Config())}
	if len(tools) > 0 {
		list = nil
	}
	for _, name := range tools {
		found := dialect.Named(name)
		if found == nil {
			return nil, fmt.Errorf("%s is not a dialect", name)
		}
		list = append(list, found.For(d.cfg.Executor.Config()))
	}
	s, err := mcpserver.New(mcpserver.Config{
		Executor: d.cfg.Executor, Dialects: list, Version: d.cfg.Version, Log: d.cfg.Log, Session: d.session,
		Progress: skill.WithProgress,
		Instructions: "Files are those of the workspace " + d.cfg.Workspace +
			"; names are relative to it. Nothing outside can be reached. The workspace may move to another machine with its files, and not with what runs.",
		Changed: func(ctx context.Context) error {
			if err := d.cfg.Commit(ctx, d.session.Snapshot()); err != nil {
				return fmt.Errorf("the call was made, but not stored, and may be lost: %w", err)
			}
			return nil
		},
	})
	if err == nil {
		d.servers[key] = s
	}
	return s, err
}
