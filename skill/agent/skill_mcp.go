package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"textskill/skill"
)

const (
	connectTime = 2 * time.Minute // for a server to start, which may have to be downloaded, and to list its tools
	maxTools    = 1000            // of one skill
	unsentCode  = -32005          // by which the SDK says that it could not send a message
)

// A server is an MCP server that is connected.
type server struct {
	name    string // of the skill
	session *mcp.ClientSession
	process *skill.Process // nil if it was not started here
	cancel  context.CancelFunc
	timeout time.Duration // of one call
}

// connect starts or finds the server of a skill, and asks for its tools.
func (t *task) connect(ctx context.Context, name string, c SkillConfig) (openedSkill, error) {
	for _, variable := range c.RequiredEnv {
		if c.Type != sseSkill && t.cfg.Getenv(variable) == "" {
			//lint:ignore ST1005 the wording of the original runtime
			return openedSkill{}, fmt.Errorf("Skill %s requires environment variable %s", name, variable)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	late := time.AfterFunc(t.cfg.ready, cancel)
	v := &server{name: name, cancel: cancel, timeout: t.cfg.Timeout}
	s := openedSkill{name: name, rule: c.Rule, close: v.close}
	err := v.dial(ctx, t, c)
	if err == nil {
		s.tools, err = v.tools(ctx)
	}
	switch {
	case !late.Stop():
		err = fmt.Errorf("it was not ready within %s", t.cfg.ready)
	case err != nil:
		err = bare(v.why(err))
	}
	if err != nil {
		err = errors.New(t.clean.Text(fmt.Sprintf("skill %s: %v%s", name, err, v.said())))
		v.close()
		return openedSkill{}, err
	}
	s.unknown, s.tools = c.unknown(s.tools), c.filter(s.tools)
	for i := range s.tools {
		s.tools[i].Name = toolName(t.clean.Text(s.tools[i].Name))
		s.tools[i].Doc, s.tools[i].Schema = t.clean.Text(s.tools[i].Doc), t.clean.JSON(s.tools[i].Schema)
	}
	return s, nil
}

// dial opens the session. What is at an endpoint speaks streamable HTTP, or what
// came before it.
func (v *server) dial(ctx context.Context, t *task, c SkillConfig) (err error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "skill", Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	if c.Type == sseSkill {
		if err := mayReach(t.cfg.Executor.Config()); err != nil {
			return err
		}
		web := &http.Client{Transport: boundedHTTP{}}
		v.session, err = client.Connect(ctx, &mcp.StreamableClientTransport{
			Endpoint: c.Endpoint, HTTPClient: web, DisableStandaloneSSE: true, MaxEventSize: maxMessage,
		}, nil)
		if err != nil && ctx.Err() == nil {
			var older error
			if v.session, older = client.Connect(ctx, &mcp.SSEClientTransport{Endpoint: c.Endpoint, HTTPClient: web, MaxEventSize: maxMessage}, nil); older == nil {
				err = nil
			}
		}
		return err
	}
	if v.process, err = t.cfg.Executor.StartProcess(t.program(c)); err != nil {
		return err
	}
	context.AfterFunc(ctx, v.process.Stop)
	v.session, err = client.Connect(ctx, &mcp.IOTransport{
		Reader: newServerOutput(v.process.Stdout), Writer: serverInput{v.process.Stdin}, MaxLineLength: -1,
	}, nil)
	return err
}

// mayReach refuses other machines where nothing may be changed, as nobody knows
// what they do.
func mayReach(c skill.Config) error {
	const what = "reaching a server"
	switch {
	case c.ReadOnly:
		return &skill.RefusedError{What: what, Flag: "--read-only"}
	case c.DryRun:
		return &skill.RefusedError{What: what, Flag: "--dry-run"}
	}
	return nil
}

// program returns how the server of a skill is started: with the variables that it
// requires and a PATH of the usual folders and its own, and nothing else of the
// environment.
func (t *task) program(c SkillConfig) skill.Program {
	p := skill.Program{Command: c.Command}
	if filepath.Base(c.Command) == "npx" {
		p.Args = append(p.Args, "-y") // nobody is there to be asked
	}
	if c.PackageName != "" {
		p.Args = append(p.Args, c.PackageName)
	}
	p.Args = append(p.Args, c.Args...)
	if !slices.Contains(c.RequiredEnv, "PATH") {
		p.Env = []string{"PATH=" + programPath(c.Command, t.cfg.Getenv("PATH"))}
	}
	for _, variable := range c.RequiredEnv {
		p.Env = append(p.Env, variable+"="+t.cfg.Getenv(variable))
	}
	return p
}

// programPath is the PATH of a skill's server: the usual folders, behind that of
// the command as the own PATH has it.
func programPath(command, path string) string {
	usual := "/usr/local/bin:/usr/bin:/bin"
	if found, err := lookPath(command, path); err == nil {
		return filepath.Dir(found) + ":" + usual
	}
	return usual
}

// tools asks for the tools of the server.
func (v *server) tools(ctx context.Context) (list []tool, err error) {
	for t, err := range v.session.Tools(ctx, nil) {
		if err != nil {
			return nil, err
		}
		if len(list) == maxTools {
			return nil, fmt.Errorf("it lists more than %d tools", maxTools)
		}
		schema, err := json.Marshal(t.InputSchema)
		if err != nil || len(schema) == 0 || schema[0] != '{' {
			schema = json.RawMessage(`{"type":"object"}`)
		}
		own := newTool(v.name, plain, t.Name, t.Description, schema)
		own.reads = t.Annotations != nil && t.Annotations.ReadOnlyHint
		own.call = func(ctx context.Context, c ToolCall) outcome { return v.call(ctx, t.Name, c) }
		list = append(list, own)
	}
	return list, nil
}

// toolName is a name as endpoints take it: letters, digits, _ and -, at most 64.
func toolName(name string) string {
	name = strings.Map(func(c rune) rune {
		if strings.ContainsRune(runIDChars, c) && c != '.' {
			return c
		}
		return '_'
	}, name)
	return name[:min(len(name), 64)]
}

// call carries out a call. What goes wrong is told to the model.
func (v *server) call(ctx context.Context, name string, c ToolCall) outcome {
	inner, cancel := context.WithTimeout(ctx, v.timeout)
	defer cancel()
	r, err := v.session.CallTool(inner, &mcp.CallToolParams{Name: name, Arguments: c.Args})
	switch {
	case err != nil && inner.Err() != nil && ctx.Err() == nil:
		return said(fmt.Sprintf("Error calling tool %s: no answer within %s", c.ToolName, v.timeout), true)
	case errors.Is(err, io.EOF), errors.Is(err, mcp.ErrConnectionClosed):
		return said(fmt.Sprintf("Error calling tool %s: %v%s", c.ToolName, v.why(err), v.said()), true)
	case err != nil:
		return said(fmt.Sprintf("Error calling tool %s: %v", c.ToolName, bare(err)), true)
	}
	return serverOutcome(c, r)
}

// bare is what a server answered, or why it was not reached, without what the SDK
// says of itself.
func bare(err error) error {
	if unsent, ok := errors.AsType[*url.Error](err); ok {
		return unsent
	}
	if wire, ok := errors.AsType[*jsonrpc.Error](err); ok && wire.Code != unsentCode {
		return fmt.Errorf("MCP error %d: %s", wire.Code, wire.Message)
	}
	return err
}

// why is what the end of the server's program says about an error, else the error.
func (v *server) why(err error) error {
	if v.process == nil {
		return err
	}
	end, ended, failed := v.process.Ended()
	switch {
	case failed != nil:
		return failed
	case ended:
		return errors.New("the server is gone: " + end.Message())
	}
	return err
}

// said is what the server's program told last, to be put behind an error.
func (v *server) said() string {
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
func (v *server) close() error {
	defer v.cancel()
	var errs []error
	if v.session != nil {
		closed := make(chan error, 1)
		go func() { closed <- v.session.Close() }()
		select {
		case err := <-closed:
			errs = append(errs, err)
		case <-time.After(time.Second): // what does not answer is left
		}
	}
	if v.process != nil {
		errs = append(errs, v.process.Close())
	}
	return errors.Join(errs...)
}
