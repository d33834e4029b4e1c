package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"textskill/internal/usage"
	"textskill/skill"
	"textskill/skill/agent/trace"
	"textskill/skill/dialect"
	"textskill/skill/hook"
	"textskill/skill/mcpserver"
)

const mcpLong = `mcp serves tools to a client that speaks the Model Context Protocol. It uses standard input
and output, or with --http streamable HTTP at /mcp.

A client reaches the workspace and the folders of --allow. The roots that a client names
can only narrow that. Over HTTP, each client needs a bearer token. mcp reads the token from
the file of --http-token-file. Without that flag, mcp makes a token and keeps it in your
state folder. A socket of --http unix:PATH needs no token, because only you can open it.

With --ask, mcp asks you, through the client, before some calls. If the client cannot ask,
mcp refuses the call. In skill.toml, [tools] names tools to ask about and tools to refuse.`

const mcpExample = `  skill mcp -C ~/notes
  skill mcp --tools filesystem --read-only
  skill mcp --tools stack --network
  skill mcp --http 127.0.0.1:3900
  skill mcp --http unix:/run/user/1000/skill.sock
  skill mcp --http 0.0.0.0:3900 --http-token-file ~/.skill-token`

// mcpDefault is what is served when no dialect is named.
var mcpDefault = []string{dialect.Workspace.Name}

// mcpGarbage is how much garbage a server keeps, in percent of the memory in use. A
// server waits most of the time, and keeps less memory while it does.
const mcpGarbage = 50

// keepLess has the program keep less garbage from a second after its start: before, a
// client waits for the list of tools, which one collection makes 2 ms later.
func keepLess() (undo func()) {
	before := make(chan int, 1)
	later := time.AfterFunc(time.Second, func() { before <- debug.SetGCPercent(mcpGarbage) })
	return func() {
		if !later.Stop() {
			debug.SetGCPercent(<-before)
		}
	}
}

// mcpOptions are the flags of skill mcp.
type mcpOptions struct {
	workspaceOptions
	set       *configuration
	tools     []string
	http      string
	tokenFile string
	noToken   bool
	names     []string
	maxText   int
	ask       string
	record    string
}

func (c *cli) mcpCommand(set *configuration) *cobra.Command {
	m := mcpOptions{set: set}
	cmd := &cobra.Command{
		Use:     "mcp [flags]",
		Short:   "Serve the tools to MCP clients over stdio or HTTP",
		Long:    mcpLong,
		Example: mcpExample,
		Args:    usage.Arguments(0, 0, "-C DIR names the workspace, --tools NAME a dialect"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.mcp(cmd, &m) },
	}
	f := cmd.Flags()
	f.StringSliceVar(&m.tools, "tools", nil,
		"serve the tools of `DIALECT`, or of several with commas between: "+
			strings.Join(dialect.Names(), ", ")+
			" (default "+mcpDefault[0]+")")
	f.StringVar(&m.http, "http", "", "serve streamable HTTP at `ADDR`, like 127.0.0.1:3900 or unix:PATH")
	f.StringVar(&m.tokenFile, "http-token-file", "", "with --http, require the bearer token in `FILE`")
	f.BoolVar(&m.noToken, "no-token", false,
		"with --http, let every user of this machine use the tools as you")
	f.StringSliceVar(&m.names, "http-host", nil,
		"with --http, also accept requests for the host `NAME`; may be repeated")
	f.Var(choice[string]{&m.ask, "WHAT", asks}, "ask",
		"let the client ask you before calls that `WHAT`: destroy (replace or remove), change or never (default never)")
	f.StringVar(&m.record, "record", "",
		"at the end, write the session to the golden `FILE`, which \"skill test\" plays")
	m.addWorkspace(f)
	m.addUndo(f)
	m.addSandbox(f)
	m.addNetwork(f)
	addMaxText(f, &m.maxText)
	return cmd
}

// mcp is skill mcp.
func (c *cli) mcp(cmd *cobra.Command, m *mcpOptions) error {
	ctx := cmd.Context()
	list, wrong := m.dialects()
	h, err := m.serving()
	if err := errors.Join(wrong, err); err != nil {
		return err
	}
	m.KeepHelper = true
	c, traced := c.tracing()
	defer traced()
	x, err := c.executor(&m.workspaceOptions)
	if err != nil {
		return err
	}
	defer x.Close()
	var r *recording
	if m.record != "" {
		if r, err = c.newRecording(m.record, x.Dir(), cmd.Flags()); err != nil {
			return c.failed(err)
		}
	}
	if len(m.tools) == 0 {
		c.sayf("serving the tools of the dialect %s; for the tools of Perstack's Base Skill, type --tools perstack", mcpDefault[0])
	}
	cfg := mcpserver.Config{Executor: x, Dialects: list, Version: version(), Log: c.stderr,
		Progress: skill.WithProgress}
	if g := c.newGate(m.set, m.ask, askNever); g != nil {
		cfg.Check = g.check
	}
	cfg.Caller = c.getenv.caller(&m.workspaceOptions, h == nil)
	s, err := mcpserver.New(cfg)
	if err != nil {
		return fmt.Errorf("--tools: %w", err)
	}
	if c.getenv("GOGC") == "" {
		defer keepLess()()
	}
	if h == nil {
		return c.mcpStdio(ctx, s, r)
	}
	return c.mcpHTTP(ctx, s, &m.workspaceOptions, h)
}

// caller returns the function that has changes recorded as changes of the host's session that makes a call:
// the one that the host told the hook of the call, that the request names, or with stdio the environment.
func (env environment) caller(w *workspaceOptions, stdio bool) func(json.RawMessage) skill.RunStep {
	var own hook.Caller
	if stdio {
		own = hook.CallerIn(env)
	}
	calls := env.hookCalls(w)
	return func(meta json.RawMessage) skill.RunStep {
		c := calls.CallerOf(meta, own)
		if c.Session == "" {
			return skill.RunStep{}
		}
		return skill.RunStep{Run: c.Session, Host: c.Host, Agent: c.Agent}
	}
}

// mcpHTTP serves over HTTP. Where nothing says which token is required it is one of the
// workspace's own.
func (c *console) mcpHTTP(ctx context.Context, s *mcpserver.Server, w *workspaceOptions, h *mcpserver.HTTP) (err error) {
	note := ""
	if h.Token == "" && !h.NoToken && !strings.HasPrefix(h.Addr, "unix:") {
		if h.Token, note, err = c.ownToken(w); err != nil {
			return c.failed(fmt.Errorf("--http: %w", err))
		}
		if err := skill.Undumpable(); err != nil {
			return err
		}
	}
	h.Ready = func(url string) {
		c.say("serving MCP at", url)
		if note != "" {
			c.say(note)
		}
	}
	err = s.HTTP(ctx, *h)
	var network *net.OpError
	switch {
	case errors.As(err, &network):
		c.say(err)
		return exit(exitFailed)
	case err != nil:
		return fmt.Errorf("--http: %w", err)
	}
	return nil
}

// tracing returns the program with a span for each call, if the environment names a collector
// of OpenTelemetry, and what sends the last of them.
func (c *cli) tracing() (*cli, func()) {
	calls, err := trace.NewCalls(c.getenv)
	if err != nil {
		c.say(err)
	}
	if calls == nil {
		return c, func() {}
	}
	own := *c
	own.called = calls.Add
	return &own, func() {
		if err := calls.Close(); err != nil {
			c.say(err)
		}
	}
}

// mcpStdio serves the client that started the program. It records the session, if r is not nil.
func (c *cli) mcpStdio(ctx context.Context, s *mcpserver.Server, r *recording) error {
	if isTerminal(c.stdin) {
		c.say("waiting for an MCP client on standard input; end with Ctrl-D")
	}
	gone := make(chan os.Signal, 1)
	var watched sync.WaitGroup
	// a write to a client that has gone fails then, and does not kill
	watched.Go(func() { signal.Notify(gone, syscall.SIGPIPE) })
	defer func() {
		watched.Wait()
		signal.Stop(gone)
	}()
	if r == nil {
		return s.Stdio(ctx, c.stdin, after{&watched, c.stdout})
	}
	err := s.Stdio(ctx, io.TeeReader(c.stdin, r), after{&watched, c.stdout})
	r.session()
	return c.failed(errors.Join(err, c.finish(ctx, r)))
}

// after is a writer that writes nothing before something else is done.
type after struct {
	done *sync.WaitGroup
	io.Writer
}

func (a after) Write(b []byte) (int, error) {
	a.done.Wait()
	return a.Writer.Write(b)
}

// dialects returns the dialects that are served.
func (m *mcpOptions) dialects() ([]*dialect.Dialect, error) {
	if len(m.tools) == 0 {
		return dialectsOf(mcpDefault, m.maxText)
	}
	return dialectsOf(m.tools, m.maxText)
}

// serving returns what the flags of HTTP say, nil for stdio.
func (m *mcpOptions) serving() (*mcpserver.HTTP, error) {
	switch given := m.tokenFile != ""; {
	case m.http == "" && (given || m.noToken):
		return nil, errors.New("--http-token-file and --no-token go with --http")
	case m.noToken && given:
		return nil, errors.New("--no-token and a token are given; one of them is enough")
	case m.http != "" && m.record != "":
		return nil, errors.New("--record is of the session of one client, over standard input; leave --http out")
	case m.http == "":
		return nil, nil
	}
	h := &mcpserver.HTTP{Addr: m.http, NoToken: m.noToken, Hosts: m.names}
	var unread error
	if m.tokenFile != "" {
		h.Token, unread = secretIn(m.tokenFile, "--http-token-file", "token", os.ReadFile)
	}
	wrong := h.Check()
	if errors.Is(wrong, mcpserver.ErrNoToken) {
		wrong = fmt.Errorf("%w: give one with --http-token-file", wrong)
	}
	if wrong != nil {
		wrong = fmt.Errorf("--http: %w", wrong)
	}
	if err := errors.Join(unread, wrong); err != nil || h.Token == "" {
		return h, err
	}
	return h, skill.Undumpable()
}

// ownToken returns the token that HTTP clients must send if the user gives no token. It makes the token once and
// keeps it in the user's state folder, readable by the user alone, so that the user can give it to clients.
// note names the file, and the token if it is new. Without a state folder, or if the tools of the workspace
// reach that folder, the token holds for this run only.
func (c *console) ownToken(w *workspaceOptions) (token, note string, err error) {
	dir := c.getenv.stateDir()
	if dir == "" || w.holds(dir) {
		token = rand.Text()
		return token, "clients need the header \"Authorization: Bearer " + token +
			"\" until this server ends", nil
	}
	name := filepath.Join(dir, "http-token")
	if token, err = readToken(name); !errors.Is(err, fs.ErrNotExist) {
		return token, "clients need the header \"Authorization: Bearer TOKEN\" with the token in " + name, err
	}
	token = rand.Text()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", "", err
	}
	made := name + "." + rand.Text()
	defer os.Remove(made)
	if err := writeNew(made, []byte(token+"\n"), true); err != nil {
		return "", "", err
	}
	if err := os.Link(made, name); errors.Is(err, fs.ErrExist) { // another server was faster
		return c.ownToken(w)
	} else if err != nil {
		return "", "", err
	}
	return token, "clients need the header \"Authorization: Bearer " + token +
		"\"; the token is kept in " + name, nil
}

// readToken reads a token that is not empty and that only this user can read.
func readToken(name string) (string, error) {
	info, err := os.Lstat(name)
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0:
		return "", fmt.Errorf("%s: others may have read or written the token; delete the file, and a new one is made", name)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(data))
	if token == "" {
		return "", fmt.Errorf("%s holds no token; delete the file, and a new one is made", name)
	}
	return token, nil
}
