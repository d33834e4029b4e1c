package provider_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"textskill/skill"
	"textskill/skill/agent"
	"textskill/skill/agent/provider"
	"textskill/testdata/needs"
)

// scripted holds endpoints by the class of what they do, one a line: what they answer, and
// what a run makes of it.
const scripted = "../../../testdata/endpoints/*.jsonl"

// An endpointRow is an endpoint and what must have happened at the end of a run with it.
type endpointRow struct {
	ID string `json:"id"`
	// "openai", "responses", "anthropic" or "google"; "" means openai
	Provider string            `json:"provider"`
	Model    string            `json:"model"`
	Files    map[string]string `json:"files"` // that the workspace has
	Window   int               `json:"window"`
	Text     bool              `json:"text"`    // the model has no tools
	Rules    []string          `json:"rules"`   // that are known of the endpoint
	Answers  []reply           `json:"answers"` // in turn; the last one again and again
	Refuses  []refusal         `json:"refuses"` // before any answer is given

	Want struct {
		Error    string            `json:"error"` // part of the error; "" for none
		Files    map[string]string `json:"files"`
		Report   *string           `json:"report"`
		Requests int               `json:"requests"` // 0 for any number
		Sent     []expectation     `json:"sent"`
		Learned  []string          `json:"learned"`
		Events   map[string]int    `json:"events"` // how many of a type
		Calls    []string          `json:"calls"`  // names, with the arguments
		// tokens of the first answer: input, output, cached, reasoning
		Used []int `json:"used"`
	} `json:"want"`
}

// A reply is an answer: calls or a text in the provider's own form, or bytes.
type reply struct {
	Calls  []madeCall        `json:"calls"`
	Text   *string           `json:"text"`
	Deltas []json.RawMessage `json:"deltas"` // of a chat completion
	SSE    []json.RawMessage `json:"sse"`    // data of events
	Raw    string            `json:"raw"`
	Type   string            `json:"type"`
	Status int               `json:"status"`
	Body   json.RawMessage   `json:"body"`
	Header map[string]string `json:"header"`
	Usage  int               `json:"usage"` // tokens of the prompt
}

type madeCall struct {
	ID   *string         `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

// A refusal is what an endpoint answers to requests that break one of its rules: a name in
// strict, or a pattern of the request.
type refusal struct {
	Rule    string          `json:"rule"`
	Matches string          `json:"matches"`
	Lacks   string          `json:"lacks"`
	Larger  int             `json:"larger"` // than so many bytes
	Status  int             `json:"status"`
	Body    json.RawMessage `json:"body"`
	Raw     string          `json:"raw"`
}

// An expectation is about one request, counted from 0, or from the last one down from -1.
type expectation struct {
	N     int    `json:"n"`
	Has   string `json:"has"`
	Lacks string `json:"lacks"`
}

// strict are rules of endpoints: each says what is wrong with a request, "" for nothing.
var strict = map[string]func(r map[string]any) string{
	"no user after a result": func(r map[string]any) string {
		return pairs(r, func(before, role string) bool { return before == "tool" && role == "user" })
	},
	"roles take turns": func(r map[string]any) string {
		return pairs(r, func(before, role string) bool {
			return before == role && role != "tool" || before == "tool" && role == "user"
		})
	},
	"no system role": func(r map[string]any) string {
		return pairs(r, func(_, role string) bool { return role == "system" })
	},
	"no tool role": func(r map[string]any) string {
		return pairs(r, func(_, role string) bool { return role == "tool" })
	},
	"short ids": func(r map[string]any) string {
		data, _ := json.Marshal(r["messages"])
		for _, m := range regexp.MustCompile(`"(?:tool_call_id|id)":"([^"]*)"`).FindAllStringSubmatch(string(data), -1) {
			if !regexp.MustCompile(`^[A-Za-z0-9]{9}$`).MatchString(m[1]) {
				return "the id " + m[1]
			}
		}
		return ""
	},
	"an id once": func(r map[string]any) string {
		data, _ := json.Marshal(r["messages"])
		seen := map[string]bool{}
		for _, m := range regexp.MustCompile(`"id":"([^"]*)"`).FindAllStringSubmatch(string(data), -1) {
			if seen[m[1]] {
				return "the id " + m[1] + " again"
			}
			seen[m[1]] = true
		}
		return ""
	},
	"tools beside calls": func(r map[string]any) string {
		data, _ := json.Marshal(r["messages"])
		if strings.Contains(string(data), `"tool_calls"`) && r["tools"] == nil {
			return "no tools"
		}
		return ""
	},
}

func pairs(r map[string]any, wrong func(before, role string) bool) string {
	list, _ := r["messages"].([]any)
	before := ""
	for i, m := range list {
		message, _ := m.(map[string]any)
		role, _ := message["role"].(string)
		if wrong(before, role) {
			return fmt.Sprintf("message %d is of %s after %s", i, role, before)
		}
		before = role
	}
	return ""
}

// TestEndpoints runs an expert with each scripted endpoint.
func TestEndpoints(t *testing.T) {
	needs.InMemory(t)
	rows := endpointRows(t)
	if len(rows) < 150 {
		t.Errorf("%d rows", len(rows))
	}
	for _, r := range rows {
		t.Run(r.ID, func(t *testing.T) {
			t.Parallel()
			r.play(t)
		})
	}
}

func endpointRows(t *testing.T) (rows []*endpointRow) {
	files, _ := filepath.Glob(scripted)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(bytes.NewReader(data))
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var r endpointRow
			d := json.NewDecoder(bytes.NewReader(lines.Bytes()))
			d.DisallowUnknownFields()
			if err := d.Decode(&r); err != nil {
				t.Fatalf("%s: %v in %s", file, err, lines.Text())
			}
			rows = append(rows, &r)
		}
	}
	return rows
}

// play runs an expert with the endpoint of a row.
func (r *endpointRow) play(t *testing.T) {
	dir := t.TempDir()
	for name, content := range r.Files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	x, err := skill.New(skill.Config{Dir: dir, NoSync: true, Unfenced: true})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	e := &scriptedEndpoint{row: r}
	server := httptest.NewServer(e)
	defer server.Close()
	var learned []string
	model, err := provider.New(r.endpoint(server.URL, &learned))
	if err != nil {
		t.Fatal(err)
	}
	cfg := agent.Config{
		Executor: x, Model: model, Expert: "e",
		Experts: map[string]agent.Expert{"e": {Version: "1.0.0", Instruction: "You work."}}, RunID: "run",
		MaxSteps: 15, MaxRetries: 2, Timeout: 5 * time.Second, Budget: agent.Budget{EqualCalls: 25},
		About: agent.About{ContextWindow: r.Window},
	}
	events, failed := ran(t, cfg, "do it")
	r.judge(t, e, events, failed, learned, dir)
	if failed != nil || events[len(events)-1].Type != agent.CompleteRun {
		return
	}
	first, anew := len(e.requests), *r
	var again []string
	anew.Rules = nil // another process, that knows only what the run has recorded
	if cfg.Model, err = provider.New(anew.endpoint(server.URL, &again)); err != nil {
		t.Fatal(err)
	}
	cfg.RunID, cfg.Continue = "", "run"
	_, err = ran(t, cfg, "and now?")
	onlyThinks := err != nil && strings.Contains(err.Error(), "thoughts alone") // it repeats a report that was one
	if err != nil && !onlyThinks {
		t.Errorf("going on: %v", err)
	}
	for _, rule := range again {
		if slices.Contains(learned, rule) || slices.Contains(r.Rules, rule) {
			t.Errorf("the continued run had to learn again: %s", rule)
		}
	}
	for i, request := range e.requests[first:] {
		if what := wrongConversation(r.Provider, request); what != "" {
			t.Errorf("request %d after the run was continued: %s\n%s", i, what, request)
		}
	}
}

func ran(t *testing.T, cfg agent.Config, query string) (events []agent.Event, failed error) {
	for event, err := range agent.Run(t.Context(), cfg, query) {
		if failed = err; err == nil {
			events = append(events, event)
		}
	}
	return events, failed
}

// TestStreamCuts reads the answers of all rows in pieces of several sizes: the answer is the
// same.
func TestStreamCuts(t *testing.T) {
	for _, r := range endpointRows(t) {
		for i, a := range r.Answers {
			var want string
			for _, size := range []int{1 << 20, 1, 2, 3, 5, 11} {
				recorder := httptest.NewRecorder()
				a.write(recorder, r.Provider, fmt.Sprint("call_", i))
				e := r.endpoint("http://127.0.0.1:1", new([]string))
				e.Transport = roundTripper(func(request *http.Request) (*http.Response, error) {
					io.Copy(io.Discard, request.Body)
					response := recorder.Result()
					response.Body = io.NopCloser(&pieces{response.Body, size})
					return response, nil
				})
				m, err := provider.New(e)
				if err != nil {
					t.Fatal(err)
				}
				heard := ""
				answer, err := m.Next(t.Context(), agent.Request{
					Messages: []agent.Message{{Type: agent.UserMessage, ID: "m",
						Contents: []agent.Part{{Type: agent.TextPart, Text: "go"}}}},
					Heard: func(text string) { heard += text },
				})
				got := fmt.Sprintf("%+v, %v", answer, err)
				if err == nil && strings.ToValidUTF8(answer.Text, "") != answer.Text {
					t.Errorf("%s, answer %d: the text is %q", r.ID, i, answer.Text)
				}
				if want == "" {
					want = got
				}
				if got != want {
					t.Errorf("%s, answer %d in pieces of %d bytes\n got %s\nwant %s", r.ID, i,
						size, got, want)
				}
			}
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// pieces reads so many bytes at once.
type pieces struct {
	io.Reader
	size int
}

func (p *pieces) Read(into []byte) (int, error) { return p.Reader.Read(into[:min(len(into), p.size)]) }

func (r *endpointRow) endpoint(url string, learned *[]string) provider.Endpoint {
	e := provider.Endpoint{Provider: r.Provider, BaseURL: url, Key: "k", Model: r.Model, TextTools: r.Text,
		Rules: r.Rules}
	if e.Model == "" {
		e.Model = "m"
	}
	if r.Provider == "responses" {
		e.Provider, e.API = provider.OpenAI, "responses"
	}
	e.Learned = func(rule string) { *learned = append(*learned, rule) }
	return e
}

func (r *endpointRow) judge(t *testing.T, e *scriptedEndpoint, events []agent.Event, failed error,
	learned []string, dir string) {
	w := r.Want
	if (failed == nil) != (w.Error == "") || failed != nil && !strings.Contains(failed.Error(), w.Error) {
		t.Errorf("error %v, want %q", failed, w.Error)
	}
	for name, want := range w.Files {
		if got, err := os.ReadFile(filepath.Join(dir, name)); string(got) != want {
			t.Errorf("%s holds %q, want %q (%v)", name, got, want, err)
		}
	}
	var report *string
	types, called := map[string]int{}, []string{}
	var used []int
	for _, event := range events {
		if u := event.Usage; used == nil && u != nil && u.InputTokens > 0 {
			used = []int{u.InputTokens, u.OutputTokens, u.CachedInputTokens, u.ReasoningTokens}
		}
		types[string(event.Type)]++
		if event.Type == agent.CompleteRun {
			report = event.Text
		}
		if event.Type == agent.CallTool && event.ToolCall.ToolName != agent.CompletionTool {
			called = append(called, event.ToolCall.ToolName+" "+string(event.ToolCall.Args))
		}
	}
	if w.Report != nil && (report == nil || *report != *w.Report) {
		t.Errorf("the report is %v, want %q", show(report), *w.Report)
	}
	if w.Requests != 0 && len(e.requests) != w.Requests {
		t.Errorf("%d requests, want %d", len(e.requests), w.Requests)
	}
	if w.Learned != nil && !slices.Equal(learned, w.Learned) {
		t.Errorf("learned %q, want %q", learned, w.Learned)
	}
	if w.Used != nil && !slices.Equal(used, w.Used) {
		t.Errorf("used %v, want %v", used, w.Used)
	}
	if w.Calls != nil && !slices.Equal(called, w.Calls) {
		t.Errorf("called %q, want %q", called, w.Calls)
	}
	for kind, n := range w.Events {
		if types[kind] != n {
			t.Errorf("%d events %s, want %d: %v", types[kind], kind, n, types)
		}
	}
	for _, x := range w.Sent {
		n := x.N
		if n < 0 {
			n += len(e.requests)
		}
		if n < 0 || n >= len(e.requests) {
			t.Errorf("there is no request %d of %d", x.N, len(e.requests))
			continue
		}
		body := string(e.requests[n])
		if !regexp.MustCompile(x.Has).MatchString(body) || x.Lacks != "" &&
			regexp.MustCompile(x.Lacks).MatchString(body) {
			t.Errorf("request %d is %s\nwant %q in it, and not %q", x.N, body, x.Has, x.Lacks)
		}
	}
	for i, request := range e.requests {
		if what := wrongConversation(r.Provider, request); what != "" {
			t.Errorf("request %d: %s\n%s", i, what, request)
		}
	}
	if t.Failed() {
		for i, request := range e.requests {
			t.Logf("request %d: %.3000s", i, request)
		}
	}
}

func show(text *string) string {
	if text == nil {
		return "none"
	}
	return fmt.Sprintf("%q", *text)
}

// A scriptedEndpoint answers as its row says.
type scriptedEndpoint struct {
	row      *endpointRow
	mu       sync.Mutex
	requests [][]byte
	answered int
}

func (e *scriptedEndpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.requests = append(e.requests, body)
	for _, f := range e.row.Refuses {
		if f.refuses(body) {
			reply{Status: f.Status, Body: f.Body, Raw: f.Raw, Type: "application/json"}.write(w,
				e.row.Provider, "")
			return
		}
	}
	i := min(e.answered, len(e.row.Answers)-1)
	e.answered++
	e.row.Answers[i].write(w, e.row.Provider, fmt.Sprint("call_", i))
}

func (f refusal) refuses(body []byte) bool {
	var request map[string]any
	json.Unmarshal(body, &request)
	switch {
	case f.Rule != "":
		return strict[f.Rule](request) != ""
	case f.Larger > 0:
		return len(body) > f.Larger
	case f.Lacks != "" && regexp.MustCompile(f.Lacks).Match(body):
		return false
	}
	return regexp.MustCompile(f.Matches).Match(body)
}

// write writes a reply, with IDs of calls that begin with id where none is given.
func (p reply) write(w http.ResponseWriter, provider, id string) {
	for name, value := range p.Header {
		w.Header().Set(name, value)
	}
	text := ""
	if p.Text != nil {
		text = *p.Text
	}
	out, kind := p.Raw, p.Type
	switch {
	case p.Status != 0 && p.Raw == "":
		out, kind = string(p.Body), "application/json"
	case p.SSE != nil:
		for _, data := range p.SSE {
			out += "data: " + string(data) + "\n\n"
		}
	case p.Deltas != nil:
		for _, delta := range p.Deltas {
			out += `data: {"choices":[{"index":0,"delta":` + string(delta) + "}]}\n\n"
		}
		out += `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
	case p.Raw == "":
		out = written[provider](p, id, text)
	}
	if kind == "" {
		kind = "text/event-stream"
	}
	w.Header().Set("Content-Type", kind)
	if p.Status != 0 {
		w.WriteHeader(p.Status)
	}
	io.WriteString(w, out)
}

func (c madeCall) id(other string) string {
	if c.ID != nil {
		return *c.ID
	}
	return other
}

func jsonOf(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

type object = map[string]any

// written writes calls and a text in the form of each provider.
var written = map[string]func(p reply, id, text string) string{
	"": writtenChat, "openai": writtenChat,
	"anthropic": func(p reply, id, text string) string {
		events := []object{{"type": "message_start",
			"message": object{"usage": object{"input_tokens": 1, "output_tokens": 1}}}}
		block := func(i int, begin, delta object) {
			events = append(events, object{"type": "content_block_start", "index": i, "content_block": begin},
				object{"type": "content_block_delta", "index": i, "delta": delta},
				object{"type": "content_block_stop", "index": i})
		}
		if text != "" {
			block(0, object{"type": "text", "text": ""}, object{"type": "text_delta", "text": text})
		}
		stop := "end_turn"
		for i, c := range p.Calls {
			block(i+1, object{"type": "tool_use", "id": c.id(fmt.Sprint(id, "_", i)), "name": c.Name,
				"input": object{}}, object{"type": "input_json_delta", "partial_json": string(c.Args)})
			stop = "tool_use"
		}
		events = append(events, object{"type": "message_delta", "delta": object{"stop_reason": stop},
			"usage": object{"output_tokens": 5}}, object{"type": "message_stop"})
		out := ""
		for _, e := range events {
			out += fmt.Sprintf("event: %s\ndata: %s\n\n", e["type"], jsonOf(e))
		}
		return out
	},
	"google": func(p reply, id, text string) string {
		parts := []object{}
		if text != "" {
			parts = append(parts, object{"text": text})
		}
		for _, c := range p.Calls {
			parts = append(parts, object{"functionCall": object{"name": c.Name, "args": c.Args}})
		}
		return "data: " + jsonOf(object{"candidates": []object{{"content": object{"role": "model",
			"parts": parts}, "finishReason": "STOP"}}}) + "\n\n"
	},
	"responses": func(p reply, id, text string) string {
		items := []object{}
		if text != "" {
			items = append(items, object{"type": "message",
				"content": []object{{"type": "output_text", "text": text}}})
		}
		for i, c := range p.Calls {
			items = append(items, object{"type": "function_call", "call_id": c.id(fmt.Sprint(id, "_", i)),
				"name": c.Name, "arguments": string(c.Args)})
		}
		return "data: " + jsonOf(object{"type": "response.completed",
			"response": object{"status": "completed", "output": items}}) + "\n\n"
	},
}

func writtenChat(p reply, id, text string) string {
	delta := object{"role": "assistant", "content": text}
	var calls []object
	for i, c := range p.Calls {
		args := string(c.Args)
		if args == "" {
			args = "{}"
		}
		calls = append(calls, object{"index": i, "id": c.id(fmt.Sprint(id, "_", i)), "type": "function",
			"function": object{"name": c.Name, "arguments": args}})
	}
	if calls != nil {
		delta["tool_calls"] = calls
	}
	out := "data: " + jsonOf(object{"choices": []object{{"index": 0, "delta": delta}}}) + "\n\n" +
		`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	if p.Usage > 0 {
		out += fmt.Sprintf(`data: {"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":5,"total_tokens":%d}}`, p.Usage, p.Usage+5) + "\n\n"
	}
	return out + "data: [DONE]\n\n"
}
