// Package toolcall carries tool calls and MCP messages to the worker that holds a workspace. The
// worker opens a [Desk]. Callers on any machine of the fleet use [Relay] for MCP messages, and
// [Call] for a single tool call.
//
// A call that may have changed files is answered after its changes are stored. Messages that are
// larger than [fleet.MaxMessage] are sent in parts.
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

// A Config configures a [Desk]. All fields except Todos and Log are required.
type Config struct {
	Plane     fleet.Plane
	Worker    string // name
	Workspace string // name
	Executor  *skill.Executor
	Todos     *skill.Snapshot // the stored todos of the callers; nil for none
	Version   string          // of the program, sent to clients
	Log       io.Writer       // receives lines for the worker's operator; may be nil

	// Commit stores the current files and the todos of the callers. Several goroutines may call
	// it. A call that may have changed files is answered after Commit.
	Commit func(ctx context.Context, todos skill.Snapshot) error
}

// A Desk answers the calls to a workspace that this worker holds. All callers share one list of
// todos.
type Desk struct {
	cfg     Config
	session *skill.Session
	stop    func()
	carrier *carrier

	closing sync.Once

	mu      sync.Mutex
	servers map[string]*mcpserver.Server // by the names of their dialects
	calls   int                          // in progress
	last    time.Time                    // the end of the last call
	none    *sync.Cond                   // signals that calls is 0
}

// Open starts to answer calls. The caller closes the Desk before it releases the workspace.
func Open(cfg Config) (*Desk, error) {
	d := &Desk{cfg: cfg, session: &skill.Session{}, servers: map[string]*mcpserver.Server{}, last: time.Now()}
	if cfg.Todos != nil {
		d.session.Restore(*cfg.Todos)
	}
	d.none = sync.NewCond(&d.mu)
	d.carrier = newCarrier(d.answer)
	stop, err := cfg.Plane.Serve(fleet.WorkspaceName+cfg.Workspace, d.carrier.receive)
	if err != nil {
		d.carrier.close() // a call may have arrived
		return nil, err
	}
	d.stop = stop
	return d, nil
}

// closeTime is how long Close waits for calls in progress.
const closeTime = 5 * time.Second

// Close waits for the calls in progress. After closeTime it cancels them.
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

// Idle returns the time since the last call; 0 during a call.
func (d *Desk) Idle() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.calls > 0 {
		return 0
	}
	return time.Since(d.last)
}

// A request is the JSON that a relay sends.
type request struct {
	Tools   []string          `json:"tools,omitempty"` // names of dialects; nil means [dialect.Workspace]
	Message mcpserver.Message `json:"message"`
	Notify  string            `json:"notify,omitempty"` // topic for notifications about the call
}

// answer answers the JSON of a request with the JSON of a [mcpserver.Reply].
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

// server returns the MCP server for dialects, one for all callers.
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
			"; names are relative to it. Tools cannot reach other files. " +
			"The workspace may move to another machine: its files move too, running programs do not.",
		Changed: func(ctx context.Context) error {
			if err := d.cfg.Commit(ctx, d.session.Snapshot()); err != nil {
				return fmt.Errorf("the call was made, but its changes are not stored and may be lost: %w", err)
			}
			return nil
		},
	})
	if err == nil {
		d.servers[key] = s
	}
	return s, err
}
