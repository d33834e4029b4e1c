package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// askedAt is an endpoint of all providers that keeps which path was asked with which key,
// and refuses.
func askedAt(t *testing.T) (url string, asked *[]string) {
	asked = new([]string)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get("Authorization") + r.Header.Get("X-Api-Key") + r.Header.Get("X-Goog-Api-Key")
		*asked = append(*asked, r.URL.Path+" "+strings.TrimPrefix(key, "Bearer "))
		http.Error(w, "no", http.StatusBadRequest)
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

// TestProviderOfARun has all that can name a provider.
func TestProviderOfARun(t *testing.T) {
	url, asked := askedAt(t)
	const (
		chat      = "/v1/chat/completions sk-openai"
		responses = "/v1/responses sk-openai"
		messages  = "/v1/messages sk-anthropic"
		generate  = "/v1beta/models/gemini-2.5-pro:streamGenerateContent sk-google"
	)
	for _, tt := range []struct {
		name string
		toml string
		env  string
		args string
		want string // asked, or the beginning of the error
		why  string
	}{
		{"the flag first", "[provider]\nproviderName = \"google\"\n",
			"OPENAI_BASE_URL OPENAI_API_KEY ANTHROPIC_BASE_URL ANTHROPIC_API_KEY", "--provider anthropic",
			messages, "--provider"},
		{"then the project", "[provider]\nproviderName = \"google\"\n",
			"OPENAI_BASE_URL OPENAI_API_KEY GOOGLE_GEMINI_BASE_URL GEMINI_API_KEY",
			"--trust-workspace --model gemini-2.5-pro", generate, "provider.providerName in perstack.toml"},
		{"then an OpenAI base URL", "", "OPENAI_BASE_URL OPENAI_API_KEY ANTHROPIC_BASE_URL ANTHROPIC_API_KEY",
			"", chat, "a base URL is set"},
		{"whatever the model is called", "", "OPENAI_BASE_URL ANTHROPIC_BASE_URL ANTHROPIC_API_KEY",
			"", "/v1/chat/completions ", "a base URL is set"},
		{"then the model's name", "",
			"ANTHROPIC_BASE_URL ANTHROPIC_API_KEY GOOGLE_GEMINI_BASE_URL GEMINI_API_KEY", "", messages,
			"the name of the model, and ANTHROPIC_API_KEY"},
		{"with any of the provider's keys", "",
			"ANTHROPIC_API_KEY GOOGLE_GEMINI_BASE_URL GOOGLE_GENERATIVE_AI_API_KEY", "--model gemini-2.5-pro",
			generate, "the name of the model, and GOOGLE_GENERATIVE_AI_API_KEY"},
		{"but not beside a key of OpenAI's", "", "OPENAI_API_KEY ANTHROPIC_BASE_URL ANTHROPIC_API_KEY",
			"--model claude-x --openai-base-url " + url, chat, "a base URL is set"},
		{"else openai", "", "", "", "OPENAI_API_KEY is not set", ""},
		{"without the key of the provider", "", "ANTHROPIC_API_KEY", "--model gemini-2.5-pro",
			"OPENAI_API_KEY is not set", ""},
		{"the key of a provider that is named", "", "OPENAI_API_KEY", "--provider google",
			"GOOGLE_API_KEY is not set", ""},
		{"Responses", "", "OPENAI_BASE_URL OPENAI_API_KEY", "--openai-api responses", responses,
			"a base URL is set"},
		{"a flag of another provider", "", "ANTHROPIC_API_KEY",
			"--provider anthropic --openai-base-url " + url,
			"--openai-base-url and --openai-api-key-file are for the provider openai, and the provider is anthropic (--provider)", ""},
		{"an API of another provider", "", "ANTHROPIC_API_KEY", "--provider anthropic --openai-api chat",
			"--openai-api is for the provider openai, and the provider is anthropic (--provider)", ""},
		{"an address of another provider",
			"[provider]\nproviderName = \"google\"\n[provider.setting]\nbaseUrl = \"" + url + "/theirs\"\n",
			"ANTHROPIC_BASE_URL ANTHROPIC_API_KEY", "--provider anthropic", messages, "--provider"},
		{"an unknown one", "", "", "--provider mistral",
			`provider "mistral" is not supported; there are openai (any`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			*asked = nil
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "perstack.toml"),
				[]byte("model = \"claude-opus-4-8\"\n"+tt.toml+oneExpert), 0o666); err != nil {
				t.Fatal(err)
			}
			state := t.TempDir()
			c := &cli{console: console{getenv: func(name string) string {
				switch {
				case name == "XDG_STATE_HOME":
					return state
				case !strings.Contains(" "+tt.env+" ", " "+name+" "):
					return ""
				case strings.HasSuffix(name, "_BASE_URL"):
					return url
				}
				return map[string]string{"OPENAI_API_KEY": "sk-openai", "ANTHROPIC_API_KEY": "sk-anthropic",
					"GEMINI_API_KEY": "sk-google", "GOOGLE_GENERATIVE_AI_API_KEY": "sk-google"}[name]
			}}}
			args := append([]string{"run", "-v", "-C", dir, "--max-retries", "0", "e", "q"},
				strings.Fields(tt.args)...)
			_, stderr, code := play(t, c, "", args...)
			if code != exitFailed || tt.why != "" &&
				(strings.Join(*asked, ", ") != tt.want || !strings.Contains(stderr, "("+tt.why+")")) {
				t.Errorf("asked %q, exit code %d, %s", *asked, code, stderr)
			}
			if tt.why == "" && (len(*asked) > 0 || !strings.HasPrefix(stderr, "skill: "+tt.want)) {
				t.Errorf("asked %q, %s", *asked, stderr)
			}
		})
	}
}

// TestKeysOfProvidersStayWithoutTrust has a workspace name an endpoint of each provider, or
// a provider.
func TestKeysOfProvidersStayWithoutTrust(t *testing.T) {
	url, asked := askedAt(t)
	for _, tt := range []struct{ toml, env, power string }{
		{"", "ANTHROPIC_BASE_URL=" + url, ": ANTHROPIC_BASE_URL"},
		{"", "ANTHROPIC_BASE_URL=" + url + "\nANTHROPIC_API_KEY=sk-theirs", ": ANTHROPIC_BASE_URL"},
		{"[provider]\nproviderName = \"anthropic\"\n", "ANTHROPIC_BASE_URL=" + url,
			"  provider.providerName"},
		{"[provider]\nproviderName = \"anthropic\"\n[provider.setting]\nbaseUrl = \"" + url + "\"\n",
			"", "  provider.setting.baseUrl"},
		{"[provider]\nproviderName = \"google\"\n", "GEMINI_API_KEY=sk-theirs\nGOOGLE_GEMINI_BASE_URL=" + url,
			": GEMINI_API_KEY (a credential)"},
	} {
		*asked = nil
		dir, state := t.TempDir(), t.TempDir()
		for name, text := range map[string]string{"perstack.toml": "model = \"claude-opus-4-8\"\n" +
			tt.toml + oneExpert, ".env": tt.env} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		c := &cli{console: console{getenv: func(name string) string {
			return map[string]string{"ANTHROPIC_API_KEY": "sk-mine", "XDG_STATE_HOME": state}[name]
		}}}
		_, stderr, code := play(t, c, "", "run", "-C", dir, "--max-retries", "0", "e", "q")
		if len(*asked) > 0 || code != exitFailed || !strings.Contains(stderr, tt.power) ||
			strings.Contains(stderr, "sk-") {
			t.Errorf("%+v: asked %q, exit code %d, %s", tt, *asked, code, stderr)
		}
		if _, stderr, code := play(t, c, "", "trust", dir); code != exitOK {
			t.Fatal(stderr)
		}
		if play(t, c, "", "run", "-C", dir, "--max-retries", "0", "e", "q"); len(*asked) != 1 ||
			strings.Contains((*asked)[0], "sk-theirs") == strings.HasPrefix((*asked)[0], "/v1/messages") {
			t.Errorf("%+v: trusted, asked %q", tt, *asked)
		}
	}
}

// TestRunWithClaude runs an expert with a model of Anthropic's, whose thinking it needs back.
func TestRunWithClaude(t *testing.T) {
	answers := []string{
		`{"type":"thinking","thinking":"a file","signature":"c2ln"}|{"type":"tool_use","id":"a","name":"writeTextFile","input":{"path":"hi.txt","text":"hi"}}`,
		`{"type":"tool_use","id":"b","name":"attemptCompletion","input":{}}`,
		`{"type":"text","text":"It is written."}`,
	}
	var bodies []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(body))
		w.Header().Set("Content-Type", "text/event-stream")
		event := func(data string) { fmt.Fprintf(w, "data: %s\n\n", data) }
		event(`{"type":"message_start","message":{"usage":{"input_tokens":10,"cache_read_input_tokens":90}}}`)
		for i, block := range strings.Split(answers[len(bodies)-1], "|") {
			event(fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, i, block))
		}
		event(`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}`)
		event(`{"type":"message_stop"}`)
	}))
	defer s.Close()
	spans := ""
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		spans += string(body)
	}))
	defer collector.Close()
	dir := newProject(t)
	state := t.TempDir()
	c := &cli{console: console{getenv: func(name string) string {
		return map[string]string{"ANTHROPIC_API_KEY": "sk-mine", "ANTHROPIC_BASE_URL": s.URL,
			"XDG_STATE_HOME": state, "OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL}[name]
	}}}
	stdout, stderr, code := play(t, c, "", "run", "-C", dir, "--model", "claude-opus-4-8", "e",
		"write hi.txt")
	data, _ := os.ReadFile(filepath.Join(dir, "hi.txt"))
	if code != exitOK || string(data) != "hi" || len(bodies) != 3 {
		t.Fatalf("exit code %d, hi.txt holds %q, %d requests, %s", code, data, len(bodies), stderr)
	}
	if !strings.Contains(bodies[1],
		`{"role":"assistant","content":[{"type":"thinking","thinking":"a file","signature":"c2ln"},{"type":"tool_use"`) &&
		!strings.Contains(bodies[1],
			`{"role":"assistant","content":[{"signature":"c2ln","thinking":"a file","type":"thinking"},{"type":"tool_use"`) {
		t.Errorf("the thinking is not given back: %s", bodies[1])
	}
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	var last struct {
		Text       string
		Checkpoint struct {
			Usage struct{ InputTokens, CachedInputTokens, OutputTokens int }
		}
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil {
		t.Fatal(err)
	}
	if u := last.Checkpoint.Usage; last.Text != "It is written." || u.InputTokens != 300 ||
		u.CachedInputTokens != 270 || u.OutputTokens != 15 {
		t.Errorf("the run ends with %+v", last)
	}
	for _, want := range []string{`"invoke_agent e"`, `"chat claude-opus-4-8"`,
		`"execute_tool writeTextFile"`, `"execute_tool attemptCompletion"`} {
		if !strings.Contains(spans, want) {
			t.Errorf("there is no span %s in %s", want, spans)
		}
	}
	if n := strings.Count(spans, `"chat claude-opus-4-8"`); n != 3 {
		t.Errorf("%d requests to the model are reported, of 3", n)
	}
}

// TestTraceOfAContinuedRun continues a run, whose spans join the trace of the run. Another
// run of the same name has a trace of its own.
func TestTraceOfAContinuedRun(t *testing.T) {
	type span struct {
		TraceID, SpanID, Name string
		Links                 []struct{ TraceID, SpanID string }
	}
	var roots []span
	traces := map[string]int{}
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var sent struct {
			ResourceSpans []struct{ ScopeSpans []struct{ Spans []span } }
		}
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
			t.Error(err)
		}
		for _, s := range sent.ResourceSpans[0].ScopeSpans[0].Spans {
			traces[s.TraceID]++
			if strings.HasPrefix(s.Name, "invoke_agent") {
				roots = append(roots, s)
			}
		}
	}))
	defer collector.Close()
	var script []scriptedAnswer
	const step = `{"tools":[{"id":"a","name":"listDirectory","input":{"path":"."}}]},`
	if err := json.Unmarshal([]byte("["+step+step+step+`{}]`), &script); err != nil {
		t.Fatal(err)
	}
	endpoint, home := scriptedEndpoint(t, script).URL, t.TempDir()
	c := &cli{console: console{getenv: func(name string) string {
		return map[string]string{"OPENAI_BASE_URL": endpoint, "SKILL_MODEL": "m", "HOME": home,
			"OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL}[name]
	}}}
	dir := newProject(t)
	for _, words := range []string{"run e go --run-id r -C " + dir, "run e --continue -C " + dir,
		"run e go --run-id r -C " + newProject(t)} {
		if out, errs, code := play(t, c, "", append(strings.Fields(words), "--max-steps", "1")...); code != 0 {
			t.Fatal(out, errs)
		}
	}
	if len(roots) != 3 || len(traces) != 2 {
		t.Fatalf("%d traces with the roots %+v", len(traces), roots)
	}
	if r := roots[1]; r.TraceID != roots[0].TraceID || len(r.Links) != 1 ||
		r.Links[0] != struct{ TraceID, SpanID string }{r.TraceID, roots[0].SpanID} ||
		len(roots[0].Links) != 0 {
		t.Errorf("the roots are %+v", roots)
	}
}
