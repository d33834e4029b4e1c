package llmfallback

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var jsonType = map[string]string{"Content-Type": "application/json"}

// status is an answer without success.
func status(code int, headers ...string) step {
	s := step{status: code, headers: map[string]string{"Content-Type": "application/json"},
		body: `{"error":{"message":"no"}}`}
	for i := 0; i < len(headers); i += 2 {
		s.headers[headers[i]] = headers[i+1]
	}
	return s
}

func TestRetryAfter(t *testing.T) {
	date := func(d time.Duration) string { return newClock().now().Add(d).Format(http.TimeFormat) }
	tests := []struct {
		header   string
		least    time.Duration
		most     time.Duration
		requests int
	}{
		{"", 250 * time.Millisecond, 320 * time.Millisecond, 2},
		{"1", time.Second, time.Second, 2},
		{"0.5", 500 * time.Millisecond, 500 * time.Millisecond, 2},
		{"5", 5 * time.Second, 5 * time.Second, 2},
		{date(3 * time.Second), 3 * time.Second, 3 * time.Second, 2},
		{date(-time.Minute), 0, time.Millisecond, 2},
		{"6", 0, 0, 1},
		{date(time.Hour), 0, 0, 1},
		{"99999999999999999999", 0, 0, 1},
		{"soon", 250 * time.Millisecond, 320 * time.Millisecond, 2},
		{"-1", 250 * time.Millisecond, 320 * time.Millisecond, 2},
	}
	for _, tt := range tests {
		f, c := newFake(t, status(429, "Retry-After", tt.header), says(goodAnswer)), newClock()
		_, err := f.asking(t, c, nil).Extract(t.Context(), createNotes)
		var slept time.Duration
		for _, d := range c.slept {
			slept += d
		}
		if len(f.requests()) != tt.requests || slept < tt.least || slept > tt.most ||
			(err == nil) != (tt.requests == 2) {
			t.Errorf("Retry-After %q: %d requests after %v, %v", tt.header, len(f.requests()), slept, err)
		}
	}
}

// TestLoading has endpoints that still load their model.
func TestLoading(t *testing.T) {
	loads := func(body string) step { return step{503, jsonType, body} }
	llama := loads(`{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`)
	other := loads(`{"error":"Model org/m is currently loading","estimated_time":20.0}`)
	never := slices.Repeat([]step{llama}, 6)
	for name, tt := range map[string]struct {
		script []step
		trust  bool
		waits  int
		slept  time.Duration
		wants  string
	}{
		"soon":         {[]step{llama, other, llama, says(goodAnswer)}, false, 3, 3 * time.Second, ""},
		"many times":   {append(never[:5:5], says(goodAnswer)), false, 5, 5 * time.Second, ""},
		"then a fault": {[]step{llama, status(500), says(goodAnswer)}, false, 1, 0, ""},
		"never":        {never, false, 5, 5 * time.Second, "the model is still loading after 5 s"},
		"never, bare":  {never, true, 0, 5 * time.Second, "the model is still loading after 5 s"},
	} {
		t.Run(name, func(t *testing.T) {
			f, c := newFake(t, tt.script...), newClock()
			x := f.asking(t, c, func(config *Config) { config.Trust, config.MaxCalls = tt.trust, 2 })
			got, err := x.Extract(t.Context(), createNotes)
			var slept time.Duration
			for _, d := range c.slept {
				slept += d
			}
			late := errors.Is(err, context.DeadlineExceeded)
			if len(f.requests()) != len(tt.script) || got.Telemetry.Waits != tt.waits ||
				tt.slept != 0 && slept != tt.slept || (err != nil) != (tt.wants != "") || late != (tt.wants != "") ||
				err != nil && !strings.Contains(err.Error(), tt.wants) {
				t.Errorf("%d requests, %d waits, %v: %v", len(f.requests()), got.Telemetry.Waits, slept, err)
			}
		})
	}
}

// TestNoAnswer has an endpoint that never answers.
func TestNoAnswer(t *testing.T) {
	f := newFake(t, step{body: "@delay"})
	x := f.asking(t, newClock(), func(config *Config) { config.Model.Timeout = 50 * time.Millisecond })
	_, err := x.Extract(t.Context(), createNotes)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no answer in 0.05 s") {
		t.Error(err)
	}
	for address, want := range map[string]time.Duration{
		"http://localhost:1": 60 * time.Second, "http://127.0.0.1:1/v1": 60 * time.Second,
		"http://[::1]:1": 60 * time.Second, "https://example.org": 20 * time.Second,
	} {
		x, err := New(Config{Mode: LLM, Model: Model{BaseURL: address, Name: "m"}})
		if err != nil || x.agents[0].(*endpoint).timeout != want {
			t.Error(address, err, x)
		}
	}
}

// A parameter that an endpoint refuses is left out from then on.
func TestLadderIsRemembered(t *testing.T) {
	wants := func(word string) step {
		return step{400, jsonType, fmt.Sprintf(`{"error":"unsupported parameter %s"}`, word)}
	}
	f := newFake(t, wants("response_format"), wants("temperature"), says(goodAnswer),
		says(`{"operation":"readFile","path":"a.txt","content":null,"destination":null}`))
	x := f.asking(t, newClock(), nil)
	got, err := x.Extract(t.Context(), createNotes)
	if err != nil || got.Telemetry.RungMoves != 2 || got.Telemetry.Rung != rungObject {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := x.Extract(t.Context(), "read a.txt"); err != nil {
		t.Error(err)
	}
	seen := f.requests()
	if len(seen) != 4 {
		t.Fatalf("%d requests", len(seen))
	}
	format := func(i int) any {
		m, _ := seen[i].body["response_format"].(map[string]any)
		return m["type"]
	}
	for i, want := range []any{"json_schema", "json_object", "json_object", "json_object"} {
		if format(i) != want {
			t.Errorf("request %d asks for %v, want %v", i+1, format(i), want)
		}
		if temperature, there := seen[i].body["temperature"]; there != (i < 2) || there &&
			temperature != 0.0 {
			t.Errorf("request %d: temperature %v", i+1, temperature)
		}
	}
}

func TestAtMostFourRequests(t *testing.T) {
	bad := step{400, jsonType, `{"error":{"message":"response_format"}}`}
	f := newFake(t, bad, bad, status(503), says("{}"))
	got, err := f.asking(t, newClock(), nil).Extract(t.Context(), createNotes)
	if !errors.Is(err, ErrUnavailable) || len(f.requests()) != 4 || got.Telemetry.Attempts != 4 ||
		got.Telemetry.Rung != rungText {
		t.Errorf("%d requests, %+v, %v", len(f.requests()), got.Telemetry, err)
	}
}

func TestBudgets(t *testing.T) {
	f := newFake(t, says(goodAnswer))
	x := f.asking(t, newClock(), func(c *Config) { c.MaxCalls = 1 })
	if _, err := x.Extract(t.Context(), createNotes); err != nil {
		t.Error(err)
	}
	if _, err := x.Extract(t.Context(), "read a.txt"); !errors.Is(err, ErrBudget) {
		t.Errorf("a second call: %v", err)
	}
	f = newFake(t, says(goodAnswer)) // which counts 70 tokens
	once := tokens(systemPrompt+Instruction) + 2*tokens(createNotes) + 96
	x = f.asking(t, newClock(), func(c *Config) { c.MaxTokens = once + 10 })
	if _, err := x.Extract(t.Context(), createNotes); err != nil {
		t.Error(err)
	}
	if _, err := x.Extract(t.Context(), "read a.txt"); !errors.Is(err, ErrBudget) {
		t.Errorf("tokens beyond the budget: %v", err)
	}
	f = newFake(t)
	x = f.asking(t, newClock(), func(c *Config) { c.MaxTokens = 10 })
	if _, err := x.Extract(t.Context(), createNotes); !errors.Is(err, ErrBudget) {
		t.Errorf("a request larger than the budget: %v", err)
	}
}

// After three failures the endpoint rests for thirty seconds.
func TestBreaker(t *testing.T) {
	var script []step
	for range 3 {
		script = append(script, status(401))
	}
	f, c := newFake(t, append(script, says(goodAnswer))...), newClock()
	x := f.asking(t, c, nil)
	for range 5 {
		if _, err := x.Extract(t.Context(), createNotes); !errors.Is(err, ErrUnavailable) {
			t.Error(err)
		}
	}
	if n := len(f.requests()); n != 3 {
		t.Errorf("%d requests, want 3", n)
	}
	c.sleep(t.Context(), 29*time.Second)
	if _, err := x.Extract(t.Context(), createNotes); err == nil {
		t.Error("asked again too early")
	}
	c.sleep(t.Context(), 2*time.Second)
	if _, err := x.Extract(t.Context(), createNotes); err != nil {
		t.Error(err)
	}
}

// Only what was answered well is kept, by what left the machine; what stayed at
// home is put in anew.
func TestCache(t *testing.T) {
	answer := `{"operation":"writeFile","path":"a.txt","content":"[[T1]]","destination":null}`
	f := newFake(t, says("nonsense"), says(answer))
	x := f.asking(t, newClock(), nil)
	if _, err := x.Extract(t.Context(), "make a.txt hold content: one"); err == nil {
		t.Error("nonsense is taken")
	}
	for i, text := range []string{"one", "two", "three\nfour"} {
		got, err := x.Extract(t.Context(), "make a.txt hold content: "+text)
		if err != nil || got.Content != text || got.Telemetry.CacheHit != (i > 0) {
			t.Errorf("%+v, %v, want %q", got, err, text)
		}
	}
	if n := len(f.requests()); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
}

func TestRequest(t *testing.T) {
	const secret = "s3cr3t-payload"
	prompts := []string{
		"put it in a.txt content: " + secret,
		"write this to a.txt\n" + secret + "\n",
		"write ```" + secret + "``` to a.txt",
		"write \"" + secret + strings.Repeat(" x", 40) + "\" to a.txt",
		"write to a.txt the following text:\n```\n" + secret + "\n```",
		"\n  Content : " + secret,
	}
	for _, prompt := range prompts {
		f := newFake(t, says(`{"operation":"readFile","path":"a.txt","content":null,"destination":null}`),
			says("{}"))
		f.asking(t, newClock(), nil).Extract(t.Context(), prompt)
		for _, s := range f.requests() {
			if strings.Contains(s.raw, secret) {
				t.Errorf("%q: the text left the machine: %s", prompt, s.raw)
			}
		}
	}
	f := newFake(t, says(goodAnswer))
	f.asking(t, newClock(), nil).Extract(t.Context(), createNotes)
	body := f.requests()[0].body
	for _, absent := range []string{"user", "metadata", "store", "n", "seed", "tools", "logprobs",
		"max_completion_tokens"} {
		if _, there := body[absent]; there {
			t.Errorf("%s is sent", absent)
		}
	}
	messages := body["messages"].([]any)
	system, request := messages[0].(map[string]any), messages[1].(map[string]any)
	if body["stream"] != false || body["temperature"] != 0.0 ||
		body["max_tokens"] != float64(96+tokens(createNotes)) ||
		len(messages) != 2 || request["content"] != createNotes ||
		!strings.HasSuffix(system["content"].(string), Instruction) {
		t.Errorf("request %v", body)
	}
	raw := f.requests()[0].raw
	order := []int{}
	for _, key := range []string{`"operation":{`, `"path":{`, `"content":{`, `"destination":{`} {
		order = append(order, strings.Index(raw, key))
	}
	if !slices.IsSorted(order) || order[0] < 0 {
		t.Errorf("the schema's keys are out of order: %s", raw)
	}
}

func TestInstruction(t *testing.T) {
	const want = "Extract file system operation arguments. Allowed operations: readFile, writeFile, appendFile, " +
		"deleteFile, createDirectory, listDirectory, fileExists, copyFile, moveFile"
	if Instruction != want || Instruction != "Extract file system operation arguments. Allowed operations: "+
		strings.Join(operations[:], ", ") {
		t.Errorf("instruction %q", Instruction)
	}
}

// A reasoning model is asked as go-openai and its endpoint take it.
func TestReasoningModel(t *testing.T) {
	for _, model := range []string{"o3-mini", "gpt-5", "gpt-6-sol"} {
		f := newFake(t, says(goodAnswer))
		_, err := f.asking(t, newClock(), func(c *Config) { c.Model.Name = model }).Extract(t.Context(),
			createNotes)
		if err != nil {
			t.Fatal(err)
		}
		body := f.requests()[0].body
		_, temperature := body["temperature"]
		_, limit := body["max_tokens"]
		if temperature || limit || body["max_completion_tokens"] == nil {
			t.Errorf("%s: %v", model, body)
		}
	}
}

func TestForcedTool(t *testing.T) {
	f := newFake(t, completion(map[string]any{"tool_calls": []any{map[string]any{
		"id": "c", "type": "function",
		"function": map[string]any{"name": "file_operation", "arguments": goodAnswer},
	}}}, "tool_calls"))
	got, err := f.asking(t, newClock(), func(c *Config) { c.Model.Rung = rungTool }).Extract(t.Context(),
		createNotes)
	body := f.requests()[0].body
	if err != nil || got.Content != "hello" ||
		got.Telemetry.Outcome != "accept" || body["tools"] == nil ||
		body["tool_choice"] == nil || body["response_format"] != nil {
		t.Errorf("%+v, %v, %v", got, err, body)
	}
}

// Servers name the reasoning, the parts of a content and a tool's arguments in several ways,
// or in an object with a key twice.
func TestOtherSpellings(t *testing.T) {
	good := func(message map[string]any) bool {
		f := newFake(t, completion(message, "stop"), says("{}"))
		got, err := f.asking(t, newClock(), nil).Extract(t.Context(), createNotes)
		return err == nil && got.Content == "hello" && len(f.requests()) == 1
	}
	if !good(map[string]any{"content": nil, "reasoning": goodAnswer}) {
		t.Error("reasoning is not read")
	}
	if !good(map[string]any{"content": []any{map[string]any{"type": "text", "text": goodAnswer}}}) {
		t.Error("parts are not read")
	}
	if good(map[string]any{"content": nil, "reasoning": "Let me think: " + goodAnswer}) {
		t.Error("a thought is taken for an answer")
	}
	raw := completion(map[string]any{"tool_calls": []any{map[string]any{"function": map[string]any{"name": "f", "arguments": "ARGS"}}}}, "stop")
	raw.body = strings.Replace(raw.body, `"ARGS"`,
		`{"operation":"readFile","operation":"deleteFile","path":"notes.txt"}`, 1)
	f := newFake(t, raw, raw)
	if _, err := f.asking(t, newClock(), nil).Extract(t.Context(), createNotes); !errors.Is(err, ErrBadAnswer) {
		t.Errorf("a key given twice: %v", err)
	}
}

func TestTogether(t *testing.T) {
	const n = 20
	script := make([]step, n)
	for i := range script {
		script[i] = says(`{"operation":"readFile","path":"a.txt","content":null,"destination":null}`)
	}
	f := newFake(t, script...)
	x := f.asking(t, newClock(), nil)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if got, err := x.Extract(t.Context(), fmt.Sprintf("what about a.txt, attempt %d", i)); err != nil || got.Path != "a.txt" {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
	wg.Wait()
}

func TestCancel(t *testing.T) {
	f := newFake(t, step{200, jsonType, "@delay"})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := f.asking(t, newClock(), nil).Extract(ctx, createNotes); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	f = newFake(t, status(503))
	ctx, cancel = context.WithCancel(t.Context())
	x := f.asking(t, newClock(), func(c *Config) {
		c.Sleep = func(ctx context.Context, d time.Duration) error { cancel(); return sleep(ctx, d) }
	})
	if _, err := x.Extract(ctx, createNotes); !errors.Is(err, ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}
