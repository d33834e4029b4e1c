package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"textskill/parser"
	"textskill/parser/rawjson"
)

var update = flag.Bool("update", false, "write the answers of the rows")

// recorded is what providers and models send, by their documentation and chat templates,
// and what the next request then holds.
const recorded = "../../testdata/conformance/wires.jsonl"

// A row is a message and what it asks for.
type row struct {
	Wire   string `json:"wire"`
	ID     string `json:"id"`
	Text   string `json:"text"`
	Shape  bool   `json:"shape,omitempty"` // the wire is recognized
	Calls  []sent `json:"calls,omitempty"`
	Final  string `json:"final,omitempty"`
	Error  string `json:"error,omitempty"`  // part of the error
	Answer string `json:"answer,omitempty"` // to calls whose results are "result 1" and so on
}

type sent struct {
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Error     string          `json:"error,omitempty"` // part of the error
}

// schemas are the tools of the rows.
func schemas(name string) json.RawMessage {
	return json.RawMessage(map[string]string{
		"get_weather": `{"type":"object","properties":{"location":{"type":"string"},"unit":{"type":"string"},"days":{"type":"integer"},"hourly":{"type":"boolean"}},"required":["location"]}`,
		"write_file":  `{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"},"tags":{"type":"array","items":{"type":"string"}}},"required":["path","content"]}`,
		"run":         `{"type":"object","properties":{"command":{"type":"string"},"env":{"type":"object"}},"required":["command"]}`,
		"now":         `{"type":"object","properties":{},"required":[]}`,
		"patch":       `{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}`,

		"apply_patch_call": `{"type":"object","properties":{}}`,
		"local_shell_call": `{"type":"object","properties":{}}`,
	}[name])
}

func rows(t testing.TB) (list []row) {
	data, err := os.ReadFile(recorded)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r row
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatalf("%v in %s", err, lines.Text())
		}
		list = append(list, r)
	}
	return list
}

// TestRows reads each message and writes the answer.
func TestRows(t *testing.T) {
	list := rows(t)
	for i := range list {
		r := &list[i]
		t.Run(r.Wire+"/"+r.ID, func(t *testing.T) { r.check(t) })
	}
	if !*update {
		return
	}
	var out bytes.Buffer
	for _, r := range list {
		e := json.NewEncoder(&out)
		e.SetEscapeHTML(false)
		if err := e.Encode(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(recorded, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (r *row) check(t *testing.T) {
	w := Named(r.Wire)
	if w == nil {
		t.Fatalf("there is no wire %s", r.Wire)
	}
	if got := recognized(r.Text); (got == w) != r.Shape {
		t.Errorf("recognized as %v", got)
	}
	e, err := w.Read(r.Text, schemas)
	if r.Error != "" {
		if err == nil || !strings.Contains(fmt.Sprint(err, hint(err)), r.Error) {
			t.Errorf("error %v %s, want %q", err, hint(err), r.Error)
		}
		return
	}
	if err != nil || e.Final != r.Final || len(e.Calls) != len(r.Calls) {
		t.Fatalf("read %+v, error %v %s", e, err, hint(err))
	}
	answers := make([]Answer, len(e.Calls))
	for i, c := range e.Calls {
		want := r.Calls[i]
		switch {
		case c.ID != want.ID || c.Name != want.Name:
			t.Errorf("call %d is %q %q, want %q %q", i, c.ID, c.Name, want.ID, want.Name)
		case want.Error != "" && (c.Err == nil || !strings.Contains(c.Err.Error(), want.Error)):
			t.Errorf("call %d: error %v, want %q", i, c.Err, want.Error)
		case want.Error == "" && c.Err != nil:
			t.Errorf("call %d: %v", i, c.Err)
		case want.Error == "" && !equal(c.Arguments, want.Arguments):
			t.Errorf("call %d\n got %s\nwant %s", i, c.Arguments, want.Arguments)
		}
		answers[i] = Answer{Call: c, Text: fmt.Sprintf("result %d", i+1), Failed: c.Err != nil}
	}
	if len(answers) == 0 {
		return
	}
	got := w.Answer(answers, nil)
	if *update {
		r.Answer = got
	}
	if got != r.Answer {
		t.Errorf("answer\n got %s\nwant %s", got, r.Answer)
	}
}

// recognized returns the wire that a text shows to be its own.
func recognized(text string) *Wire {
	if w := Of(text); w != nil {
		return w
	}
	w, _ := OfText(text)
	return w
}

func hint(err error) string {
	if h, ok := err.(interface{ Hint() string }); ok {
		return h.Hint()
	}
	return ""
}

// equal reports whether two values are the same, whatever their order of keys.
func equal(a, b json.RawMessage) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	return string(rawjson.Encode(x)) == string(rawjson.Encode(y))
}

// TestLongAnswers writes texts that are given to encoding/json and such that are not in the
// same way.
func TestLongAnswers(t *testing.T) {
	const text = "a\"\\\x00\t\u2028é\U0001F600<&>\x7f"
	for _, w := range All {
		if w.IsText() {
			continue
		}
		encoded := func(text string) string { b := rawjson.Encode(text); return string(b[1 : len(b)-1]) }
		var short, full []Answer
		for _, n := range []int{1, long, 2, 2 * long} {
			a := Answer{Call: parser.ToolCall{ID: "1", Name: "read"}, Text: fmt.Sprintf("@%d@", n),
				Media: []Media{{Type: "image/png", Name: "a.png", Data: []byte("x")}}}
			short = append(short, a)
			a.Text = strings.Repeat(text, n/len(text)+1)
			full = append(full, a)
		}
		want := w.Answer(short, map[string]any{"more": true})
		for i, a := range full {
			want = strings.Replace(want, short[i].Text, encoded(a.Text), 1)
		}
		if got := w.Answer(full, map[string]any{"more": true}); got != want {
			t.Errorf("%s: %d bytes, want %d", w.Name, len(got), len(want))
		}
	}
}

// TestRoles has calls in messages that are not a model's.
func TestRoles(t *testing.T) {
	const call = `{"id":"1","type":"function","function":{"name":"write_file","arguments":"{}"}}`
	for wire, forms := range map[string][]string{
		"openai": {`{"role":"ROLE","tool_calls":[` + call + `]}`,
			`{"choices":[{"message":{"role":"ROLE","content":null,"tool_calls":[` + call + `]}}]}`},
		"anthropic": {`{"role":"ROLE","content":[{"type":"tool_use","id":"1","name":"write_file","input":{}}]}`},
		"gemini": {`{"role":"ROLE","parts":[{"functionCall":{"name":"write_file","args":{}}}]}`,
			`{"candidates":[{"content":{"role":"ROLE","parts":[{"functionCall":{"name":"write_file","args":{}}}]}}]}`},
		"ollama":    {`{"message":{"role":"ROLE","tool_calls":[{"function":{"name":"write_file","arguments":{}}}]}}`},
		"responses": {`{"role":"ROLE","output":[{"type":"function_call","call_id":"1","name":"write_file","arguments":"{}"}]}`},
		"ai-sdk": {`{"role":"ROLE","content":[{"type":"tool-call","toolCallId":"1","toolName":"write_file","input":{}}]}`,
			`[{"role":"user","content":"go"},{"role":"ROLE","content":[{"type":"tool-call","toolCallId":"1","toolName":"write_file","input":{}}]}]`},
		"langchain": {`{"type":"ai","role":"ROLE","tool_calls":[{"name":"write_file","args":{},"id":"1"}]}`},
	} {
		for _, form := range forms {
			for role, want := range map[string]int{"assistant": 1, "model": 1, "user": 0, "system": 0, "developer": 0,
				"tool": 0, "function": 0} {
				e, err := Named(wire).Read(strings.Replace(form, "ROLE", role, 1), schemas)
				if len(e.Calls) != want || want == 0 && err == nil {
					t.Errorf("%s, %s: read %q, %v", wire, role, e.Calls, err)
				}
			}
		}
	}
}
