package llmfallback

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestAddresses(t *testing.T) {
	tests := []struct{ base, key, want string }{
		{"", "k", "https://api.openai.com/v1"},
		{"", "", ""},
		{"http://localhost:11434", "k", "http://localhost:11434/v1"},
		{"http://localhost:11434/", "", "http://localhost:11434/v1"},
		{"http://127.0.0.1:8080/v1/", "k", "http://127.0.0.1:8080/v1"},
		{"http://[::1]:8080/v1", "k", "http://[::1]:8080/v1"},
		{"http://box.local/v1", "", "http://box.local/v1"},
		{"https://host/openai/v1/chat/completions", "k", "https://host/openai/v1"},
		{"http://box.local/v1", "k", "error"},
		{"http://localhost.evil.com/v1", "k", "error"},
		{"http://127.0.0.1.evil.com/v1", "k", "error"},
		{"https://user:pass@host/v1", "", "error"},
		{"https://host/v1?key=x", "", "error"},
		{"localhost:11434", "", "error"},
		{"ftp://host", "", "error"},
		{"::", "", "error"},
	}
	for _, tt := range tests {
		m, got := Model{BaseURL: tt.base, Key: tt.key, Name: "m"}, ""
		if _, err := m.client(nil); err != nil {
			got = "error"
			if strings.Contains(err.Error(), "pass") {
				t.Errorf("%v tells a password", err)
			}
		} else {
			got = m.BaseURL
		}
		if got != tt.want {
			t.Errorf("%q with key %q: %s, want %s", tt.base, tt.key, got, tt.want)
		}
		if _, err := New(Config{Model: m, Mode: LLM}); (err != nil) != (tt.want == "error") {
			t.Errorf("New with %q: %v", tt.base, err)
		}
	}
}

func TestModes(t *testing.T) {
	calls := 0
	model := func(context.Context, string) (string, error) { calls++; return goodAnswer, nil }
	tests := []struct {
		mode   Mode
		prompt string
		via    string
		calls  int
	}{
		{"", createNotes, "rules", 0},
		{Auto, createNotes, "rules", 0},
		{Auto, "would be neat to have notes.txt around with hello in it", "llm", 1},
		{LLM, createNotes, "llm", 1},
		{RulesOnly, createNotes, "rules", 0},
		{RulesOnly, "would be neat to have notes.txt around with hello in it", "", 0},
		{None, createNotes, "", 0},
	}
	for _, tt := range tests {
		calls = 0
		x, err := New(Config{Mode: tt.mode, Complete: model, Stat: having()})
		if err != nil {
			t.Fatal(err)
		}
		got, err := x.Extract(t.Context(), tt.prompt)
		if got.Via != tt.via || calls != tt.calls || (tt.via == "") != errors.Is(err, ErrSilent) {
			t.Errorf("%s: %q via %q after %d calls, %v", tt.mode, tt.prompt, got.Via, calls, err)
		}
	}
	if _, err := New(Config{Mode: "maybe"}); err == nil {
		t.Error("an unknown mode is taken")
	}
	x, err := New(Config{Model: Model{BaseURL: "http://localhost:1"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Extract(t.Context(), "hm"); !errors.Is(err, ErrUnavailable) ||
		!strings.Contains(err.Error(), "SKILL_MODEL") {
		t.Errorf("half a configuration: %v", err)
	}
}

// An Extractor is an agent itself: the manual's call over the whole way.
func TestExtractorIsAnAgent(t *testing.T) {
	f := newFake(t, says(goodAnswer))
	x := f.asking(t, newClock(), nil)
	values, err := ExtractArgumentsWithLLM(t.Context(), x, createNotes, Instruction, Names())
	if err != nil || strings.Join(values, "|") != "writeFile|notes.txt|hello|" {
		t.Errorf("%q, %v", values, err)
	}
	if _, err := ExtractArgumentsWithLLM(t.Context(), x, " \n", Instruction, Names()); !errors.Is(err, ErrSilent) {
		t.Errorf("a blank prompt: %v", err)
	}
	bare, err := New(Config{Trust: true,
		Complete: func(context.Context, string) (string, error) { return `["a", 5]`, nil }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ExtractArgumentsWithLLM(t.Context(), bare, "x", Instruction, []string{"p", "q"}); err == nil || !strings.Contains(err.Error(), "a number (5)") {
		t.Errorf("got %v", err)
	}
}

func TestTelemetry(t *testing.T) {
	f, c := newFake(t, status(503), says("```\n"+goodAnswer+"\n```")), newClock()
	got, err := f.asking(t, c, nil).Extract(t.Context(), createNotes)
	tel := got.Telemetry
	if err != nil || tel.Outcome != "repair_accept" || tel.Endpoint != f.URL+"/v1" ||
		tel.Rung != rungSchema || tel.Model != "m" ||
		tel.Attempts != 2 || tel.Retries != 1 ||
		tel.HTTPStatus != 200 || *tel.PromptTokens != 50 ||
		*tel.CompletionTokens != 20 ||
		len(tel.Latencies) != 2 || tel.Latency < 250*time.Millisecond || tel.Bytes == 0 ||
		!slices.Equal(tel.Repairs, []string{"code fence removed"}) {
		t.Errorf("%+v, %v", got, err)
	}
	if line := tel.String(); !strings.Contains(line, `"outcome":"repair_accept"`) ||
		strings.Contains(line, "\n") {
		t.Errorf("%s", line)
	}
	uncounted := says(goodAnswer)
	uncounted.body = strings.Replace(uncounted.body, `"completion_tokens":20`, `"x":1`, 1)
	uncounted.body = strings.Replace(uncounted.body, `"prompt_tokens":50`, `"y":1`, 1)
	uncounted.body = strings.Replace(uncounted.body, `"model":"m"`, `"model":"m with a long story"`, 1)
	f = newFake(t, uncounted)
	got, err = f.asking(t, c, nil).Extract(t.Context(), createNotes)
	if err != nil || got.Telemetry.PromptTokens != nil || got.Telemetry.CompletionTokens != nil ||
		got.Telemetry.Model != "m" {
		t.Errorf("%+v, %v", got.Telemetry, err)
	}
}
