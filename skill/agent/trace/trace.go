// Package trace reports runs, and calls over MCP, as OpenTelemetry spans, by the semantic
// conventions for generative AI and MCP: one for the run, one for each request to the model,
// and one for each tool call. Spans hold names and counts, never what was said, read or written. All
// processes that work on a run add to one trace: a run that is continued has a further span,
// with a link to the first.
//
// They are sent as OTLP in JSON over HTTP. The official SDK with its exporters brings protobuf
// and gRPC into the program: 7.8 MB, and 94 more package inits at every start. Without them it
// adds 0.7 MB, 16 inits and about 0.2 ms to every start, and the conversion to JSON would still
// be here.
package trace

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"textskill/skill/agent"
)

// A Recorder makes spans of the events of a run and sends them: those that have ended every
// few seconds, so that a run that is killed leaves its trace, and the rest at the end. It is
// used by one goroutine.
type Recorder struct {
	*collector
	cfg agent.Config

	trace, root string
	parent      string // of root; "" if there is none
	first       string // the root of the process that began the run, if that is another one
	started     time.Time
	expert      string
	run         string
	usage       agent.Usage
	asked       time.Time // when the model was asked; zero if it is not
	calls       map[string]open
	spans       []span

	due    time.Time  // when spans are sent next
	sent   chan error // what became of those that are being sent; nil if none are
	failed error      // of the first that could not be sent
}

// open is a tool call under way.
type open struct {
	at   time.Time
	call agent.ToolCall
}

// New returns a Recorder that sends to the collector which the variables name, as the
// specification of OpenTelemetry has them; nil if they name none. The values of the
// variables may not come from a workspace.
func New(getenv func(string) string, cfg agent.Config) (*Recorder, error) {
	to, err := newCollector(getenv)
	if to == nil || err != nil {
		return nil, err
	}
	return &Recorder{
		collector: to, cfg: cfg, trace: id(16), root: id(8), started: time.Now(), calls: map[string]open{},
		due: time.Now().Add(sendEvery),
	}, nil
}

// Continue makes the run a part of the trace of a traceparent, as W3C has it, if it is one.
// It is called before the first event.
func (r *Recorder) Continue(traceparent string) {
	if m := traceparents().FindStringSubmatch(traceparent); m != nil {
		r.trace, r.parent = m[1], m[2]
	}
}

var traceparents = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$`)
})

// A collector receives spans.
type collector struct {
	url     string
	header  http.Header
	service string
}

func newCollector(getenv func(string) string) (*collector, error) {
	address := getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
	if base := getenv("OTEL_EXPORTER_OTLP_ENDPOINT"); address == "" && base != "" {
		address = strings.TrimRight(base, "/") + "/v1/traces"
	}
	if address == "" || strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") {
		return nil, nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_ENDPOINT is not an address like http://localhost:4318")
	}
	c := &collector{address, http.Header{"Content-Type": {"application/json"}}, cmp.Or(getenv("OTEL_SERVICE_NAME"), "skill")}
	for _, pair := range strings.Split(cmp.Or(getenv("OTEL_EXPORTER_OTLP_TRACES_HEADERS"), getenv("OTEL_EXPORTER_OTLP_HEADERS")), ",") {
		name, value, ok := strings.Cut(pair, "=")
		if value, err := url.PathUnescape(strings.TrimSpace(value)); ok && err == nil {
			c.header.Set(strings.TrimSpace(name), value)
		}
	}
	return c, nil
}

func id(bytes int) string {
	b := make([]byte, bytes)
	rand.Read(b)
	return hex.EncodeToString(b)
}

// A span is one as OTLP has it in JSON.
type span struct {
	TraceID    string      `json:"traceId"`
	SpanID     string      `json:"spanId"`
	ParentID   string      `json:"parentSpanId,omitempty"`
	Links      []link      `json:"links,omitempty"`
	Name       string      `json:"name"`
	Kind       int         `json:"kind"`
	Start      string      `json:"startTimeUnixNano"`
	End        string      `json:"endTimeUnixNano"`
	Attributes []attribute `json:"attributes"`
	Status     *status     `json:"status,omitempty"`
}

// A link is to a span that is no parent.
type link struct {
	TraceID string `json:"traceId"`
	SpanID  string `json:"spanId"`
}

type attribute struct {
	Key   string         `json:"key"`
	Value map[string]any `json:"value"`
}

type status struct {
	Code    int    `json:"code"` // 2 is an error
	Message string `json:"message,omitempty"`
}

// The kinds of spans.
const (
	internal = 1
	server   = 2
	client   = 3
)

func text(key, value string) attribute {
	return attribute{key, map[string]any{"stringValue": value}}
}
func number(key string, n int) attribute {
	return attribute{key, map[string]any{"intValue": strconv.Itoa(n)}}
}

// add adds a span below that of the run, which ends now. A failure is "" if there is none.
func (r *Recorder) add(name string, kind int, from time.Time, failure string, attributes ...attribute) {
	s := span{TraceID: r.trace, SpanID: id(8), ParentID: r.root, Name: name, Kind: kind, Attributes: attributes,
		Start: nanoseconds(from), End: nanoseconds(time.Now())}
	if failure != "" {
		s.Status = &status{Code: 2}
		s.Attributes = append(s.Attributes, text("error.type", failure))
	}
	r.spans = append(r.spans, s)
}

func nanoseconds(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

// Event adds an event of the run, as it happens.
func (r *Recorder) Event(e agent.Event) {
	if r.run == "" {
		r.run, r.expert = e.RunID, e.ExpertKey
		r.join()
	}
	switch {
	case e.Usage != nil && !r.asked.IsZero():
		r.generated(*e.Usage, "")
	case e.Usage != nil: // of a summary, or of a report that an earlier process had begun
		r.count(*e.Usage)
	}
	switch e.Type {
	case agent.StartGeneration, agent.AttemptCompletion: // after which the report is asked for
		r.asked = time.Now()
	case agent.StopRunByError:
		if !r.asked.IsZero() {
			r.generated(agent.Usage{}, "_OTHER")
		}
	case agent.CallTool:
		if e.ToolCall != nil {
			r.calls[e.ToolCall.ID] = open{time.Now(), *e.ToolCall}
		}
	}
	if e.ToolResult != nil && e.Type != agent.Retry {
		r.called(e)
	}
	if time.Now().After(r.due) {
		r.send()
	}
}

// join makes the trace that of the run, whose records say when it was started. A run without
// records has a trace of its own.
func (r *Recorder) join() {
	if r.cfg.Executor == nil || r.parent != "" {
		return
	}
	s, err := agent.Records{Executor: r.cfg.Executor}.Setting(context.Background(), r.run)
	if err != nil {
		return
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%d", r.cfg.Executor.Dir(), r.run, s.StartedAt))
	r.trace = hex.EncodeToString(sum[:16])
	first := hex.EncodeToString(sum[16:24])
	if r.cfg.Continue == "" && r.cfg.From == nil {
		r.root = first
	} else {
		r.first = first
	}
}

// generated ends the request to the model.
func (r *Recorder) generated(u agent.Usage, failure string) {
	r.add("chat "+r.cfg.About.Model, client, r.asked, failure, append(r.model("chat"), usage(u)...)...)
	r.count(u)
	r.asked = time.Time{}
}

// count adds to what the run has used.
func (r *Recorder) count(u agent.Usage) {
	r.usage.InputTokens += u.InputTokens
	r.usage.OutputTokens += u.OutputTokens
	r.usage.CachedInputTokens += u.CachedInputTokens
	r.usage.CacheWriteTokens += u.CacheWriteTokens
	r.usage.ReasoningTokens += u.ReasoningTokens
}

// providers are the names of the conventions.
var providers = map[string]string{"google": "gcp.gemini"}

func (r *Recorder) model(operation string) []attribute {
	return []attribute{
		text("gen_ai.operation.name", operation), text("gen_ai.provider.name", cmp.Or(providers[r.cfg.About.Provider], r.cfg.About.Provider)),
		text("gen_ai.request.model", r.cfg.About.Model), text("gen_ai.conversation.id", r.run),
	}
}

func usage(u agent.Usage) []attribute {
	list := []attribute{
		number("gen_ai.usage.input_tokens", u.InputTokens), number("gen_ai.usage.output_tokens", u.OutputTokens),
		number("gen_ai.usage.cache_read.input_tokens", u.CachedInputTokens),
	}
	if u.CacheWriteTokens > 0 {
		list = append(list, number("gen_ai.usage.cache_write.input_tokens", u.CacheWriteTokens))
	}
	if u.ReasoningTokens > 0 {
		list = append(list, number("gen_ai.usage.reasoning.output_tokens", u.ReasoningTokens))
	}
	return list
}

// called ends a tool call.
func (r *Recorder) called(e agent.Event) {
	c, ok := r.calls[e.ToolResult.ID]
	if !ok {
		return
	}
	delete(r.calls, e.ToolResult.ID)
	failure := ""
	if e.ToolResult.IsError {
		failure = "tool_error"
	}
	attributes := []attribute{
		text("gen_ai.operation.name", "execute_tool"), text("gen_ai.tool.name", c.call.ToolName),
		text("gen_ai.tool.call.id", c.call.ID), text("gen_ai.tool.type", "function"),
	}
	if kind := r.cfg.Experts[e.ExpertKey].Skills[c.call.SkillName].Type; strings.HasPrefix(kind, "mcp") {
		attributes = append(attributes, text("mcp.method.name", "tools/call"))
	}
	r.add("execute_tool "+c.call.ToolName, internal, c.at, failure, attributes...)
}

const (
	maxWait   = 3 * time.Second // for the collector
	sendEvery = 5 * time.Second
)

// send sends the spans that have ended, beside the run, unless others are being sent.
func (r *Recorder) send() {
	if r.sent != nil {
		select {
		case err := <-r.sent:
			r.failed, r.sent = cmp.Or(r.failed, err), nil
		default:
			return
		}
	}
	if len(r.spans) == 0 {
		return
	}
	spans, sent := r.spans, make(chan error, 1)
	r.spans, r.sent, r.due = nil, sent, time.Now().Add(sendEvery)
	go func() { sent <- r.post("agent", spans) }()
}

// Close ends the span of the run, with the error that ended the run or nil, and sends what
// was not sent before. Its error is that spans could not be sent.
func (r *Recorder) Close(failed error) error {
	if !r.asked.IsZero() {
		r.generated(agent.Usage{}, "_OTHER")
	}
	failure := ""
	if failed != nil {
		failure = "_OTHER"
	}
	r.add("invoke_agent "+r.expert, internal, r.started, failure, append(append(r.model("invoke_agent"), text("gen_ai.agent.name", r.expert)), usage(r.usage)...)...)
	last := &r.spans[len(r.spans)-1]
	last.SpanID, last.ParentID = r.root, r.parent
	if r.first != "" {
		last.Links = []link{{r.trace, r.first}}
	}
	if r.sent != nil {
		r.failed = cmp.Or(r.failed, <-r.sent)
	}
	return cmp.Or(r.failed, r.post("agent", r.spans))
}

// post sends spans to the collector, which a package below skill has made. It may be called
// by several goroutines.
func (c *collector) post(scope string, spans []span) error {
	type m = map[string]any
	body, err := json.Marshal(m{"resourceSpans": []m{{
		"resource":   m{"attributes": []attribute{text("service.name", c.service)}},
		"scopeSpans": []m{{"scope": m{"name": "textskill/skill/" + scope}, "spans": spans}},
	}}})
	if err != nil {
		return err
	}
	return c.send("spans", body)
}

// send sends what is named to the collector.
func (c *collector) send(what string, body []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), maxWait) // also after an interrupt
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header = c.header
	resp, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("the %s cannot be sent: %w", what, err)
	}
	resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("the %s are refused: status %d", what, resp.StatusCode)
	}
	return nil
}
