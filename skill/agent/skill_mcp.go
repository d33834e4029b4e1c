package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"textskill/skill"
	"textskill/skill/dialect"
	"textskill/skill/internal/refusal"
)

const (
	// for a server to start, which may include a download, and to list its tools
	connectTimeout = 2 * time.Minute
	maxTools       = 1000   // of one skill
	sendFailedCode = -32005 // the SDK's error code for a message that it could not send
)

// A server is a connected MCP server.
type server struct {
	name    string       // of the skill
	open    func() error // starts it, or connects to it
	mu      sync.Mutex   // of session, process and restarted
	session *mcp.ClientSession
	process *skill.Process // nil for a server at an endpoint
	cancel  context.CancelFunc
	timeout time.Duration // of one call
	trace   func(callID string) string

	restarted bool
	changed   atomic.Bool // it has said that its tools are others now
}

// connect starts the server of a skill or connects to its endpoint, and lists its tools.
func (b *toolbox) connect(ctx context.Context, name string, c SkillConfig) (openedSkill, error) {
	ctx, cancel := context.WithCancel(ctx)
	timer := time.AfterFunc(b.cfg.ready, cancel)
	v := &server{name: name, cancel: cancel, timeout: b.cfg.Timeout, trace: b.cfg.Traceparent}
	s := openedSkill{name: name, rule: c.Rule, close: v.close}
	v.open = func() error {
		late := time.AfterFunc(b.cfg.ready, cancel)
		defer late.Stop()
		return v.dial(ctx, b, c)
	}
	s.renew = func(ctx context.Context) []tool {
		if !v.changed.Swap(false) {
			return nil
		}
		inner, cancel := context.WithTimeout(ctx, v.timeout)
		defer cancel()
		tools, err := v.tools(inner)
		if err != nil {
			b.cfg.Warn(fmt.Sprintf("skill %s: its tools have changed and cannot be listed: %v", name,
				plainError(err)))
			return nil
		}
		list, _ := b.offered(c, tools)
		return list
	}
	err := v.open()
	if err == nil {
		s.tools, err = v.tools(ctx)
	}
	switch {
	case !timer.Stop():
		err = fmt.Errorf("it was not ready within %s", b.cfg.ready)
	case err != nil:
		err = plainError(v.exitError(err))
	}
	if err != nil {
		err = errors.New(b.cfg.clean.Text(fmt.Sprintf("skill %s: %v%s", name, err, v.lastStderr())))
		v.close()
		return openedSkill{}, err
	}
	s.unknown = c.unknown(s.tools)
	s.tools, s.nameless = b.offered(c, s.tools)
	return s, nil
}

// offered returns the tools of a server that a model is offered, which is never nil, and how
// many are left out because they have no name.
func (b *toolbox) offered(c SkillConfig, tools []tool) (list []tool, nameless int) {
	list = []tool{}
	for _, own := range c.filter(tools) {
		if own.Name = ToolName(b.cfg.clean.Text(own.Name)); own.Name == "" {
			nameless++
			continue
		}
		own.Doc, own.Schema = b.cfg.clean.Text(own.Doc), b.cfg.clean.JSON(own.Schema)
		list = append(list, own)
	}
	return list, nameless
}

// dial opens the session. For an endpoint it tries streamable HTTP and then the older SSE
// transport.
func (v *server) dial(ctx context.Context, b *toolbox, c SkillConfig) (err error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "skill", Version: "1"}, &mcp.ClientOptions{
		Capabilities:           &mcp.ClientCapabilities{},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { v.changed.Store(true) },
	})
	if c.Type == sseSkill {
		switch x := b.cfg.Executor.Config(); { // the server may change anything
		case x.ReadOnly:
			return refusal.Under("reaching a server", "--read-only")
		case x.DryRun:
			return refusal.Under("reaching a server", "--dry-run")
		}
		web := c.client(b.cfg.Getenv)
		session, err := client.Connect(ctx, &mcp.StreamableClientTransport{
			Endpoint: c.Endpoint, HTTPClient: web, DisableStandaloneSSE: true, MaxEventSize: maxMessage,
		}, nil)
		if err != nil && ctx.Err() == nil {
			var sseErr error
			if session, sseErr = client.Connect(ctx, &mcp.SSEClientTransport{Endpoint: c.Endpoint,
				HTTPClient: web, MaxEventSize: maxMessage}, nil); sseErr == nil {
				err = nil
			}
		}
		if err == nil {
			v.session = session
		}
		return err
	}
	return v.start(ctx, b.cfg.Executor, b.program(c), client)
}

// start starts a server and opens the session. It asks for a session as older servers have it, because some pass
// over what they do not know. A server that refuses is started again and asked as newer servers have it.
func (v *server) start(ctx context.Context, x *skill.Executor, p skill.Program, client *mcp.Client) (err error) {
	for _, version := range []string{"2025-11-25", ""} {
		if v.process != nil {
			v.process.Close()
		}
		if v.process, err = x.StartProcess(p); err != nil {
			return err
		}
		context.AfterFunc(ctx, v.process.Stop)
		session, err := client.Connect(ctx, &mcp.IOTransport{
			Reader: newServerOutput(v.process.Stdout), Writer: serverInput{v.process.Stdin}, MaxLineLength: -1,
		}, &mcp.ClientSessionOptions{ProtocolVersion: version})
		if err == nil {
			v.session = session
		}
		if refused, ok := errors.AsType[*jsonrpc.Error](err); !ok || refused.Code == sendFailedCode || version == "" {
			return err
		}
	}
	return nil
}

// program returns the program of a skill's server. Its environment has only the variables
// in requiredEnv and a PATH. Nothing is found where commands write.
func (b *toolbox) program(c SkillConfig) skill.Program {
	p := skill.Program{Command: c.Command}
	if filepath.Base(c.Command) == "npx" {
		p.Args = append(p.Args, "-y") // install without asking
	}
	if c.PackageName != "" {
		p.Args = append(p.Args, c.PackageName)
	}
	p.Args = append(p.Args, c.Args...)
	if !slices.Contains(c.RequiredEnv, "PATH") {
		p.Env = []string{"PATH=" + programPath(c.Command, b.cfg.Executor.SafePath(b.cfg.Getenv("PATH")))}
	}
	for _, variable := range c.RequiredEnv {
		p.Env = append(p.Env, variable+"="+b.cfg.Executor.SafeVariable(variable, b.cfg.Getenv(variable)))
	}
	if c.Command == "npx" && runtime.GOOS != "windows" {
		return fromOutside(p, b.cfg.Executor.Dir())
	}
	return p
}

// enter is a module that a server's node loads first: it goes to the folder in SKILL_DIR, and
// takes itself out of the environment. It holds no blank and no question mark.
const enter = ` --import=data:text/javascript,if(process.env.npm_lifecycle_event==='npx')(d=>{process.env.PWD=process.env.INIT_CWD=d;` +
	`process.env.NODE_OPTIONS=process.env.NODE_OPTIONS.replace(/\s*--import=data:\S+/,'');process.chdir(d)})(process.env.SKILL_DIR)`

// fromOutside returns the start of npx in the root folder, and of the server in dir. From the
// folder where it is started, and those above, npx takes packages, the .npmrc and the PATH of
// the server.
func fromOutside(p skill.Program, dir string) skill.Program {
	path, _ := lookupEnv(p.Env, "PATH")
	if _, err := lookPath(p.Command, path); err != nil {
		return p // starting p reports that PATH has no npx
	}
	options, at := lookupEnv(p.Env, "NODE_OPTIONS")
	env := slices.Clone(p.Env)
	if at >= 0 {
		env = slices.Delete(env, at, at+1)
	}
	return skill.Program{
		Command: "/bin/sh",
		Args:    append([]string{"-c", `cd / && exec "$0" "$@"`, p.Command}, p.Args...),
		Env:     append(env, "NODE_OPTIONS="+strings.TrimSpace(options+enter), "SKILL_DIR="+dir),
	}
}

// lookupEnv returns the value of a variable, and its index in the environment, -1 if it is not
// there.
func lookupEnv(env []string, name string) (value string, at int) {
	for i, v := range env {
		if rest, ok := strings.CutPrefix(v, name+"="); ok {
			return rest, i
		}
	}
	return "", -1
}

// programPath returns the PATH of a skill's server: the directory where path has the
// command, then the usual directories.
func programPath(command, path string) string {
	usual := "/usr/local/bin:/usr/bin:/bin"
	if found, err := lookPath(command, path); err == nil {
		return filepath.Dir(found) + ":" + usual
	}
	return usual
}

// tools lists the tools of the server.
func (v *server) tools(ctx context.Context) (list []tool, err error) {
	for t, err := range v.current().Tools(ctx, nil) {
		if err != nil {
			return nil, err
		}
		if len(list) == maxTools {
			return nil, fmt.Errorf("it lists more than %d tools", maxTools)
		}
		schema, _ := json.Marshal(t.InputSchema)
		own := newTool(v.name, plain, t.Name, t.Description, schema)
		switch own.effect = dialect.Destroys; {
		case t.Annotations == nil:
		case t.Annotations.ReadOnlyHint:
			own.effect = dialect.Reads
		case t.Annotations.DestructiveHint != nil && !*t.Annotations.DestructiveHint:
			own.effect = dialect.Adds
		}
		own.call = func(ctx context.Context, c ToolCall, _ skill.RunStep) outcome { return v.call(ctx, t.Name, c) }
		list = append(list, own)
	}
	return list, nil
}

// ToolNames starts an MCP server and returns the names of its tools.
func ToolNames(ctx context.Context, x *skill.Executor, p skill.Program) (names []string, err error) {
	v := &server{cancel: func() {}}
	defer func() { v.close() }()
	client := mcp.NewClient(&mcp.Implementation{Name: "skill", Version: "1"}, nil)
	if err = v.start(ctx, x, p, client); err == nil {
		var tools []tool
		tools, err = v.tools(ctx)
		for _, t := range tools {
			names = append(names, t.Name)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w%s", plainError(v.exitError(err)), v.lastStderr())
	}
	return names, nil
}

// ToolName returns a name that all providers accept: at most 64 letters, digits, _ and -.
func ToolName(name string) string {
	name = strings.Map(func(c rune) rune {
		if strings.ContainsRune(runIDChars, c) && c != '.' {
			return c
		}
		return '_'
	}, name)
	return name[:min(len(name), 64)]
}

// current returns the session of the server.
func (v *server) current() *mcp.ClientSession {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.session
}

// plainError returns the error without the wrapping of the SDK: the MCP error that a server
// answered, or why it was not reached.
func plainError(err error) error {
	if unsent, ok := errors.AsType[*url.Error](err); ok {
		return unsent
	}
	if wire, ok := errors.AsType[*jsonrpc.Error](err); ok && wire.Code != sendFailedCode {
		return fmt.Errorf("MCP error %d: %s", wire.Code, wire.Message)
	}
	return err
}

// exitError returns how the server's program ended, if it was that which broke the connection, or
// else err.
func (v *server) exitError(err error) error {
	if v.process == nil || !lost(err) && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, os.ErrClosed) {
		return err
	}
	end, ended, failed := v.process.Ended()
	switch {
	case failed != nil:
		return failed
	case ended:
		return errors.New("the server has ended: " + end.Message())
	}
	return err
}

// lastStderr returns the end of the server's standard error, as a suffix for an error.
func (v *server) lastStderr() string {
	if v.process == nil {
		return ""
	}
	text := strings.TrimSpace(v.process.Stderr())
	if text == "" {
		return ""
	}
	return "; it said: " + text
}

// close ends the session and the program.
func (v *server) close() {
	defer v.cancel()
	if v.session != nil {
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			v.session.Close()
		}()
		select {
		case <-closed:
		case <-time.After(time.Second): // do not wait longer for an answer
		}
	}
	if v.process != nil {
		v.process.Close()
	}
}
