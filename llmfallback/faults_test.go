package llmfallback

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

// A faultRow is one line of llm-faults.jsonl: what a model or an endpoint
// answers, and how that has to end.
type faultRow struct {
	ID, Layer, Class, Prompt, Via string
	Reply                         json.RawMessage
	FinishReason                  string `json:"finish_reason"`
	Status                        int
	Headers                       map[string]string
	Body                          string
	Expect                        struct {
		Outcome string
		Tuple   []string
	}
}

const createNotes = "please create a file called notes.txt with content hello"

const goodAnswer = `{"operation":"writeFile","path":"notes.txt","content":"hello","destination":null}`

// corrected are the answers that a second question gets.
var corrected = map[string]string{
	createNotes: goodAnswer,
	"create notes.txt with content it's here": `{"operation":"writeFile","path":"notes.txt","content":"it's here","destination":null}`,
	"create n.py with content print(\"hi\")":  `{"operation":"writeFile","path":"n.py","content":"print(\"hi\")","destination":null}`,
	"get rid of notes.txt":                    `{"operation":"deleteFile","path":"notes.txt","content":null,"destination":null}`,
	"read a.txt":                              `{"operation":"readFile","path":"a.txt","content":null,"destination":null}`,
}

func faults(t *testing.T) []faultRow {
	f, err := os.Open("../testdata/conformance/llm-faults.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var rows []faultRow
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var row faultRow
		if err := json.Unmarshal(in.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	if in.Err() != nil || len(rows) < 78 {
		t.Fatalf("%d rows, %v", len(rows), in.Err())
	}
	return rows
}

// step is the answer that the row describes.
func (row *faultRow) step(t *testing.T) step {
	if row.Layer == "http" {
		return step{row.Status, row.Headers, row.Body}
	}
	call := func(arguments any) map[string]any {
		return map[string]any{"id": "c", "type": "function",
			"function": map[string]any{"name": "file_operation", "arguments": arguments}}
	}
	var reply any
	if err := json.Unmarshal(row.Reply, &reply); err != nil {
		t.Fatal(err)
	}
	switch row.Via {
	case "content", "reasoning_content":
		return completion(map[string]any{row.Via: reply}, row.FinishReason)
	case "refusal":
		return completion(reply.(map[string]any), row.FinishReason)
	case "tool_arguments":
		return completion(map[string]any{"tool_calls": []any{call(reply)}}, row.FinishReason)
	case "tool_arguments[]":
		var calls []any
		for _, arguments := range reply.([]any) {
			calls = append(calls, call(arguments))
		}
		return completion(map[string]any{"tool_calls": calls}, row.FinishReason)
	}
	t.Fatalf("a reply via %q", row.Via)
	return step{}
}

func TestFaults(t *testing.T) {
	for _, row := range faults(t) {
		t.Run(row.ID+"_"+row.Class, func(t *testing.T) {
			if row.Layer == "http" {
				row.Prompt, row.Expect.Tuple = createNotes, []string{"writeFile", "notes.txt", "hello", ""}
			}
			first, second := row.step(t), says(corrected[row.Prompt])
			switch row.Expect.Outcome {
			case "reask", "rung_down", "retry_wait":
				row.ends(t, []step{first, second}, true)
				if row.Class != "loading" { // TestLoading has a model that never loads
					row.ends(t, []step{first, first, first}, false)
				}
			default:
				row.ends(t, []step{first}, true)
			}
		})
	}
}

// ends runs the row against a script. With helped the last answer of the script
// is a good one; else the fault repeats itself.
func (row *faultRow) ends(t *testing.T, script []step, helped bool) {
	t.Helper()
	f, c := newFake(t, script...), newClock()
	x := f.asking(t, c, func(config *Config) {
		if strings.HasPrefix(row.Body, "@d") {
			config.Model.Timeout = time.Second
		}
		if row.Class == "forced_tool_answered_as_text" {
			config.Model.Rung = rungTool
		}
	})
	got, err := x.Extract(t.Context(), row.Prompt)
	seen, tel := f.requests(), got.Telemetry
	row.leaksNothing(t, seen, err, tel)
	want := map[string]int{"reask": 2, "rung_down": 2, "retry_wait": 2}[row.Expect.Outcome]
	if row.Expect.Outcome == "rung_down" && !helped && len(seen) == 3 { // there is a rung below the next
		want = 3
	}
	if len(seen) != max(want, 1) || tel.Attempts != len(seen) {
		t.Errorf("%d requests, %d attempts, want %d", len(seen), tel.Attempts, want)
	}
	switch outcome := row.Expect.Outcome; {
	case !helped || outcome == "fail":
		_, asks := errors.AsType[*ConfirmError](err)
		if err == nil || !asks && tel.Outcome != "fail" || got.Extraction != (Extraction{}) {
			t.Errorf("%+v, %v, want a failure", got, err)
		}
		return
	case outcome == "confirm":
		if _, ok := errors.AsType[*ConfirmError](err); !ok || tel.Outcome != outcome ||
			got.Extraction != (Extraction{}) {
			t.Errorf("%+v, %v, want a question", got, err)
		}
		return
	case outcome == "clarify":
		if err != nil || tel.Outcome != outcome || !got.incomplete() {
			t.Errorf("%+v, %v, want an incomplete operation", got, err)
		}
		return
	case outcome == "accept" || outcome == "repair_accept":
		if tel.Outcome != outcome {
			t.Errorf("%s with repairs %q, want %s", tel.Outcome, tel.Repairs, outcome)
		}
	case outcome == "reask":
		if tel.Reasks != 1 || !strings.Contains(seen[1].raw, "cannot be used") {
			t.Errorf("%d questions asked again: %s", tel.Reasks, seen[1].raw)
		}
		row.Expect.Tuple = answered4(t, corrected[row.Prompt])
	case outcome == "rung_down":
		if tel.RungMoves != 1 || seen[0].raw == seen[1].raw {
			t.Errorf("%d moves, second request %s", tel.RungMoves, seen[1].raw)
		}
	case outcome == "retry_wait":
		if tel.Retries+tel.Waits != 1 || len(c.slept) != 1 || seen[0].raw != seen[1].raw {
			t.Errorf("%d retries after %v", tel.Retries, c.slept)
		}
	default:
		t.Fatalf("outcome %q is unknown", outcome)
	}
	tuple := []string{got.Operation, got.Path, got.Content, got.Destination}
	if err != nil || strings.Join(tuple, "\x00") != strings.Join(row.Expect.Tuple, "\x00") {
		t.Errorf("%q, %v, want %q", tuple, err, row.Expect.Tuple)
	}
}

func answered4(t *testing.T, answer string) []string {
	e, _, err := decodeAnswer(answer)
	if err != nil {
		t.Fatal(err)
	}
	return []string{e.Operation, e.Path, e.Content, e.Destination}
}

// leaksNothing checks what left the machine, and what is said of it.
func (row *faultRow) leaksNothing(t *testing.T, seen []sent, err error, tel Telemetry) {
	t.Helper()
	dir, _ := os.Getwd()
	for _, s := range seen {
		if s.header.Get("Authorization") != "Bearer "+testKey || strings.Contains(s.raw, testKey) {
			t.Errorf("the key is not where it belongs: %v %s", s.header, s.raw)
		}
		if strings.Contains(s.raw, dir) {
			t.Errorf("the workspace is named: %s", s.raw)
		}
	}
	said := tel.String()
	if _, asks := errors.AsType[*ConfirmError](err); err != nil && !asks { // which names the text to type
		said += err.Error()
	}
	for _, secret := range []string{testKey, "sk-abcd", "hello", "Bad Gateway", "Sign in", row.Prompt} {
		if strings.Contains(said, secret) {
			t.Errorf("%q is told in %q", secret, said)
		}
	}
}
