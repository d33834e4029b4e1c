package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"textskill/llmfallback/remote"
	"textskill/skill/agent"
)

// An endpoint answers requests in turn, and keeps their bodies.
type endpoint struct {
	*httptest.Server
	bodies []string
}

func newEndpoint(t *testing.T, answers ...func(http.ResponseWriter)) (*endpoint, *Model) {
	e := &endpoint{}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		e.bodies = append(e.bodies, string(body))
		if len(e.bodies) <= len(answers) {
			answers[len(e.bodies)-1](w)
		}
	}))
	t.Cleanup(e.Close)
	m, err := New(Endpoint{BaseURL: e.URL, Key: "k", Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	return e, m
}

// whole answers with a status and JSON.
func whole(status int, body string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// pieces answers with a stream of these data, which goes on to an end or not.
func pieces(ends bool, data ...string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, d := range data {
			fmt.Fprintf(w, "data: %s\n\n", d)
			w.(http.Flusher).Flush()
		}
		if !ends {
			panic(http.ErrAbortHandler)
		}
		io.WriteString(w, "data: [DONE]\n\n")
	}
}

const finished = `{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`

func TestOpenAIAnswers(t *testing.T) {
	const asked = `{"choices":[{"index":0,"delta":{"role":"assistant","content":"I ","tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"todo","arguments":"{\"new"}}]}}]}`
	for _, tt := range []struct {
		name   string
		answer func(http.ResponseWriter)
		want   string // of the answer, or of its error
	}{
		{"stream", pieces(true, asked,
			`{"choices":[{"index":0,"delta":{"content":"do","tool_calls":[{"index":0,"function":{"arguments":"Todos\":[]}"}},{"index":1,"id":"b","function":{"name":"clearTodo","arguments":""}}]}}]}`,
			finished, `{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10,"prompt_tokens_details":{"cached_tokens":5},"completion_tokens_details":{"reasoning_tokens":2}}}`),
			`{I do [{a todo {"newTodos":[]}} {b clearTodo }] {7 3 2 10 5 0} false}`},
		{"stream with signs of life", func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, strings.Repeat(": alive\n\n", 1000)+"data: "+finished+"\n\ndata: [DONE]\n\n")
		}, `{ [] {0 0 0 0 0 0} false}`},
		{"stream without indexes", pieces(true,
			`{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"todo","arguments":"{}"}},{"id":"b","function":{"name":"todo","arguments":"{}"}}]}}]}`, finished),
			`{ [{a todo {}} {b todo {}}] {0 0 0 0 0 0} false}`},
		{"whole", whole(200, `{"choices":[{"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"todo","arguments":{"x":1}}},{"id":"b","function":{"name":"n","arguments":"{}"}}]}}],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}`),
			`{ [{a todo {"x":1}} {b n {}}] {1 2 0 3 0 0} false}`},
		{"parts", whole(200, `{"choices":[{"message":{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}}]}`), `{ab [] {0 0 0 0 0 0} false}`},
		{"length", whole(200, `{"choices":[{"finish_reason":"length","message":{"content":"a"}}]}`),
			`{a [] {0 0 0 0 0 0} true}`},
		{"cut", pieces(false, asked), "broke off in the middle; again true"},
		{"ends early", pieces(true, asked), "broke off in the middle; again true"},
		{"error in the stream", pieces(true, asked, `{"error":{"message":"overloaded"}}`),
			"the endpoint answered with an error: overloaded; again true"},
		{"error with success", whole(200, `{"error":{"message":"overloaded"}}`),
			"the endpoint answered with an error: overloaded; again true"},
		{"no choices", whole(200, `{"choices":[]}`), "the answer has no choices; again true"},
		{"cut JSON", whole(200, `{"choices":[`), "the answer broke off in the middle; again true"},
		{"page", func(w http.ResponseWriter) { io.WriteString(w, "<html>") },
			"the answer is not JSON; check that the base URL (OPENAI_BASE_URL) is the address of the API; again false"},
		{"key", whole(401, `{"error":{"message":"Incorrect API key"}}`),
			"the key was refused: Incorrect API key (status 401); check OPENAI_API_KEY; again false"},
		{"model", whole(404, `{"error":"no such\n  model"}`),
			"not found: no such model (status 404); check the base URL (OPENAI_BASE_URL) and the name of the model; again false"},
		{"bad", whole(400, `{"detail":[{"msg":"x"}]}`),
			"the request was refused: [{\"msg\":\"x\"}] (status 400); again false"},
		{"busy", whole(529, `{"error":{"message":"Overloaded"}}`),
			"server error: Overloaded (status 529); again true"},
		{"quota", whole(429, `{"error":{"message":"no more","code":"insufficient_quota"}}`),
			"the quota is spent: no more (status 429); again false"},
		{"rate", whole(429, ``), "too many requests (status 429); again true"},
		{"redirect", func(w http.ResponseWriter) { w.Header().Set("Location", "/"); w.WriteHeader(307) },
			"a redirect, which is not followed (status 307); give the address it leads to as the base URL (OPENAI_BASE_URL); again false"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, m := newEndpoint(t, tt.answer)
			a, err := m.Next(t.Context(),
				agent.Request{Messages: []agent.Message{newMessage(agent.UserMessage, textPart("hi"))}})
			got := strings.ReplaceAll(fmt.Sprintf("{%s %v %v %v}", a.Text, a.Calls, a.Usage, a.Cut),
				" <nil>}", "}")
			if fault, ok := errors.AsType[*remote.Error](err); ok {
				got = fmt.Sprintf("%s; again %v",
					strings.TrimPrefix(fault.Error(), "the model could not be asked: "), fault.Retry)
			}
			if strings.TrimPrefix(got, "the answer ") != strings.TrimPrefix(tt.want, "the answer ") {
				t.Errorf("\n got %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestOpenAIRequest(t *testing.T) {
	ok := whole(200, `{"choices":[{"message":{"content":"x"}}]}`)
	e, m := newEndpoint(t, ok)
	args := json.RawMessage(`{"path":"i.png"}`)
	_, err := m.Next(t.Context(), agent.Request{
		Messages: []agent.Message{
			newMessage(agent.InstructionMessage, textPart("rules")),
			newMessage(agent.UserMessage, textPart("go")),
			newMessage(agent.ExpertMessage,
				callPart(agent.ToolCall{ID: "a", ToolName: "readImageFile", Args: args}),
				callPart(agent.ToolCall{ID: "b", ToolName: "readPdfFile", Args: args}), textPart("I look")),
			newMessage(agent.ToolMessage,
				agent.Part{Type: agent.ToolResultPart, ToolCallID: "a", ToolName: "readImageFile",
					Contents: []agent.Part{textPart("{}"),
						{Type: agent.ImageInlinePart, EncodedData: "AAAA", MimeType: "image/png"}}},
				agent.Part{Type: agent.ToolResultPart, ToolCallID: "b", ToolName: "readPdfFile",
					Contents: []agent.Part{textPart("{}"),
						{Type: agent.FileInlinePart, EncodedData: "BBBB", MimeType: "application/pdf"}}}),
		},
		Tools: []agent.Tool{{Name: "todo", Doc: "d", Schema: json.RawMessage(`{"type":"object"}`)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"messages":[{"content":"rules","role":"system"},{"content":"go","role":"user"},` +
		`{"content":"I look","role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"readImageFile","arguments":"{\"path\":\"i.png\"}"}},{"id":"b","type":"function","function":{"name":"readPdfFile","arguments":"{\"path\":\"i.png\"}"}}]},` +
		`{"role":"tool","tool_call_id":"a","content":"{}"},{"role":"tool","tool_call_id":"b","content":"{}"},` +
		`{"content":[{"text":"readImageFile a: image","type":"text"},{"image_url":{"url":"data:image/png;base64,AAAA"},"type":"image_url"},` +
		`{"text":"readPdfFile b: document.pdf","type":"text"},{"file":{"file_data":"data:application/pdf;base64,BBBB","filename":"document.pdf"},"type":"file"}],"role":"user"}],` +
		`"model":"m","stream":true,"stream_options":{"include_usage":true},"temperature":0,"tool_choice":"required","tools":[{"function":{"name":"todo","description":"d","parameters":{"type":"object"}},"type":"function"}]}`
	if e.bodies[0] != want {
		t.Errorf("the request is\n %s\nwant\n %s", e.bodies[0], want)
	}
}

// TestOpenAIRequestNames has names of tools that no endpoint takes, as a model makes
// them up.
func TestOpenAIRequestNames(t *testing.T) {
	e, m := newEndpoint(t, whole(200, `{"choices":[{"message":{"content":"x"}}]}`))
	args := json.RawMessage("{}")
	_, err := m.Next(t.Context(), agent.Request{Messages: []agent.Message{
		newMessage(agent.ExpertMessage,
			callPart(agent.ToolCall{ID: "a", ToolName: "files.read it", Args: args}),
			callPart(agent.ToolCall{ID: "b", Args: args})),
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"name":"files_read_it"`, `"name":"_"`} {
		if !strings.Contains(e.bodies[0], want) {
			t.Errorf("the request %s has no %s", e.bodies[0], want)
		}
	}
}

// TestOpenAILearns has an endpoint that takes neither of what it is told first.
func TestOpenAILearns(t *testing.T) {
	ok := whole(200, `{"choices":[{"message":{"content":"x"}}]}`)
	e, m := newEndpoint(t,
		whole(400, `{"error":{"message":"Unsupported value: 'temperature' does not support 0"}}`),
		whole(400, `{"error":{"message":"bad value","param":"tool_choice"}}`),
		whole(422, `{"detail":"this model takes no image input"}`), ok, ok)
	r := agent.Request{Tools: []agent.Tool{{Name: "todo", Schema: json.RawMessage(`{}`)}},
		Messages: []agent.Message{newMessage(agent.ToolMessage,
			agent.Part{Type: agent.ToolResultPart, ToolCallID: "a", ToolName: "t",
				Contents: []agent.Part{textPart("{}"),
					{Type: agent.ImageInlinePart, EncodedData: "AAAA", MimeType: "image/png"}}})}}
	for range 2 {
		if a, err := m.Next(t.Context(), r); err != nil || a.Text != "x" {
			t.Fatalf("%+v, %v", a, err)
		}
	}
	for _, word := range []string{"temperature", "tool_choice", "AAAA"} {
		if !strings.Contains(e.bodies[0], word) || strings.Contains(e.bodies[3], word) ||
			strings.Contains(e.bodies[4], word) {
			t.Errorf("%s is not left out:\n%s", word, strings.Join(e.bodies, "\n"))
		}
	}
	if len(e.bodies) != 5 || !strings.Contains(e.bodies[4], "takes no image/png") {
		t.Errorf("requests:\n%s", strings.Join(e.bodies, "\n"))
	}
}

// TestOpenAIImages has an endpoint that refuses one image of two.
func TestOpenAIImages(t *testing.T) {
	ok := whole(200, `{"choices":[{"message":{"content":"x"}}]}`)
	e, m := newEndpoint(t, ok,
		whole(400, `{"error":{"message":"messages.3.content.1.image: image exceeds 5 MB maximum"}}`), ok, ok)
	image := func(id, data string) agent.Message {
		return newMessage(agent.ToolMessage,
			agent.Part{Type: agent.ToolResultPart, ToolCallID: id, ToolName: "t",
				Contents: []agent.Part{{Type: agent.ImageInlinePart, EncodedData: data,
					MimeType: "image/png"}}})
	}
	call := func(id string) agent.Message {
		return newMessage(agent.ExpertMessage,
			callPart(agent.ToolCall{ID: id, ToolName: "t", Args: json.RawMessage("{}")}))
	}
	messages := []agent.Message{call("a"), image("a", "SMAL"), call("b"), image("b", "LARG"), call("c"),
		image("c", "OTHE")}
	for n := 2; n <= 6; n += 2 {
		if _, err := m.Next(t.Context(), agent.Request{Messages: messages[:n]}); err != nil {
			t.Fatal(err)
		}
	}
	last := e.bodies[3]
	if !strings.Contains(last, "SMAL") || strings.Contains(last, "LARG") || !strings.Contains(last, "OTHE") ||
		!strings.Contains(last, "its endpoint refused this image/png: messages.3.content.1.image: image exceeds 5 MB") {
		t.Errorf("the last request is %s", last)
	}
	for _, body := range e.bodies {
		var sent struct{ Messages []map[string]any }
		if err := json.Unmarshal([]byte(body), &sent); err != nil {
			t.Fatal(err)
		}
		for i, m := range sent.Messages {
			if content, ok := m["content"]; !ok || content == nil || m["role"] == "tool" && content == "" {
				t.Errorf("message %d has the content %v", i, content)
			}
		}
	}
}

// TestOpenAIKeepsItsConnection streams fifty answers.
func TestOpenAIKeepsItsConnection(t *testing.T) {
	var mu sync.Mutex
	opened := 0
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		pieces(true, finished)(w)
		w.(http.Flusher).Flush()
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			mu.Lock()
			opened++
			mu.Unlock()
		}
	}
	s.Start()
	defer s.Close()
	m, err := New(Endpoint{BaseURL: s.URL, Key: "k", Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		if _, err := m.Next(t.Context(), agent.Request{}); err != nil {
			t.Fatal(err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if opened != 1 {
		t.Errorf("%d connections were opened", opened)
	}
}

func TestOpenAIHangs(t *testing.T) {
	done := make(chan struct{})
	defer close(done)
	_, m := newEndpoint(t, func(http.ResponseWriter) { <-done })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := m.Next(ctx, agent.Request{}); err == nil {
		t.Error("an answer from nobody")
	}
}

func TestNewOpenAI(t *testing.T) {
	for _, tt := range []struct {
		e    Endpoint
		want string
	}{
		{Endpoint{Model: "m"}, "<nil>"},
		{Endpoint{Model: "m", BaseURL: "http://localhost:1", Key: "k"}, "<nil>"},
		{Endpoint{}, "the model is not named"},
		{Endpoint{Model: "m", BaseURL: "localhost"},
			"the base URL (OPENAI_BASE_URL) is not an address; it looks like http://localhost:11434/v1"},
		{Endpoint{Model: "m", BaseURL: "http://example.org", Key: "k"},
			"a key is not sent over plain http to example.org; use https, or give no key"},
	} {
		if _, err := New(tt.e); fmt.Sprint(err) != tt.want {
			t.Errorf("%+v: %v, want %s", tt.e, err, tt.want)
		}
	}
}

// TestOpenAIConversation sends conversations that go on, fork and change, as a model that
// sees each of them for the first time does.
func TestOpenAIConversation(t *testing.T) {
	turn := func(text string) agent.Message { return newMessage(agent.UserMessage, textPart(text)) }
	image := newMessage(agent.ToolMessage,
		agent.Part{Type: agent.ToolResultPart, ToolCallID: "a", ToolName: "t",
			Contents: []agent.Part{{Type: agent.ImageInlinePart, EncodedData: "AAAA",
				MimeType: "image/png"}}})
	a, b, c := turn("a"), turn("b"), turn("c")
	conversations := [][]agent.Message{{a}, {a, b}, {a, b, c}, {a, c}, {b}, {a, b, c, turn("d")},
		{a, image, c}, {}, {a, image, c, b}}
	answers := make([]func(http.ResponseWriter), 2*len(conversations))
	for i := range answers {
		answers[i] = whole(200, `{"choices":[{"message":{"content":"x"}}]}`)
	}
	e, used := newEndpoint(t, answers...)
	for i, messages := range conversations {
		unused, err := New(Endpoint{BaseURL: e.URL, Key: "k", Model: "m"})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range []*Model{used, unused} {
			if _, err := m.Next(t.Context(), agent.Request{Messages: messages}); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := e.bodies[2*i], e.bodies[2*i+1]; got != want || !json.Valid([]byte(got)) {
			t.Errorf("conversation %d\n got %s\nwant %s", i, got, want)
		}
	}
}

// TestTextsOfResults keeps the texts of a result apart.
func TestTextsOfResults(t *testing.T) {
	text := func(text string) agent.Part { return agent.Part{Type: agent.TextPart, Text: text} }
	list := spelling{}.answers(agent.Message{Contents: []agent.Part{
		{Contents: []agent.Part{text("at demo://1"), text("There\n"), text("is")}}, {Contents: []agent.Part{text("one")}}}})
	if got, want := list[0].Text+"|"+list[1].Text, "at demo://1\nThere\nis|one"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
