package llmfallback

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
)

func TestTrusted(t *testing.T) {
	tests := []struct {
		answer string
		want   Extraction
		err    string
	}{
		{`["readFile","a.txt",null,null]`, Extraction{Operation: "readFile", Path: "a.txt"}, ""},
		{"\n [\"readFile\", \"a.txt\"] \n", Extraction{Operation: "readFile", Path: "a.txt"}, ""},
		{`["writeFile","a.txt","  hello\n\n",""]`,
			Extraction{Operation: "writeFile", Path: "a.txt", Content: "  hello\n\n"}, ""},
		{`["writeFile","a.txt","content: x"]`,
			Extraction{Operation: "writeFile", Path: "a.txt", Content: "content: x"}, ""},
		{`["writeFile","a.txt"]`, Extraction{Operation: "writeFile", Path: "a.txt"}, ""},
		{`["writeFile","a.txt",0]`, Extraction{Operation: "writeFile", Path: "a.txt"}, ""},
		{`["writeFile","a.txt",-0.0]`, Extraction{Operation: "writeFile", Path: "a.txt"}, ""},
		{`["writeFile","a.txt",false]`, Extraction{Operation: "writeFile", Path: "a.txt"}, ""},
		{`["writeFile","a.txt",["x","y"]]`,
			Extraction{Operation: "writeFile", Path: "a.txt", Content: "xy"}, ""},
		{`["writeFile","a.txt",[]]`, Extraction{Operation: "writeFile", Path: "a.txt"}, ""},
		{`["writeFile","a.txt",[1,2]]`, Extraction{}, "content"},
		{`["writeFile","a.txt",5]`, Extraction{}, "content"},
		{`["writeFile","a.txt",{"x":1}]`, Extraction{}, "content"},
		{`["readFile","a.txt",5]`, Extraction{Operation: "readFile", Path: "a.txt"}, ""},
		{`["readFile"," a.txt "]`, Extraction{Operation: "readFile", Path: " a.txt "}, ""},
		{`["readFile",5]`, Extraction{}, "path"},
		{`["readFile",1e400]`, Extraction{}, "path"},
		{`["readFile",true]`, Extraction{}, "path"},
		{`["readFile",{"p":1}]`, Extraction{}, "path"},
		{`["readFile",["a"]]`, Extraction{}, "path"},
		{`["readFile",0]`, Extraction{Operation: "readFile"}, ""},
		{`["readFile",""]`, Extraction{Operation: "readFile"}, ""},
		{`["readFile"]`, Extraction{Operation: "readFile"}, ""},
		{`[]`, Extraction{}, ""},
		{`[null,"a.txt"]`, Extraction{}, ""},
		{`["   ","a.txt"]`, Extraction{}, ""},
		{`[" readFile now ","a.txt"]`, Extraction{Operation: "readFile", Path: "a.txt"}, ""},
		{`[5,"a.txt"]`, Extraction{Operation: "5", Path: "a.txt"}, ""},
		{`[1e21,"a.txt"]`, Extraction{Operation: "1e+21", Path: "a.txt"}, ""},
		{`[1e-7,"a.txt"]`, Extraction{Operation: "1e-7", Path: "a.txt"}, ""},
		{`[true,"a.txt"]`, Extraction{Operation: "true", Path: "a.txt"}, ""},
		{`[{},"a.txt"]`, Extraction{Operation: "[object Object]", Path: "a.txt"}, ""},
		{`["chmod","a.txt"]`, Extraction{Operation: "chmod", Path: "a.txt"}, ""},
		{`["chmod",5]`, Extraction{Operation: "chmod", Path: "5"}, ""},
		{`["READFILE","a.txt"]`, Extraction{Operation: "READFILE", Path: "a.txt"}, ""},
		{`[["readFile","a"]]`, Extraction{Operation: "readFile,a"}, ""},
		{`["copyFile","a",null,"b"]`, Extraction{Operation: "copyFile", Path: "a", Destination: "b"}, ""},
		{`["copyFile","a"]`, Extraction{Operation: "copyFile", Path: "a"}, ""},
		{`["copyFile","a",null,7]`, Extraction{}, "destination"},
		{`["readFile","a.txt",null,null,"x","y"]`, Extraction{Operation: "readFile", Path: "a.txt"}, ""},
		{`["writeFile","a.txt","\u00e9\ud83d\ude00"]`,
			Extraction{Operation: "writeFile", Path: "a.txt", Content: "é😀"}, ""},
		{`"readFile a.txt"`, Extraction{}, "array"},
		{`42`, Extraction{}, "array"},
		{`null`, Extraction{}, "array"},
		{``, Extraction{}, "array"},
		{`not json`, Extraction{}, "array"},
		{`['readFile','a.txt']`, Extraction{}, "array"},
		{`["readFile","a.txt",]`, Extraction{}, "array"},
		{"[\"readFile\",\"a.txt\"]\n[\"readFile\",\"b.txt\"]", Extraction{}, "array"},
		{"```json\n[\"readFile\",\"a.txt\"]\n```", Extraction{}, "array"},
		{"\ufeff[\"readFile\",\"a.txt\"]", Extraction{}, "array"},
		{`{"operation":"readFile"}`, Extraction{}, "array"},
	}
	for _, tt := range tests {
		calls := 0
		x, err := New(Config{Trust: true, Complete: func(_ context.Context, prompt string) (string, error) {
			calls++
			return tt.answer, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := x.Extract(t.Context(), "foo bar")
		wrong := ""
		if v, ok := errors.AsType[*ArgumentError](err); ok {
			wrong = v.Name
		} else if errors.Is(err, ErrNotArray) {
			wrong = "array"
		} else if err != nil {
			t.Errorf("%s: %v", tt.answer, err)
		}
		got.HasContent = false
		if got.Extraction != tt.want || wrong != tt.err || calls != 1 {
			t.Errorf("%s\n got %+v, %v after %d calls\nwant %+v, %q", tt.answer, got.Extraction, err,
				calls, tt.want, tt.err)
		}
	}
}

// The recorded calls: one, with the task, the names and the prompt untouched.
func TestBarePromptOfRecordedRows(t *testing.T) {
	f, err := os.Open("../testdata/conformance/achilles.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	rows := 0
	for in.Scan() {
		var row struct {
			ID       string
			Prompt   any
			LLMCalls []struct{ Prompt string } `json:"llm_calls"`
		}
		if err := json.Unmarshal(in.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		prompt, ok := row.Prompt.(string)
		if len(row.LLMCalls) == 0 || !ok {
			continue
		}
		rows++
		sent := []string{}
		agent := Bare(func(_ context.Context, prompt string) (string, error) {
			sent = append(sent, prompt)
			return "[]", nil
		})
		if _, err := ExtractArgumentsWithLLM(t.Context(), agent, prompt, Instruction, Names()); err != nil {
			t.Errorf("%s: %v", row.ID, err)
		}
		recorded := row.LLMCalls[0].Prompt
		if len(sent) != len(row.LLMCalls) {
			t.Fatalf("%s: %d calls, want %d", row.ID, len(sent), len(row.LLMCalls))
		}
		for _, part := range []string{"Task: " + Instruction + "\n",
			`["operation","path","content","destination"]`, "Prompt: " + prompt} {
			if !strings.Contains(recorded, part) || !strings.Contains(sent[0], part) {
				t.Errorf("%s: %q is not in both %q and %q", row.ID, part, recorded, sent[0])
			}
		}
		if !strings.HasSuffix(sent[0], prompt) {
			t.Errorf("%s: the prompt does not end %q", row.ID, sent[0])
		}
	}
	if in.Err() != nil || rows < 40 {
		t.Errorf("%d rows, %v", rows, in.Err())
	}
}

func TestExtractArgumentsWithLLM(t *testing.T) {
	values, err := ExtractArgumentsWithLLM(t.Context(), Rules{}, "move a.txt to b.txt", Instruction,
		[]string{"destination", "operation", "path", "content", "mood"})
	if want := "b.txt|moveFile|a.txt||"; err != nil || strings.Join(values, "|") != want {
		t.Errorf("%q, %v", values, err)
	}
	if _, err := ExtractArgumentsWithLLM(t.Context(), Rules{}, "what now", Instruction, Names()); !errors.Is(err, ErrSilent) {
		t.Errorf("got %v", err)
	}
	offline := errors.New("model offline")
	agent := Bare(func(context.Context, string) (string, error) { return "", offline })
	if _, err := ExtractArgumentsWithLLM(t.Context(), agent, "foo", Instruction, Names()); err != offline {
		t.Errorf("got %v", err)
	}
	agent = Bare(func(context.Context, string) (string, error) { return "{}", nil })
	if _, err := ExtractArgumentsWithLLM(t.Context(), agent, "foo", Instruction, Names()); !errors.Is(err, ErrNotArray) {
		t.Errorf("got %v", err)
	}
	agent = Bare(func(context.Context, string) (string, error) { return `["readFile",5]`, nil })
	var wrong *ArgumentError
	if _, err := ExtractArgumentsWithLLM(t.Context(), agent, "foo", Instruction, Names()); !errors.As(err, &wrong) ||
		wrong.Name != "path" || wrong.Code() != "ERR_INVALID_ARG_TYPE" {
		t.Errorf("got %v", err)
	}
}

// The bare contract over an endpoint: one request with the prompt whole, no
// format asked for, and the answer taken as it is.
func TestTrustOverEndpoint(t *testing.T) {
	f := newFake(t, says(`["writeFile","anything.txt","invented"]`))
	got, err := f.asking(t, newClock(), func(c *Config) { c.Trust = true }).Extract(t.Context(),
		"do something content: x")
	body := f.requests()[0].body
	messages := body["messages"].([]any)
	sent := messages[0].(map[string]any)["content"].(string)
	if err != nil || got.Path != "anything.txt" ||
		got.Content != "invented" || got.Via != "llm" ||
		len(messages) != 1 ||
		body["response_format"] != nil || !strings.HasSuffix(sent, "Prompt: do something content: x") {
		t.Errorf("%+v, %v, %v", got, err, body)
	}
	f = newFake(t, status(500))
	if _, err := f.asking(t, newClock(), func(c *Config) { c.Trust = true }).Extract(t.Context(), "x y"); !errors.Is(err, ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}
