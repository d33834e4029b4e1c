package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"textskill/parser"
	"textskill/skill/dialect"
)

// handler answers the calls of one tool that come through the SDK.
func (s *Server) handler(t tool) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if m, ok := s.relaying.of(req); ok {
			var stop context.CancelFunc
			ctx, stop = context.WithCancel(ctx)
			defer stop()
			defer context.AfterFunc(m.ctx, stop)()
		}
		c := s.session(req.Session)
		if parent, ok := req.Params.Meta["traceparent"].(string); ok {
			ctx = dialect.WithTrace(ctx, parent)
		}
		ctx, r := c.begin(ctx)
		defer c.done(r)
		sc, ask, err := c.admit(ctx, req, t)
		switch {
		case err != nil:
			return result(answerText{text: err.Error(), failed: true}), nil
		case ask != nil:
			return ask, nil
		}
		defer c.leave(sc)
		ctx, quiet := s.progress(ctx, knownToken(req), s.notifier(ctx, req))
		defer quiet()
		return result(s.do(ctx, c, sc, t, req.Params)), nil
	}
}

// admit returns the scope for a call, which must leave it afterwards. If ask is not nil, it is
// the answer to the call instead. An error says why the call is refused.
func (c *session) admit(ctx context.Context, req *mcp.CallToolRequest, t tool) (sc *scope,
	ask *mcp.CallToolResult, err error) {
	sc, ask, err = c.enter(ctx, req)
	switch {
	case err != nil:
		return nil, nil, err
	case ask != nil:
		// in one go: the next call holds the answers to this one alone
		if q, _ := c.question(req, t); q != nil {
			ask.InputRequests[consentKey] = q
		}
		return nil, ask, nil
	}
	refusal, ask := c.consent(ctx, req, t)
	if refusal != "" {
		t.dialect.Report(ctx, sc.x, c.state, parser.ToolCall{Name: t.name, Arguments: req.Params.Arguments},
			time.Now(), errors.New(refusal))
		err = errors.New(t.name + ": " + refusal)
	}
	if ask != nil || err != nil {
		c.leave(sc)
		return nil, ask, err
	}
	return sc, nil, nil
}

type answerText struct {
	text    string
	failed  bool
	undo    string // ID that undoes its change; "" if no change was recorded
	notKept string // why its change cannot be undone; "" if it can

	structured []byte          // the answer as a JSON object; nil for none
	blocks     []dialect.Block // what is not text
	news       string          // what a person has undone since the last call; "" for nothing
}

// result is an answer as the protocol has it.
func result(a answerText) *mcp.CallToolResult {
	r := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: a.text}}, IsError: a.failed}
	if a.structured != nil {
		r.StructuredContent = json.RawMessage(a.structured)
	}
	for _, b := range a.blocks {
		r.Content = append(r.Content, content(b))
	}
	if a.news != "" {
		r.Content = append(r.Content, &mcp.TextContent{Text: a.news})
	}
	if a.undo != "" || a.notKept != "" {
		r.Meta = mcp.Meta{}
	}
	if a.undo != "" {
		r.Meta["undo"] = a.undo
	}
	if a.notKept != "" {
		r.Meta["notKept"] = a.notKept
	}
	return r
}

// content is a block as the protocol has it.
func content(b dialect.Block) mcp.Content {
	switch uri := fileURI(b.Path); {
	case b.Data == nil:
		return &mcp.ResourceLink{URI: uri, Name: filepath.Base(b.Path), MIMEType: b.Type}
	case strings.HasPrefix(b.Type, "image/"):
		return &mcp.ImageContent{Data: b.Data, MIMEType: b.Type}
	default:
		return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: uri, MIMEType: b.Type,
			Blob: b.Data}}
	}
}

// do executes one call. The dialect decides whether arguments may be missing.
func (s *Server) do(ctx context.Context, c *session, sc *scope, t tool,
	params *mcp.CallToolParamsRaw) (a answerText) {
	if refusal := sc.refused(); refusal != "" {
		return answerText{text: t.name + ": " + refusal, failed: true}
	}
	defer func() {
		if p := recover(); p != nil {
			s.logf("%s: %v\n%s", t.name, p, debug.Stack())
			a = answerText{text: t.name + " crashed; check what it has changed before you call it again",
				failed: true}
		}
	}()
	x := sc.x
	if s.cfg.Caller != nil {
		meta, _ := json.Marshal(params.Meta) // it was JSON
		x = x.InRun(s.cfg.Caller(meta))
	}
	r := t.dialect.Do(ctx, x, c.state, parser.ToolCall{Name: t.name, Arguments: params.Arguments})
	if s.cfg.Changed != nil && !t.reads {
		if err := s.cfg.Changed(context.WithoutCancel(ctx)); err != nil {
			return answerText{text: t.name + ": " + err.Error(), failed: true}
		}
	}
	news := ""
	if t.dialect.Resources { // this program's own, whose answers are no other program's
		news = c.news(context.WithoutCancel(ctx), sc.x)
	}
	if r.Err != nil && r.Body == "" {
		return answerText{text: r.Err.Error(), failed: true, news: news}
	}
	return answerText{r.Body, r.Err != nil, r.UndoID(), r.NotKept(), r.Structured, r.Blocks, news}
}

// progressEvery is the least time between two progress notifications of a call.
const progressEvery = 100 * time.Millisecond

// knownToken returns the progress token of a request, nil for none.
func knownToken(req *mcp.CallToolRequest) any {
	token := req.Params.GetProgressToken()
	if n, ok := token.(float64); ok && math.Abs(n) > 1<<53 {
		return nil // it was rounded, so the client would not know it
	}
	return token
}

// notifier returns the function that sends the progress of a call through the SDK.
func (s *Server) notifier(ctx context.Context,
	req *mcp.CallToolRequest) func(*mcp.ProgressNotificationParams) {
	return func(p *mcp.ProgressNotificationParams) {
		m, _ := s.relaying.of(req)
		if m.notify == nil {
			_ = req.Session.NotifyProgress(ctx, p) // fails only if the client is gone
		} else if line, err := progressLine(p); err == nil {
			m.notify(line)
		}
	}
}

func progressLine(p *mcp.ProgressNotificationParams) ([]byte, error) {
	return json.Marshal(map[string]any{"jsonrpc": "2.0", "method": "notifications/progress", "params": p})
}

// progress returns a context under which operations report their progress, if the
// client asked for it. quiet ends the notifications, so that none follows the reply.
func (s *Server) progress(ctx context.Context, token any,
	notify func(*mcp.ProgressNotificationParams)) (_ context.Context, quiet func()) {
	if token == nil || s.cfg.Progress == nil {
		return ctx, func() {}
	}
	p := &progress{next: time.Now().Add(progressEvery)}
	inner := s.cfg.Progress(ctx, func(done, total int64, note string) {
		p.mu.Lock()
		defer p.mu.Unlock()
		now := time.Now()
		if p.quiet || done <= p.done || now.Before(p.next) && done != total {
			return
		}
		p.done, p.next = done, now.Add(progressEvery)
		notify(&mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(done),
			Total: float64(total), Message: note})
	})
	return inner, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.quiet = true
	}
}

type progress struct {
	mu    sync.Mutex
	done  int64 // last reported; a report must exceed it
	next  time.Time
	quiet bool
}
