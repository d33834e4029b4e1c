// Package mcpserver serves dialects to clients that speak the Model Context
// Protocol, over standard input and output or over streamable HTTP.
//
// [New] makes a server of an executor and dialects. [Server.Stdio] serves the one
// client that started the program, [Server.HTTP] many clients at an address or a
// socket, and [Server.SDK] gives the server to a transport of go-sdk. A client sees
// the tools of the dialects, and the history and the files of the workspace as
// resources. Its roots narrow what its calls reach. [Config.Check] can refuse a call,
// or have the user asked about it.
//
// One executor may have several servers, each with its own dialects. Calls of one
// client run at the same time; their answers come in the order in which they end.
// Stdio and HTTP return after the calls that were running have been answered or
// stopped. A [Relay] carries the messages of HTTP clients to a server on another
// machine.
package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"textskill/skill"
	"textskill/skill/dialect"
)

// The program as clients see it, if [Config] does not say.
const serverName, serverTitle = "skill", "Skill"

// Config says what a server serves.
type Config struct {
	Executor *skill.Executor    // the workspace; stays the caller's to close
	Dialects []*dialect.Dialect // whose tools are served, in this order; no two may share a name
	Name     string             // of the program, sent to clients; "" means skill
	Title    string             // for people; "" means Name, or Skill without one
	Version  string             // of the program, sent to clients
	// receives a line for each event that the server's operator should see; may be nil
	Log io.Writer

	Instructions string // what clients are told; "" names the folder of the workspace

	// Progress returns a context under which operations report their progress.
	// done and total are in the operation's own unit, and total is 0 while it is
	// unknown. It is called for each call whose client asked for progress; if nil,
	// no progress is reported.
	Progress func(ctx context.Context, report func(done, total int64, note string)) context.Context

	// Caller returns in whose name the changes of a call are recorded. meta is the _meta of the request,
	// nil for none. It is called for each call, by several goroutines. It may be nil.
	Caller func(meta json.RawMessage) skill.RunStep

	// Check is called before each call of a tool, by several goroutines. It returns why the
	// call is refused, "" if it is made. With ask the user is asked first, and refusal is
	// for a client that cannot do that. If nil, all calls are made.
	Check func(tool string, e dialect.Effect) (refusal string, ask bool)

	// Session belongs to all clients; if nil, each has one of its own.
	Session *skill.Session

	// Changed is called after each call of a tool that may have changed something, before
	// the call is answered, by several goroutines. Its error is the answer then. It may be
	// nil.
	Changed func(ctx context.Context) error

	// Options are passed to the SDK's server; nil suits a server that has only
	// tools.
	Options *mcp.ServerOptions
}

// A Server serves the tools of its dialects to any number of clients. What
// belongs to one client is a [skill.Session] that no other client sees. When another
// folder replaces the workspace at its path, calls are refused until the program starts again.
type Server struct {
	cfg   Config
	sdk   *mcp.Server
	tools map[string]tool
	order []string // names as they are listed
	add   func()   // adds the tools to the SDK's server, once

	addLinked func() // adds the resources, once

	plain atomic.Bool // the SDK's server has what this package gives it, and nothing else

	relaying relaying

	mu       sync.Mutex
	sessions map[*mcp.ServerSession]*session
	logging  sync.Mutex

	maxUnread int64         // maxUnread; less in tests
	patience  time.Duration // unreadTime; less in tests
}

// tool is a name and the dialect that knows it.
type tool struct {
	dialect *dialect.Dialect
	name    string
	reads   bool // a call changes nothing
}

// New makes a server. It offers what the executor does not refuse in any case, see
// [dialect.Dialect.For]. Two dialects that have a tool of the same name are an error,
// and so is a dialect that is given twice.
func New(cfg Config) (*Server, error) {
	if len(cfg.Dialects) == 0 {
		return nil, errors.New("no dialect to serve; name at least one")
	}
	s := &Server{
		cfg:      cfg,
		tools:    make(map[string]tool),
		sessions: make(map[*mcp.ServerSession]*session),

		maxUnread: maxUnread,
		patience:  unreadTime,
	}
	s.cfg.Dialects = make([]*dialect.Dialect, len(cfg.Dialects))
	for i, d := range cfg.Dialects {
		d = d.For(cfg.Executor.Config())
		s.cfg.Dialects[i] = d
		for _, t := range d.Tools {
			if first, ok := s.tools[t.Name]; ok {
				return nil, fmt.Errorf("the dialects %s and %s both have a tool %s; choose one of the two",
					first.dialect.Name, d.Name, t.Name)
			}
			s.tools[t.Name] = tool{d, t.Name, t.Effect == dialect.Reads}
			s.order = append(s.order, t.Name)
		}
	}
	info := &mcp.Implementation{Name: cmp.Or(cfg.Name, serverName),
		Title: cmp.Or(cfg.Title, cfg.Name, serverTitle), Version: cfg.Version}
	s.sdk = mcp.NewServer(info, s.options())
	s.sdk.AddReceivingMiddleware(s.listInOrder, s.readable)
	s.plain.Store(cfg.Options == nil)
	s.add = sync.OnceFunc(s.addTools)
	s.relaying.running = make(map[string]context.CancelFunc)
	s.relaying.handler = sync.OnceValue(func() http.Handler {
		return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.sdk },
			&mcp.StreamableHTTPOptions{
				Stateless: true, JSONResponse: true, MaxRequestBodyBytes: maxLine,
				DisableLocalhostProtection: true, PropagateRequestCancellation: true,
			})
	})
	s.addLinked = sync.OnceFunc(s.addResources)
	return s, nil
}

func (s *Server) addTools() {
	for _, t := range s.listed() {
		s.sdk.AddTool(t, s.handler(s.tools[t.Name]))
	}
}

// listed returns the tools of the dialects, in their order.
func (s *Server) listed() (list []*mcp.Tool) {
	for _, d := range s.cfg.Dialects {
		for i := range d.Tools {
			t := &d.Tools[i]
			listed := &mcp.Tool{Name: t.Name, Title: t.Title, Description: t.Doc, InputSchema: t.Schema(),
				Annotations: annotations(t)}
			if s := t.OutputSchema(); s != nil {
				listed.OutputSchema = s
			}
			list = append(list, listed)
		}
	}
	return list
}

// SDK returns the SDK's server, to which tools, prompts and resources may be
// added before it serves.
func (s *Server) SDK() *mcp.Server {
	s.plain.Store(false)
	return s.sdk
}

func (s *Server) instructions() string {
	return cmp.Or(s.cfg.Instructions, "Files are those of the workspace "+s.cfg.Executor.Dir()+
		"; names are absolute inside it, or relative to it. Nothing outside can be reached.")
}

func (s *Server) options() *mcp.ServerOptions {
	var o mcp.ServerOptions
	if s.cfg.Options != nil {
		o = *s.cfg.Options
	}
	//lint:ignore SA1019 deprecated for new clients; today's show log messages
	caps := mcp.ServerCapabilities{Logging: &mcp.LoggingCapabilities{}}
	if o.Capabilities != nil {
		caps = *o.Capabilities
	}
	caps.Tools = cmp.Or(caps.Tools, &mcp.ToolCapabilities{}) // the list never changes
	if caps.Resources == nil && s.hasResources() {
		caps.Resources = &mcp.ResourceCapabilities{}
	}
	o.Capabilities = &caps
	o.Instructions = cmp.Or(o.Instructions, s.instructions())
	//lint:ignore SA1019 deprecated for new clients; today's have roots
	o.RootsListChangedHandler = func(_ context.Context, req *mcp.RootsListChangedRequest) {
		s.session(req.Session).forgetScope()
	}
	return &o
}

func (s *Server) hasResources() bool {
	return slices.ContainsFunc(s.cfg.Dialects, func(d *dialect.Dialect) bool {
		return d.Resources && d.Lookup("read") != nil && d.Lookup("history") != nil
	})
}

// annotations describe what a call may do, so that a client can ask its user first.
func annotations(t *dialect.Tool) *mcp.ToolAnnotations {
	a := &mcp.ToolAnnotations{
		ReadOnlyHint:   t.Effect == dialect.Reads,
		IdempotentHint: t.Effect == dialect.Reads || t.Idempotent,
		OpenWorldHint:  &t.Open,
	}
	destroys := t.Effect == dialect.Destroys
	a.DestructiveHint = &destroys
	// of our own: every client reads all definitions, and what these say by default is left out
	if t.Title != "" {
		a.DestructiveHint = nil
		if !destroys && !a.ReadOnlyHint {
			a.DestructiveHint = &destroys
		}
		if t.Open {
			a.OpenWorldHint = nil
		}
	}
	return a
}

// listInOrder lists the tools in the order of their dialects, where the SDK sorts
// by name, and adds them to the SDK's server when a client first needs them. A list of
// no other tools is made here: to add 17 tools takes 2 ms of a new process.
func (s *Server) listInOrder(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		p, _ := req.GetParams().(*mcp.ListToolsParams)
		ours := method == "tools/list" && s.plain.Load() && (p == nil || p.Cursor == "")
		switch {
		case strings.HasPrefix(method, "tools/") && !ours:
			s.add()
		case strings.HasPrefix(method, "resources/") && s.hasResources():
			s.addLinked()
		}
		r, err := next(ctx, method, req)
		if wrong, ok := errors.AsType[*jsonrpc.Error](err); ok &&
			strings.HasPrefix(wrong.Message, "unknown tool ") {
			wrong.Message += s.otherwise(req)
		}
		switch list, ok := r.(*mcp.ListToolsResult); {
		case !ok || list == nil:
		case ours:
			list.Tools = s.listed()
		default:
			slices.SortStableFunc(list.Tools,
				func(a, b *mcp.Tool) int { return s.rank(a.Name) - s.rank(b.Name) })
		}
		return r, err
	}
}

// otherwise says what a client may have meant that has called an unknown tool.
func (s *Server) otherwise(req mcp.Request) string {
	p, _ := req.GetParams().(*mcp.CallToolParamsRaw)
	if p == nil {
		return ""
	}
	for _, d := range s.cfg.Dialects {
		if all := dialect.Named(d.Name); all != nil && d.Lookup(p.Name) == nil {
			switch t := all.Lookup(p.Name); {
			case t == nil:
			case t.Open && t.Effect != dialect.Reads && !s.cfg.Executor.Config().ReadOnly &&
				!s.cfg.Executor.Config().DryRun:
				return "; it needs a program that fences what it starts: Helper of skill.Config"
			case t.Open && t.Effect == dialect.Reads && !s.cfg.Executor.Config().Reaches():
				return "; it needs --network"
			default:
				return "; it is left out where nothing may be changed"
			}
		}
	}
	if best := dialect.Nearest(p.Name, s.cfg.Dialects...); best != nil {
		return "; is it " + best.Name + "?"
	}
	return "; there are " + strings.Join(s.order, ", ")
}

// rank returns the position of a name in the list; names that no dialect has come
// last.
func (s *Server) rank(name string) int {
	if i := slices.Index(s.order, name); i >= 0 {
		return i
	}
	return len(s.order)
}

// logf writes a line to the log.
func (s *Server) logf(format string, args ...any) {
	if s.cfg.Log == nil {
		return
	}
	s.logging.Lock()
	defer s.logging.Unlock()
	fmt.Fprintf(s.cfg.Log, "%s: %s\n", filepath.Base(s.cfg.Executor.Program()),
		strings.TrimSuffix(fmt.Sprintf(format, args...), "\n"))
}
