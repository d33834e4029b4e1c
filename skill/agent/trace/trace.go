// Package trace reports runs, and calls over MCP, as OpenTelemetry spans, by the semantic
// conventions for generative AI and MCP: one for the run, one for each delegate, one for each
// request to the model, and one for each tool call. Spans hold names and counts, never what was
// said, read or written. All processes that work on a run add to one trace: a run that is
// continued has a further span, with a link to the first.
//
// The official SDK makes them and keeps those that wait; it costs 0.76 MB, 16 package inits and
// less than 0.2 ms at every start. Its exporters bring protobuf and gRPC into the program, 7.8 MB
// and 94 inits, so spans are sent as OTLP in JSON over HTTP by one of our own.
package trace

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"textskill/skill/agent"
)

// A Recorder makes spans of the events of a run and sends them: those that have ended every
// few seconds, so that a run that is killed leaves its trace, and the rest at the end. One
// goroutine at a time uses it.
type Recorder struct {
	*reporter
	cfg       agent.Config // without From, which has the whole conversation
	continued bool

	ids     *ids
	parent  trace.SpanContext // of the run; not valid without one
	started time.Time
	run     string
	// the run's expert and, each by the one before it, delegates; none before the first event
	agents []invoked
	asked  trace.Span // of the request to the model; nil for none
	calls  sync.Map   // spans of those under way, by their IDs
}

// invoked is an expert at work, or that waits for its delegate.
type invoked struct {
	trace.Span
	usage agent.Usage // with that of its delegates
}

// New returns a Recorder that sends to the collector which the variables name, as the
// specification of OpenTelemetry has them; nil if they name none. The values of the
// variables may not come from a workspace.
func New(getenv func(string) string, cfg agent.Config) (*Recorder, error) {
	i := &ids{}
	rand.Read(i.trace[:])
	rand.Read(i.root[:])
	r, err := newReporter(getenv, "agent", sdk.WithIDGenerator(i))
	if r == nil || err != nil {
		return nil, err
	}
	continued := cfg.Continue != "" || cfg.From != nil
	cfg.From = nil
	return &Recorder{reporter: r, cfg: cfg, continued: continued, ids: i, started: time.Now()}, nil
}

// Continue makes the run a part of the trace of a traceparent, as W3C has it, if it is one.
// It is called before the first event.
func (r *Recorder) Continue(traceparent string) {
	r.parent = trace.SpanContextFromContext(remote(traceparent))
}

// remote returns a context in the trace of a traceparent, if it is one.
func remote(traceparent string) context.Context {
	return propagation.TraceContext{}.Extract(context.Background(),
		propagation.MapCarrier{"traceparent": traceparent})
}

// Traceparent returns the traceparent of a tool call under way, "" for another. It is safe for
// concurrent use.
func (r *Recorder) Traceparent(callID string) string {
	carrier := propagation.MapCarrier{}
	if s, ok := r.calls.Load(callID); ok {
		propagation.TraceContext{}.Inject(trace.ContextWithSpan(context.Background(),
			s.(trace.Span)), carrier)
	}
	return carrier["traceparent"]
}

// ids makes the IDs of spans. Those of a run follow from its records, so that the processes
// that work on it find them; all others are random.
type ids struct {
	trace trace.TraceID
	root  trace.SpanID
}

// NewIDs returns the IDs of the run.
func (i *ids) NewIDs(context.Context) (trace.TraceID, trace.SpanID) { return i.trace, i.root }

// NewSpanID returns that of another span.
func (i *ids) NewSpanID(context.Context, trace.TraceID) (id trace.SpanID) {
	rand.Read(id[:])
	return id
}

// begin begins the span of the run.
func (r *Recorder) begin(e agent.Event) {
	r.run = e.RunID
	options := []trace.SpanStartOption{trace.WithTimestamp(r.started)}
	if first := r.join(); first.IsValid() {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: first}))
	}
	r.invoke(trace.ContextWithRemoteSpanContext(context.Background(), r.parent),
		cmp.Or(r.cfg.Expert, e.ExpertKey), options...)
}

// invoke begins the span of an expert.
func (r *Recorder) invoke(ctx context.Context, expert string, options ...trace.SpanStartOption) {
	_, s := r.tracer.Start(ctx, "invoke_agent "+expert, options...)
	s.SetAttributes(append(r.model("invoke_agent"), attribute.String("gen_ai.agent.name", expert))...)
	r.agents = append(r.agents, invoked{Span: s})
}

// left ends the span of the expert that works.
func (r *Recorder) left(failed bool) {
	last := len(r.agents) - 1
	r.end(r.agents[last], time.Time{}, failed, "_OTHER", usage(r.agents[last].usage)...)
	r.agents = r.agents[:last]
}

// within returns a context in the span of the expert that works.
func (r *Recorder) within() context.Context {
	return trace.ContextWithSpan(context.Background(), r.agents[len(r.agents)-1].Span)
}

// join makes the trace that of the run, whose records say when it was started, and returns
// the span of the process that began the run, if that is another one. A run without records
// has a trace of its own.
func (r *Recorder) join() (first trace.SpanContext) {
	if r.cfg.Executor == nil || r.parent.IsValid() {
		return first
	}
	s, err := agent.Records{Executor: r.cfg.Executor}.Setting(context.Background(), r.run)
	if err != nil {
		return first
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%d", r.cfg.Executor.Dir(), r.run, s.StartedAt))
	r.ids.trace = trace.TraceID(sum[:16])
	root := trace.SpanID(sum[16:24])
	if !r.continued {
		r.ids.root = root
		return first
	}
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: r.ids.trace, SpanID: root})
}

// Event adds an event of the run, as it happens.
func (r *Recorder) Event(e agent.Event) {
	if r.agents == nil {
		r.begin(e)
	}
	if e.Usage != nil {
		r.generated(*e.Usage, false)
	}
	switch e.Type {
	case agent.StartRun: // also of an expert whose delegate has reported
		c := e.InitialCheckpoint
		if c != nil && c.DelegatedBy != nil && (c.Status == agent.Init || len(r.agents) == 1) {
			r.invoke(r.within(), e.ExpertKey)
		}
	case agent.CompleteRun:
		if len(r.agents) > 1 {
			r.left(false)
		}
	case agent.StartGeneration, agent.AttemptCompletion: // after which the report is asked for
		r.asked = r.start("chat "+r.cfg.About.Model, trace.SpanKindClient, r.model("chat"))
	case agent.StopRunByError:
		r.generated(agent.Usage{}, true)
	}
	r.called(e)
}

// called begins or ends the span of the call that an event is about, if it is about one.
func (r *Recorder) called(e agent.Event) {
	if e.Type == agent.CallTool && e.ToolCall != nil {
		r.calls.Store(e.ToolCall.ID, r.call(e.ExpertKey, *e.ToolCall))
	}
	if e.ToolResult != nil && e.Type != agent.Retry {
		if s, ok := r.calls.LoadAndDelete(e.ToolResult.ID); ok {
			r.end(s.(trace.Span), time.Time{}, e.ToolResult.IsError, "tool_error")
		}
	}
}

// start starts a span below that of the expert that works.
func (r *Recorder) start(name string, kind trace.SpanKind, attributes []attribute.KeyValue) trace.Span {
	_, s := r.tracer.Start(r.within(), name, trace.WithSpanKind(kind), trace.WithAttributes(attributes...))
	return s
}

// generated ends the request to the model, and counts what it used. It does nothing
// for a summary, or for a report that an earlier process asked for.
func (r *Recorder) generated(u agent.Usage, failed bool) {
	if r.asked != nil {
		r.end(r.asked, time.Time{}, failed, "_OTHER", usage(u)...)
		r.asked = nil
	}
	for i := range r.agents {
		r.agents[i].usage = r.agents[i].usage.Add(u)
	}
}

// providers are the names of the conventions.
var providers = map[string]string{"google": "gcp.gemini"}

func (r *Recorder) model(operation string) []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.String("gen_ai.operation.name", operation), attribute.String("gen_ai.provider.name",
			cmp.Or(providers[r.cfg.About.Provider], r.cfg.About.Provider)),
		attribute.String("gen_ai.request.model", r.cfg.About.Model),
		attribute.String("gen_ai.conversation.id", r.run),
	}
}

func usage(u agent.Usage) []attribute.KeyValue {
	list := []attribute.KeyValue{
		attribute.Int("gen_ai.usage.input_tokens", u.InputTokens),
		attribute.Int("gen_ai.usage.output_tokens", u.OutputTokens),
		attribute.Int("gen_ai.usage.cache_read.input_tokens", u.CachedInputTokens),
	}
	if u.CacheWriteTokens > 0 {
		list = append(list, attribute.Int("gen_ai.usage.cache_write.input_tokens", u.CacheWriteTokens))
	}
	if u.ReasoningTokens > 0 {
		list = append(list, attribute.Int("gen_ai.usage.reasoning.output_tokens", u.ReasoningTokens))
	}
	return list
}

// call starts the span of a tool call.
func (r *Recorder) call(expert string, c agent.ToolCall) trace.Span {
	attributes := []attribute.KeyValue{
		attribute.String("gen_ai.operation.name", "execute_tool"),
		attribute.String("gen_ai.tool.name", c.ToolName),
		attribute.String("gen_ai.tool.call.id", c.ID), attribute.String("gen_ai.tool.type", "function"),
	}
	if kind := r.cfg.Experts[expert].Skills[c.SkillName].Type; strings.HasPrefix(kind, "mcp") {
		attributes = append(attributes, attribute.String("mcp.method.name", "tools/call"))
	}
	return r.start("execute_tool "+c.ToolName, trace.SpanKindInternal, attributes)
}

// Close ends the spans of the experts, with the error that ended the run or nil, and sends what
// was not sent before. Its error is that spans could not be sent.
func (r *Recorder) Close(failed error) error {
	if r.agents == nil {
		r.begin(agent.Event{})
	}
	r.generated(agent.Usage{}, true)
	for len(r.agents) > 0 {
		r.left(failed != nil)
	}
	return r.reporter.Close()
}
