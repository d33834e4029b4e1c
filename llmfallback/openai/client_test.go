package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"textskill/llmfallback/remote"
)

// asking returns a client of a server that answers as answer does.
func asking(t *testing.T, answer http.HandlerFunc) *Client {
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	c, err := New(Config{BaseURL: server.URL, Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// with answers a status and a body, streams with an end if the body is one.
func with(status int, kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// outcome is what came of a request, on one line.
func outcome(c Completion, err error) string {
	fault, failed := errors.AsType[*remote.Error](err)
	switch {
	case failed:
		return fmt.Sprintf("%v; retry %v", fault, fault.Retry)
	case err != nil:
		return "not an Error: " + err.Error()
	}
	c.Status, c.Bytes = 0, 0
	return fmt.Sprintf("%+v", c)
}

func TestBaseURL(t *testing.T) {
	const query = "the base URL (OPENAI_BASE_URL) has a user, a query or a fragment; leave them out and give a key as OPENAI_API_KEY"
	for _, tt := range []struct{ base, key, want string }{
		{"", "", "https://api.openai.com/v1"},
		{"http://localhost", "k", "http://localhost/v1"},
		{"http://LOCALHOST:1/", "k", "http://LOCALHOST:1/v1"},
		{"http://127.8.0.1", "k", "http://127.8.0.1/v1"},
		{"https://host/api/v3/chat/completions/", "k", "https://host/api/v3"},
		{"http://box.lan", "", "http://box.lan/v1"},
		{"http://box.lan", "k", "a key is not sent over plain http to box.lan; use https, or give no key"},
		{"http://evil.localhost", "k",
			"a key is not sent over plain http to evil.localhost; use https, or give no key"},
		{"https://u:pass@host/v1", "", query},
		{"https://host/v1?key=x", "", query},
		{"host:80", "", "the base URL (OPENAI_BASE_URL) is not an address; it looks like http://localhost:11434/v1"},
	} {
		c, err := New(Config{BaseURL: tt.base, Key: tt.key})
		got := fmt.Sprint(err)
		if err == nil {
			got = c.BaseURL()
		}
		if got != tt.want {
			t.Errorf("%q with key %q: %s, want %s", tt.base, tt.key, got, tt.want)
		}
	}
}

func TestRequest(t *testing.T) {
	var got string
	c := asking(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = r.URL.Path + " " + r.Header.Get("Authorization") + " " + r.Header.Get("Accept") + " " +
			string(body)
	})
	called := Request{Model: "gpt-6-sol", Stream: true, Messages: []Message{{Role: "assistant"}}}
	called.AddTool("f", "", json.RawMessage(`{"type":"object"}`))
	called.ToolChoice = "required"
	called.WithUsage()
	for _, tt := range []struct {
		r    Request
		want string
	}{
		{Request{Model: "m", Messages: []Message{{Role: "system", Content: ""}, {Role: "user", Content: "<"}},
			Temperature: new(float64)},
			`application/json {"messages":[{"content":"","role":"system"},{"content":"\u003c","role":"user"}],` +
				`"model":"m","stream":false,"temperature":0}`},
		{called,
			`text/event-stream {"messages":[{"role":"assistant"}],` +
				`"model":"gpt-6-sol","stream":true,"stream_options":{"include_usage":true},"tool_choice":"required",` +
				`"tools":[{"function":{"name":"f","parameters":{"type":"object"}},"type":"function"}]}`},
	} {
		c.Complete(t.Context(), tt.r)
		if want := "/v1/chat/completions Bearer k " + tt.want; got != want {
			t.Errorf("the request is\n %s\nwant\n %s", got, want)
		}
	}
}

// Every spelling is read in the same way from a whole answer and from a stream.
func TestSpellings(t *testing.T) {
	for message, want := range map[string]string{
		`{"content":"a"}`: `{Text:a Refusal: Reasoning: Calls:[]`,
		`{"content":[{"type":"text","text":"a"},{"text":"b"},5]}`: `{Text:ab Refusal: Reasoning: Calls:[]`,
		`{"content":{"a":1}}`:                                                   `{Text:{"a":1} Refusal: Reasoning: Calls:[] Finish:stop Model:m Usage:{Prompt:1 Completion:2 Total:3 Cached:0 Written:0 Reasoning:0} Object:true`,
		`{"content":null,"refusal":"no"}`:                                       `{Text: Refusal:no Reasoning: Calls:[]`,
		`{"reasoning":"r"}`:                                                     `{Text: Refusal: Reasoning:r Calls:[]`,
		`{"reasoning":{"x":1},"reasoning_content":"r"}`:                         `{Text: Refusal: Reasoning:r Calls:[]`,
		`{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]}`:  `{Text: Refusal: Reasoning: Calls:[{ID:a Name:f Arguments:{}}] Finish:stop`,
		`{"tool_calls":[{"id":"a","function":{"name":"f","arguments":null}}]}`:  `{Text: Refusal: Reasoning: Calls:[{ID:a Name:f Arguments:}] Finish:stop`,
		`{"tool_calls":[{"function":{"name":"f","arguments":{"x":1,"x":2}}}]}`:  `{Text: Refusal: Reasoning: Calls:[{ID: Name:f Arguments:{"x":1,"x":2}}] Finish:stop Model:m Usage:{Prompt:1 Completion:2 Total:3 Cached:0 Written:0 Reasoning:0} Object:true`,
		`{"tool_calls":[{"function":{"name":"f","arguments":[1]}},{"id":"b"}]}`: `{Text: Refusal: Reasoning: Calls:[{ID: Name:f Arguments:[1]} {ID:b Name: Arguments:}]`,
	} {
		const rest = `,"finish_reason":"stop"}],"model":"m","usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}`
		whole := with(200, "application/json", "{\n"+`"choices":[{"message":`+message+rest)
		stream := with(200, "text/event-stream", `data: {"choices":[{"delta":`+message+rest+
			"\n\ndata: [DONE]\n\n")
		for _, answer := range []http.HandlerFunc{whole, stream} {
			if got := outcome(asking(t, answer).Complete(t.Context(), Request{Stream: true})); !strings.HasPrefix(got, want) {
				t.Errorf("%s\n got %s\nwant %s", message, got, want)
			}
		}
	}
}

func TestPieces(t *testing.T) {
	pieces := func(deltas ...string) (stream string) {
		for _, d := range deltas {
			stream += `data: {"choices":[{"delta":` + d + "}]}\n\n"
		}
		return stream + `data: {"choices":[{"finish_reason":"tool_calls"}]}` + "\n\n"
	}
	for _, tt := range []struct{ stream, want string }{
		{pieces(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x"}}]}`,
			`{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"\":1}"}}]}`), `[{a f {"x":1}}]`},
		{pieces(`{"tool_calls":[{"id":"a","function":{"name":"f"}}]}`,
			`{"tool_calls":[{"function":{"arguments":"{}"}},{"id":"b","function":{"name":"g"}}]}`),
			`[{a f {}} {b g }]`},
		{pieces(`{"tool_calls":[{"index":7,"id":"a"},{"index":-1,"id":"b"}]}`), `[{a  } {b  }]`},
		{pieces(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}]}`,
			`{"tool_calls":[{"index":0,"id":"b","function":{"name":"f","arguments":"{\"x\":2}"}}]}`),
			`[{a f {"x":1}} {b f {"x":2}}]`},
		{pieces(`{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{\"x\":1}"}}]}`,
			`{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{\"x\":2}"}}]}`),
			`[{ f {"x":1}} { f {"x":2}}]`},
		{pieces(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}`,
			`{"tool_calls":[{"index":0,"id":"a","function":{"name":"g","arguments":"{\"x\":2}"}}]}`),
			`[{a f {}} {a g {"x":2}}]`},
		{pieces(`{"content":"Now."}`,
			`{"tool_calls":[{"index":1,"id":"a","function":{"name":"purge","arguments":""}}]}`,
			`{"tool_calls":[{"index":1,"function":{"arguments":"{\"label\""}}]}`,
			`{"tool_calls":[{"index":1,"function":{"arguments":":\"spam\"}"}}]}`),
			`[{a purge {"label":"spam"}}]`},
		{pieces(`{"tool_calls":[{"index":1,"id":"a","function":{"name":"f","arguments":"{"}},{"index":2,"id":"b","function":{"name":"g","arguments":"{"}}]}`, `{"tool_calls":[{"index":2,"function":{"arguments":"}"}},{"index":1,"function":{"arguments":"\"x\":1}"}}]}`), `[{a f {"x":1}} {b g {}}]`},
		{pieces(`{"tool_calls":[{"index":"0","id":"a","function":{"name":"f","arguments":"{\"x"}}]}`,
			`{"tool_calls":[{"index":"0","function":{"arguments":"\":1}"}}]}`), `[{a f {"x":1}}]`},
		{pieces(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x"}}]}`,
			`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"\":1}"}}]}`),
			`[{a f {"x":1}}]`},
		{pieces(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x"}}]}`,
			`{"tool_calls":[{"index":0,"id":"b","function":{"arguments":"\":1}"}}]}`), `[{a f {"x":1}}]`},
		{pieces(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"write"}}]}`,
			`{"tool_calls":[{"index":0,"function":{"name":"writeTextFile","arguments":"{}"}}]}`),
			`[{a writeTextFile {}}]`},
		{pieces(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x"}}]}`,
			`{"tool_calls":[{"index":0,"function":{"arguments":"\":1}"}}]}`,
			`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}]}`),
			`[{a f {"x":1}}]`},
		{pieces(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x"}}]}`,
			`{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\":"}}]}`,
			`{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\":1}"}}]}`), `[{a f {"x":1}}]`},
		{pieces(`{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"x\":"}}]}`,
			`{"tool_calls":[{"id":"a","function":{"arguments":"1}"}}]}`), `[{a f {"x":1}}]`},
		{pieces(`{"tool_calls":[{"id":7,"index":0,"function":{"name":"f","arguments":"{\"x\":\"\\ud83d"}}]}`,
			`{"tool_calls":[{"index":0,"function":{"arguments":"\\ude00\"}"}}]}`),
			`[{ f {"x":"\ud83d\ude00"}}]`},
		{pieces(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":\"\ud83d"}}]}`,
			`{"tool_calls":[{"index":0,"function":{"arguments":"\ude00\"}"}}]}`), `[{a f {"x":"😀"}}]`},
		{"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]}}]}\n\ndata: [DONE]\n\n", `[{a f {}}]`},
		{"\ufeffdata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"I look.\"},\"finish_reason\":\"stop\"}]}\n\ndata: {\"choices\":[{\"index\":1,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},\n" +
			"data: \"finish_reason\":\"tool_calls\"}]}\r\n\r\ndata: [DONE]\n\n", `[{a f {}}]`},
	} {
		c, err := asking(t, with(200, "text/event-stream", tt.stream)).Complete(t.Context(),
			Request{Stream: true})
		if got := fmt.Sprint(c.Calls); got != tt.want || err != nil {
			t.Errorf("%s\n got %s, %v\nwant %s", tt.stream, got, err, tt.want)
		}
	}
}

// TestTypes reads an answer as what it begins as, whatever type it has.
func TestTypes(t *testing.T) {
	const choice = `{"choices":[{"delta":{"content":"a"},"message":{"content":"a"},"finish_reason":"stop"}]}`
	for _, kind := range []string{"text/event-stream", "text/plain; charset=utf-8",
		"application/octet-stream", "", "application/json", "application/x-ndjson"} {
		for _, body := range []string{"data: " + choice + "\n\ndata: [DONE]\n\n",
			": hello\n\ndata:" + choice + "\n\n", "event: x\ndata: " + choice, " \n" + choice} {
			c, err := asking(t, with(200, kind, body)).Complete(t.Context(), Request{Stream: true})
			if err != nil || c.Text != "a" {
				t.Errorf("%s %q: %q, %v", kind, body, c.Text, err)
			}
		}
	}
}

// TestCuts cuts the arguments and the content of an answer into two and three pieces between
// any of their UTF-16 units.
func TestCuts(t *testing.T) {
	const arguments = `{"path":"a😀\\ud83d\\ude00","n":[1,{"x":"{}"}]}`
	units := utf16.Encode([]rune(arguments))
	quote := func(units []uint16) string {
		s := `"`
		for _, u := range units {
			s += fmt.Sprintf(`\u%04x`, u)
		}
		return s + `"`
	}
	for i := range units {
		for j := i; j < len(units); j += 7 {
			stream := ""
			for n, part := range [][]uint16{units[:i], units[i:j], units[j:]} {
				id := ""
				if n == 0 {
					id = `"id":"a",`
				}
				stream += `data: {"choices":[{"index":0,"delta":{"content":` + quote(part) +
					`,"tool_calls":[{"index":0,` + id + `"function":{"name":"f","arguments":` + quote(part) +
					"}}]}}]}\n\n"
			}
			c, err := asking(t, with(200, "text/event-stream",
				stream+"data: [DONE]\n\n")).Complete(t.Context(), Request{Stream: true})
			if err != nil || c.Text != arguments || len(c.Calls) != 1 || c.Calls[0].Arguments != arguments {
				t.Fatalf("cut at %d and %d: %+v, %v", i, j, c, err)
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	const jsonType = "application/json"
	sent, err := (&Transport{Fields: map[string]any{"max_tokens": 7, "temperature": 0}}).body(
		strings.NewReader(`{"messages":[{"content":[{"type":"image_url"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		status     int
		kind, body string
		want       string
		parameter  string
	}{
		{401, jsonType, `{"error":{"message":"bad\nkey"}}`,
			"the key was refused: bad key (status 401); check OPENAI_API_KEY; retry false", ""},
		{403, "text/html", `<p>`, "the key was refused (status 403); check OPENAI_API_KEY; retry false", ""},
		{402, jsonType, `{"message":"Insufficient Balance"}`,
			"the quota is spent: Insufficient Balance (status 402); retry false", ""},
		{404, "text/plain", `404 page`,
			"not found: 404 page (status 404); check the base URL (OPENAI_BASE_URL) and the name of the model; retry false", ""},
		{404, jsonType, `{"error":"no image input"}`,
			"the request was refused: no image input (status 404); retry false", "image"},
		{400, jsonType, `{"error":{"message":"bad value","param":"temperature"}}`,
			"the request was refused: bad value (temperature) (status 400); retry false", "temperature"},
		{400, jsonType, `{"error":"use max_completion_tokens instead of max_tokens"}`,
			"the request was refused: use max_completion_tokens instead of max_tokens (status 400); retry false", "max_tokens"},
		{400, jsonType, `{"error":"unknown max_completion_tokens"}`,
			"the request was refused: unknown max_completion_tokens (status 400); retry false",
			"max_completion_tokens"},
		{422, jsonType, `{"detail":[{"loc":["tools"]}]}`,
			`the request was refused: [{"loc":["tools"]}] (status 422); retry false`, "tools"},
		{400, "text/html", `<p>temperature</p>`, "the request was refused (status 400); retry false", ""},
		{400, jsonType, `{"error":"bad file"}`,
			"the request was refused: bad file (status 400); retry false", ""},
		{429, jsonType, `{"error":{"message":"x","type":"insufficient_quota"}}`,
			"the quota is spent: x (status 429); retry false", ""},
		{429, "", ``, "too many requests (status 429); retry true", ""},
		{429, jsonType, `{"error":{"message":"Too many tokens, please wait before trying again."}}`,
			"too many requests: Too many tokens, please wait before trying again. (status 429); retry true", ""},
		{429, jsonType, `{"error":{"message":"Request too large for m on tokens per min (TPM): Limit 30000, Requested 40000."}}`, "the request does not fit the model's context window: Request too large for m on tokens per min (TPM): Limit 30000, Requested 40000. (status 429); retry false", ""},
		{500, jsonType, `{"error":{"code":500,"message":"the request exceeds the available context size","n_ctx":8192}}`, "the request does not fit the model's context window: the request exceeds the available context size (n_ctx 8192) (status 500); retry false", ""},
		{400, jsonType, `{"error":{"message":"maximum context length is 8192 tokens"}}`,
			"the request does not fit the model's context window: maximum context length is 8192 tokens (status 400); retry false", ""},
		{425, "", ``, "server error (status 425); retry true", ""},
		{502, "text/html", `<p>Bad Gateway`, "server error (status 502); retry true", ""},
		{307, "", ``, "a redirect, which is not followed (status 307); give the address it leads to as the base URL (OPENAI_BASE_URL); retry false", ""},
	} {
		requests := 0
		c := asking(t, func(w http.ResponseWriter, r *http.Request) {
			requests++
			w.Header().Set("Location", "/")
			with(tt.status, tt.kind, tt.body)(w, r)
		})
		got, err := c.complete(t.Context(), sent, Request{Stream: true})
		if outcome(got, err) != tt.want || err.(*remote.Error).Parameter != tt.parameter || requests != 1 ||
			got.Status != tt.status {
			t.Errorf("%d %s\n got %s, parameter %s, %d requests, %+v\nwant %s, %s", tt.status, tt.body,
				outcome(got, err), err.(*remote.Error).Parameter, requests, got, tt.want, tt.parameter)
		}
	}
}

func TestBadAnswers(t *testing.T) {
	for _, tt := range []struct{ kind, body, want string }{
		{"text/html", "<p>", "the answer is not JSON; check that the base URL (OPENAI_BASE_URL) is the address of the API; retry false"},
		{"application/json", "{]", "the answer is not valid JSON; retry true"},
		{"application/json", " \n", "the answer is empty; retry true"},
		{"application/json", "{", "the answer broke off in the middle; retry true"},
		{"application/json", "[]", "the answer is not a chat completion; retry false"},
		{"application/json", `{"choices":[{"text":"x"}]}`,
			"the answer is not a chat completion; retry false"},
		{"application/json", `{"choices":[]}`, "the answer has no choices; retry true"},
		{"application/json", `{"choices":[{"message":{}}]} {}`,
			"the answer goes on after its end; retry false"},
		{"application/json", `{"error":{"message":"x"}}`,
			"the endpoint answered with an error: x; retry true"},
		{"application/json", `{"choices":[{"message":{},"error":{"message":"x"}}]}`,
			"the endpoint answered with an error: x; retry true"},
		{"application/json", `{"choices":[{"message":{},"finish_reason":"error"}]}`,
			"the endpoint answered with an error; retry true"},
		{"application/json", strings.Repeat(" ", remote.MaxAnswer+1),
			"the answer is larger than 16 MiB; retry false"},
		{"text/event-stream", strings.Repeat(":\n", remote.MaxAnswer/2+1),
			"the answer is larger than 16 MiB; retry false"},
		{"text/event-stream", "data: {\"id\":1,\"error\":\"x\"}\n\n",
			"the endpoint answered with an error: x; retry true"},
		{"text/event-stream", "data: {\"error\":{\"message\":\"x\"}}\n\n",
			"the endpoint answered with an error: x; retry true"},
		{"text/event-stream", "data: {\n\n", "the answer broke off in the middle; retry true"},
		{"text/event-stream", "data: [DONE]\n\n", "the answer broke off in the middle; retry true"},
	} {
		if got := outcome(asking(t, with(200, tt.kind, tt.body)).Complete(t.Context(),
			Request{Stream: true})); got != tt.want {
			t.Errorf("%.60q\n got %s\nwant %s", tt.body, got, tt.want)
		}
	}
}

func TestUnreachable(t *testing.T) {
	c, err := New(Config{BaseURL: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := outcome(c.Complete(t.Context(), Request{})),
		"there is no connection to 127.0.0.1:1; is the server running?; retry true"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	c = asking(t, func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // a server notices that its client has gone only after that
		<-r.Context().Done()
	})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := c.Complete(ctx, Request{}); !errors.Is(err, context.DeadlineExceeded) ||
		err.Error() != "no answer in time" {
		t.Error(err)
	}
}

// Whatever an endpoint sends, there is one completion or an Error with a reason.
func FuzzComplete(f *testing.F) {
	f.Add(200, "application/json",
		`{"choices":[{"message":{"content":[{"text":"a"}],"tool_calls":[{"function":{"arguments":{}}}]}}]}`)
	f.Add(200, "text/event-stream",
		"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":3}]}}]}\n\ndata: [DONE]\n\n")
	f.Add(400, "application/json", `{"error":{"message":"temperature"}}`)
	f.Fuzz(func(t *testing.T, status int, kind, body string) {
		if status < 200 || status > 599 {
			return
		}
		c, err := New(Config{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			w := httptest.NewRecorder()
			with(status, kind, body)(w, nil)
			return w.Result(), nil
		})})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Complete(t.Context(), Request{Stream: true})
		if fault, ok := err.(*remote.Error); err != nil &&
			(!ok || fault.Reason == "") || err == nil &&
			status > 299 {
			t.Fatalf("%d %q: %T %v", status, body, err, err)
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
