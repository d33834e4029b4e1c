package trace

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"textskill/skill"
	"textskill/skill/agent"
)

// collectorAt returns variables that name a collector, which keeps what it is sent.
func collectorAt(t *testing.T, status int) (getenv func(string) string, got *[]string) {
	got = new([]string)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*got = append(*got, r.URL.Path+" "+r.Header.Get("X-Team")+" "+string(body))
		w.WriteHeader(status)
	}))
	t.Cleanup(s.Close)
	return func(name string) string {
		return map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": s.URL + "/",
			"OTEL_EXPORTER_OTLP_HEADERS": "x-team=a%20b, other=1"}[name]
	}, got
}

func TestSpans(t *testing.T) {
	getenv, got := collectorAt(t, 200)
	cfg := agent.Config{
		About:   agent.About{Provider: "google", Model: "gemini-3-pro"},
		Experts: map[string]agent.Expert{"e": {Skills: map[string]agent.SkillConfig{"s": {Type: "mcpStdioSkill"}}}},
	}
	r, err := New(getenv, cfg)
	if err != nil {
		t.Fatal(err)
	}
	call := func(id, skill, tool string) *agent.ToolCall {
		return &agent.ToolCall{ID: id, SkillName: skill, ToolName: tool,
			Args: json.RawMessage(`{"path":"secret.txt"}`)}
	}
	during := ""
	used := agent.Usage{InputTokens: 10, OutputTokens: 2, CachedInputTokens: 4}
	for _, e := range []agent.Event{
		{Type: agent.StartRun, RunID: "r1"}, {Type: agent.StartGeneration},
		{Type: agent.CallTool, ToolCall: call("a", "@perstack/base", "readTextFile"), Usage: &used},
		{Type: agent.CallTool, ToolCall: call("b", "s", "search"), Usage: &agent.Usage{}},
		{Type: agent.ResolveToolResult, ToolResult: &agent.ToolResult{ID: "b", IsError: true}},
		{Type: agent.ResolveToolResult, ToolResult: &agent.ToolResult{ID: "a"}},
		{Type: agent.ResolveToolResult, ToolResult: &agent.ToolResult{ID: "unknown"}},
		{Type: agent.ContinueToNextStep}, {Type: agent.CompactConversation, Usage: &used},
		{Type: agent.StartGeneration}, {Type: agent.Retry, Usage: &used},
		{Type: agent.StartGeneration}, {Type: agent.StopRunByError},
	} {
		e.ExpertKey = "e"
		if e.RunID == "" {
			e.RunID = "r1"
		}
		r.Event(e)
		during = cmp.Or(during, r.Traceparent("a"))
	}
	if after := r.Traceparent("a"); !regexp.MustCompile(`^00-\w{32}-\w{16}-01$`).MatchString(during) ||
		after != "" {
		t.Errorf("the trace context of a call is %q, and %q after it", during, after)
	}
	if err := r.Close(errors.New("no key")); err != nil {
		t.Fatal(err)
	}
	if len(*got) != 1 || !strings.HasPrefix((*got)[0], "/v1/traces a b ") ||
		strings.Contains((*got)[0], "secret") {
		t.Fatalf("the collector is sent %q", *got)
	}
	type attribute struct {
		Key   string
		Value map[string]any
	}
	var sent struct {
		ResourceSpans []struct {
			ScopeSpans []struct {
				Spans []struct {
					Name, TraceID, SpanID string
					ParentID              string `json:"parentSpanId"`
					Start                 string `json:"startTimeUnixNano"`
					End                   string `json:"endTimeUnixNano"`
					Attributes            []attribute
					Status                *status
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(strings.TrimPrefix((*got)[0], "/v1/traces a b ")), &sent); err != nil {
		t.Fatal(err)
	}
	spans := sent.ResourceSpans[0].ScopeSpans[0].Spans
	root := spans[len(spans)-1]
	var lines []string
	for _, s := range spans {
		line := s.Name
		for _, a := range s.Attributes {
			switch a.Key {
			case "gen_ai.usage.input_tokens":
				line += fmt.Sprint(" in=", a.Value["intValue"])
			case "error.type", "mcp.method.name", "gen_ai.provider.name", "gen_ai.conversation.id":
				line += fmt.Sprint(" ", a.Value["stringValue"])
			}
		}
		lines = append(lines, line)
		if s.TraceID != root.TraceID || s.SpanID != root.SpanID && s.ParentID != root.SpanID ||
			s.Start > s.End || len(s.TraceID) != 32 || len(s.SpanID) != 16 {
			t.Errorf("span %+v", s)
		}
		if failed := slices.ContainsFunc(s.Attributes,
			func(a attribute) bool { return a.Key == "error.type" }); failed != (s.Status != nil && s.Status.Code == 2) {
			t.Errorf("span %s: failed %v, status %v", s.Name, failed, s.Status)
		}
	}
	want := []string{"chat gemini-3-pro gcp.gemini r1 in=10", "execute_tool search mcp tools/call tool_error",
		"execute_tool readTextFile",
		"chat gemini-3-pro gcp.gemini r1 in=10", "chat gemini-3-pro gcp.gemini r1 in=0 _OTHER",
		"invoke_agent e gcp.gemini r1 in=30 _OTHER"}
	want[1] = "execute_tool search tools/call tool_error"
	if !slices.Equal(lines, want) {
		t.Errorf("spans\n got %q\nwant %q", lines, want)
	}
}

// TestDelegates has a span for each delegate, below that of the expert that delegated: also in
// a process that continues a run when a delegate's delegate works.
func TestDelegates(t *testing.T) {
	start := func(expert string, status agent.Status, delegated bool) agent.Event {
		e := agent.Event{Type: agent.StartRun, ExpertKey: expert,
			InitialCheckpoint: &agent.Checkpoint{Status: status}}
		if delegated {
			e.InitialCheckpoint.DelegatedBy = &agent.DelegatedBy{}
		}
		return e
	}
	asked, done := agent.Event{Type: agent.StartGeneration},
		agent.Event{Type: agent.CompleteRun, Usage: &agent.Usage{InputTokens: 1}}
	delegates := agent.Event{Type: agent.CallDelegate, Usage: &agent.Usage{InputTokens: 1}}
	for _, tt := range []struct {
		events []agent.Event
		want   string
	}{
		{[]agent.Event{
			start("a", agent.Init, false), asked, delegates, start("b", agent.Init, true), asked, delegates,
			start("c", agent.Init, true), asked, done,
			start("b", agent.StoppedByDelegate, true), asked, done,
			start("a", agent.StoppedByDelegate, false), asked, done,
		}, "chat<a chat<b chat<c c(1)<b chat<b b(3)<a chat<a a(5)<"},
		{[]agent.Event{
			start("c", agent.Proceeding, true), asked, done, start("b", agent.StoppedByDelegate, true),
			asked, done, start("a", agent.StoppedByDelegate, false), asked, done,
		}, "chat<c c(1)<a chat<b b(1)<a chat<a a(3)<"},
		{[]agent.Event{start("a", agent.Init, false), asked, delegates, start("b", agent.Init, true), asked},
			"chat<a chat<b b(0)<a a(1)<"},
	} {
		getenv, got := collectorAt(t, 200)
		r, err := New(getenv, agent.Config{Expert: "a"})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range tt.events {
			r.Event(e)
		}
		if err := r.Close(nil); err != nil {
			t.Fatal(err)
		}
		var line []string
		names := map[string]string{}
		spans := regexp.MustCompile(`"spanId":"(\w+)"(?:,"parentSpanId":"(\w+)")?,"name":"(\w+) (\w*)".*?(?:input_tokens","value":\{"intValue":"(\d+))`).FindAllStringSubmatch((*got)[0], -1)
		for _, m := range spans {
			names[m[1]] = m[4]
		}
		for _, m := range spans {
			name := m[3]
			if name == "invoke_agent" {
				name = m[4] + "(" + m[5] + ")"
			}
			line = append(line, name+"<"+names[m[2]])
		}
		if strings.Join(line, " ") != tt.want {
			t.Errorf("spans\n got %s\nwant %s", strings.Join(line, " "), tt.want)
		}
	}
}

// TestCalls sends a span for each call of an MCP server, without arguments, when it ends.
func TestCalls(t *testing.T) {
	getenv, got := collectorAt(t, 200)
	c, err := NewCalls(getenv)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Unix(5, 0)
	c.Add(skill.Call{Tool: "find", Trace: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"})
	c.Add(skill.Call{Tool: "read", Arguments: map[string]any{"path": "secret.txt"}, Began: began,
		Took: time.Millisecond})
	c.Add(skill.Call{Tool: "edit", Began: began, Failure: "secret"})
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if len(*got) != 1 || strings.Contains((*got)[0], "secret") {
		t.Fatalf("the collector is sent %q", *got)
	}
	for _, want := range []string{`"name":"textskill/skill/mcpserver"`,
		`"name":"tools/call read","kind":2,"startTimeUnixNano":"5000000000","endTimeUnixNano":"5001000000"`,
		`"name":"tools/call edit"`, `"parentSpanId":"b7ad6b7169203331","name":"tools/call find"`,
		`"status":{"code":2}`} {
		if strings.Count((*got)[0], want) != 1 {
			t.Errorf("the collector is sent %s, want once %s", (*got)[0], want)
		}
	}
	getenv, _ = collectorAt(t, 400)
	if c, err = NewCalls(getenv); err != nil {
		t.Fatal(err)
	}
	for range maxSpans + 1 {
		c.Add(skill.Call{Tool: "read", Began: began})
	}
	if err := c.Close(); err == nil || !strings.Contains(err.Error(), "status 400") ||
		!strings.Contains(err.Error(), "lost") {
		t.Error(err)
	}
}

func TestNoCollector(t *testing.T) {
	if r, err := New(func(string) string { return "" }, agent.Config{}); r != nil || err != nil {
		t.Errorf("%v, %v", r, err)
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"} {
		if r, err := New(func(n string) string { return map[string]string{name: "collector:4318"}[n] },
			agent.Config{}); r != nil || err == nil {
			t.Errorf("%s: %v, %v", name, r, err)
		}
	}
	getenv, _ := collectorAt(t, 400)
	r, err := New(getenv, agent.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(nil); err == nil || err.Error() != "the spans are refused: status 400\nlost spans: 1" {
		t.Error(err)
	}
}

// TestKilledRun looks at what the collector has of a run that does not live to end its trace.
func TestKilledRun(t *testing.T) {
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "10") // milliseconds; 5 seconds without it
	came := make(chan string, 9)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		came <- string(body)
	}))
	defer s.Close()
	getenv := func(name string) string { return map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": s.URL}[name] }
	r, err := New(getenv, agent.Config{About: agent.About{Model: "m"}})
	if err != nil {
		t.Fatal(err)
	}
	r.Event(agent.Event{Type: agent.StartGeneration, RunID: "r1"})
	r.Event(agent.Event{Type: agent.CallTool, ToolCall: &agent.ToolCall{ID: "a"},
		Usage: &agent.Usage{InputTokens: 1}})
	if got := <-came; !strings.Contains(got, `"chat m"`) {
		t.Fatalf("the collector is sent %q", got)
	}
	if err := r.Close(nil); err != nil {
		t.Error(err)
	}
	if got := <-came; strings.Contains(got, `"chat m"`) || !strings.Contains(got, "invoke_agent") {
		t.Errorf("at its end the collector is sent %q", got)
	}
}

// TestCollectorComesBack loses no span while a collector is away for a moment.
func TestCollectorComesBack(t *testing.T) {
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "10")
	came := make(chan string, 9)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(came) == 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		body, _ := io.ReadAll(r.Body)
		came <- string(body)
	}))
	defer s.Close()
	c, err := NewCalls(func(name string) string { return map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": s.URL}[name] })
	if err != nil {
		t.Fatal(err)
	}
	c.Add(skill.Call{Tool: "read"})
	for len(came) == 0 {
		time.Sleep(time.Millisecond)
	}
	c.Add(skill.Call{Tool: "edit"})
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	<-came
	if got := <-came; !strings.Contains(got, "tools/call read") || !strings.Contains(got, "tools/call edit") {
		t.Errorf("the collector that is back is sent %q", got)
	}
}

// TestAddressWithKey tells of a collector that is not reached, without its address.
func TestAddressWithKey(t *testing.T) {
	c, err := NewCalls(func(name string) string {
		return map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:0/v1?key=secret"}[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	c.Add(skill.Call{Tool: "read"})
	if err := c.Close(); err == nil || !strings.HasPrefix(err.Error(), "the spans cannot be sent: ") ||
		strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
}

// TestWrongVariables has Close tell what the SDK finds wrong.
func TestWrongVariables(t *testing.T) {
	t.Setenv("OTEL_TRACES_SAMPLER", "nonsense")
	getenv, got := collectorAt(t, 200)
	r, err := New(getenv, agent.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(nil); err == nil || err.Error() != "unsupported sampler: nonsense" || len(*got) != 1 {
		t.Errorf("%v; the collector is sent %q", err, *got)
	}
}

// TestResource names the service.
func TestResource(t *testing.T) {
	for _, tt := range []struct{ name, attributes, want string }{
		{"", "", `{"key":"service.name","value":{"stringValue":"skill"}}`},
		{"", "service.name=one,team=blue", `{"key":"service.name","value":{"stringValue":"one"}}`},
		{"two", "service.name=one,team=blue", `{"key":"service.name","value":{"stringValue":"two"}}`},
		{"two", "team=blue", `{"key":"team","value":{"stringValue":"blue"}}`},
	} {
		t.Setenv("OTEL_SERVICE_NAME", tt.name)
		t.Setenv("OTEL_RESOURCE_ATTRIBUTES", tt.attributes)
		getenv, got := collectorAt(t, 200)
		r, err := New(getenv, agent.Config{})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Close(nil); err != nil || len(*got) != 1 || !strings.Contains((*got)[0], tt.want) {
			t.Errorf("%+v: %v; the collector is sent %q", tt, err, *got)
		}
	}
}

func TestTraceOfAnother(t *testing.T) {
	getenv, got := collectorAt(t, 200)
	for _, tt := range []struct{ given, want string }{
		{"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
			`"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"`},
		{"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
			`"parentSpanId":"b7ad6b7169203331","name":"invoke_agent e"`},
		{"nonsense", `"name":"invoke_agent e"`},
	} {
		*got = nil
		r, err := New(getenv, agent.Config{})
		if err != nil {
			t.Fatal(err)
		}
		r.Continue(tt.given)
		r.Event(agent.Event{Type: agent.StartRun, RunID: "r1", ExpertKey: "e"})
		if err := r.Close(nil); err != nil {
			t.Fatal(err)
		}
		if len(*got) != 1 || !strings.Contains((*got)[0], tt.want) || tt.given == "nonsense" &&
			strings.Contains((*got)[0], "parentSpanId") {
			t.Errorf("%s: %q", tt.given, *got)
		}
	}
}
