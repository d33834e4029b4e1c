package parser_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"textskill/parser"
	"textskill/parser/rawjson"
)

// A row is one line of a recorded corpus, as far as its parse shows in it.
type row struct {
	ID     string
	Prompt any             // of achilles.jsonl; not a string in a few rows
	LLM    json.RawMessage // null when no model was there to be asked
	Plan   json.RawMessage // of filesystem.jsonl: the envelope,
	Raw    string          // or else the model's text
	Result string
	Error  string
	Tags   []string
	Setup  []struct{ Path, Content, Link string }
	After  []struct{ Path, Content string }

	Layer, Class string          // of llm-faults.jsonl
	Reply        json.RawMessage // what the model answered, if it is a string
	Expect       struct{ Tuple []string }
}

func rows(t *testing.T, name string) (all []row) {
	t.Helper()
	f, err := os.Open("../testdata/conformance/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var r row
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all = append(all, r)
	}
	if lines.Err() != nil || len(all) == 0 {
		t.Fatalf("%s: %d rows, %v", name, len(all), lines.Err())
	}
	return all
}

// The rows that the original reads differently from its manual, or unsafely.
var divergentParse = map[string]string{
	"write-quoted-path":              "a quoted path may hold white space",
	"write-destination-then-content": "destination: after writeFile is text",
	"write-destination-on-next-line": "destination: after writeFile is text",
	"write-options-syntax":           "options: with a key is not text",
	"opt-write-quoted":               "options: with a key is not text",
	"write-content-only-newlines":    "content after content: and a line break is exact",
	"write-content-crlf-after-colon": "content after content: and a line break is exact",
	"opt-copy":                       "options: may hold the destination",
	"opt-copy-quoted-space":          "options: may hold the destination",
}

// TestTextCorpus compares what Text makes of each recorded prompt with what the
// row shows of the original's parse: the path and destination in its answer, the
// operation in its refusal, the content in the file it wrote.
func TestTextCorpus(t *testing.T) {
	used := map[string]bool{}
	for _, r := range rows(t, "achilles.jsonl") {
		prompt, isText := r.Prompt.(string)
		if !isText || string(r.LLM) != "null" {
			continue
		}
		c := parser.Text(prompt)
		problem := compareCommand(r, c)
		if divergentParse[r.ID] != "" || strings.Join(r.Tags, "") == "indexof-bug" {
			used[r.ID] = problem != ""
			continue
		}
		if problem != "" {
			t.Errorf("%s: %s\nText(%q)\n got %+v\nthe original answered %s%s", r.ID, problem, prompt,
				c, r.Result, r.Error)
		}
	}
	for id := range divergentParse {
		if !used[id] {
			t.Errorf("%s is listed as a divergence and is none", id)
		}
	}
}

func compareCommand(r row, c parser.Command) (problem string) {
	destination := ""
	if c.Operation == "copyFile" || c.Operation == "moveFile" {
		destination, _ = c.Destination()
	}
	want := ""
	switch {
	case r.Prompt == "":
		want = "No input provided for file-system operation"
	case c.Operation == "":
		want = "Unknown operation: undefined"
	case strings.HasPrefix(r.Error, "Unknown operation: "):
		want = "Unknown operation: " + c.Operation
	case strings.HasPrefix(r.Error, "Destination required for ") && destination == "":
		want = "Destination required for " + c.Operation
	case r.Error != "":
		return comparePaths(r.Error, c.Path, destination)
	case c.Operation == "writeFile" || c.Operation == "appendFile":
		return compareContent(r, c)
	case !strings.Contains(r.Result, rooted(c.Path)) || !strings.Contains(r.Result, rooted(destination)):
		return "the answer names other paths"
	}
	if r.Error != want {
		return "want the answer " + want
	}
	return ""
}

// rooted is the path that the originals print for name, "" for none.
func rooted(name string) string {
	switch {
	case name == "":
		return ""
	case path.IsAbs(name), strings.HasPrefix(name, "${"):
		return path.Clean(name)
	}
	return path.Join("${ROOT}", name)
}

var quotedPath = regexp.MustCompile(`'((?:\$\{ROOT\}|/)[^']*)'`)

// comparePaths wants every path that a refusal quotes to be from or to, or a
// folder above from.
func comparePaths(refusal, from, to string) (problem string) {
	refusal = strings.ReplaceAll(refusal, `\x00`, "\x00")
	for _, m := range quotedPath.FindAllStringSubmatch(refusal, -1) {
		name := m[1]
		above := strings.HasPrefix(rooted(from), name+"/")
		outside := strings.HasPrefix(rooted(from), "../") && strings.HasSuffix(from, ".."+name)
		if name != rooted(from) && name != rooted(to) && !above && !outside {
			return "the answer names " + name
		}
	}
	if quotedPath.MatchString(refusal) || strings.HasSuffix(refusal, ", read") {
		return ""
	}
	return "the answer is " + refusal
}

// compareContent wants the command's content in the file that was written.
func compareContent(r row, c parser.Command) (problem string) {
	content, ok := c.Content()
	if !ok {
		content = c.Payload
	}
	name := rooted(c.Path)
	for _, f := range r.Setup {
		if f.Link != "" && rooted(f.Path) == name {
			name = rooted(f.Link)
		}
	}
	for _, f := range r.Setup {
		if c.Operation == "appendFile" && rooted(f.Path) == name {
			content = f.Content + content
		}
	}
	for _, f := range r.After {
		if rooted(f.Path) == name && f.Content == content {
			return ""
		}
	}
	return name + " does not hold " + content
}

// The recorded calls that the strict shape refuses, by row, and why.
var refusedCalls = map[string]string{
	"env-wrong-2-bare-type":                          `type must be "function", got "read_file"`,
	"env-no-type":                                    `type must be "function", got nothing`,
	"env-no-name-plus-good":                          "function.name must be a string that is not blank, got nothing",
	"env-flat-name-args":                             `type must be "function", got nothing`,
	"env-tool_calls-non-dict-items":                  "a call must be an object, got a string",
	"env-toolcalls-mcp_call-type":                    `type must be "function", got "mcp_call"`,
	"args-empty-string":                              "function.arguments is empty, want a JSON string that holds an object",
	"args-null-json":                                 "function.arguments must hold an object, got null",
	"args-array-json":                                "function.arguments must hold an object, got an array",
	"args-string-json":                               "function.arguments must hold an object, got a string",
	"args-number-json":                               "function.arguments must hold an object, got a number",
	"args-truncated":                                 "function.arguments: the JSON is cut off before its end (byte 15)",
	"delete-malformed-arguments-deletes-working-dir": "function.arguments: the JSON is cut off before its end (byte 15)",
	"args-nan":                                       "function.arguments: the JSON is not valid and has no single repair (byte 23): unexpected 'N' where a value must stand",
	"args-bom":                                       "function.arguments: the JSON is not valid and has no single repair (byte 0): unexpected '\\ufeff' where a value must stand",
}

// Envelopes that the original ran or read otherwise.
var divergentEnvelope = map[string]string{
	"env-wrong-1-ops":          "key `ops`, `working_dir` is not `tool_calls`",
	"env-ops-action-key":       "key `ops`, `working_dir` is not `tool_calls`",
	"env-ops-mcp_call-wrapper": "key `ops`, `working_dir` is not `tool_calls`",
	"raw-trailing-comma":       "",
}

// TestToolCallsCorpus reads every recorded plan and model text. One that the
// original refused is refused; of every other each call is well formed and has
// the arguments that were sent, unless it is listed above.
func TestToolCallsCorpus(t *testing.T) {
	for _, r := range rows(t, "filesystem.jsonl") {
		text := string(r.Plan)
		if r.Plan == nil {
			text = r.Raw
		}
		e, err := parser.ToolCalls(text)
		hint, diverges := divergentEnvelope[r.ID]
		if refused := r.Result == "ERR: no tool_calls provided"; refused != (err != nil) && !diverges {
			t.Errorf("%s: %v, and the original answered %s", r.ID, err, r.Result)
		}
		if wrong, ok := errors.AsType[*parser.SyntaxError](err); diverges && ok != (hint != "") || ok &&
			!strings.HasPrefix(wrong.Hint(), hint) {
			t.Errorf("%s: %v, want hint %s", r.ID, err, hint)
		}
		got := ""
		for _, call := range e.Calls {
			if call.Err != nil && got == "" {
				got = call.Err.Error()
			}
			if call.Err == nil && !strings.Contains(text, quoteJSON(t, string(call.Arguments))) {
				t.Errorf("%s: arguments %s were not sent", r.ID, call.Arguments)
			}
		}
		if got != refusedCalls[r.ID] {
			t.Errorf("%s:\n got %s\nwant %s", r.ID, got, refusedCalls[r.ID])
		}
		if len(e.Repairs) > 0 && !diverges && r.ID != "raw-two-objects" {
			t.Errorf("%s: repaired: %q", r.ID, e.Repairs)
		}
	}
}

// quoteJSON is text as it stands between the quotes of a JSON string.
func quoteJSON(t *testing.T, text string) string {
	t.Helper()
	b, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(b[1 : len(b)-1])
}

// The recorded answers of models whose value is not the one value meant.
var undecodable = map[string]error{
	"m07": rawjson.ErrSyntax, "m11": rawjson.ErrSyntax, "m12": rawjson.ErrTruncated,
	"m13": rawjson.ErrTruncated,
	"m26": rawjson.ErrSeveralValues, "m30": rawjson.ErrNoJSON, "m39": rawjson.ErrNoJSON,
	"m45": rawjson.ErrTruncated,
}

// TestDecodeCorpus decodes what models answered. Where the row expects the
// answer to be accepted, path, content and destination must be those it names.
func TestDecodeCorpus(t *testing.T) {
	names := []string{"operation", "path", "content", "destination"}
	for _, r := range rows(t, "llm-faults.jsonl") {
		var text string
		if r.Layer != "model" || json.Unmarshal(r.Reply, &text) != nil {
			continue
		}
		value, repairs, err := rawjson.Decode(text, names...)
		if !errors.Is(err, undecodable[r.ID]) || err != nil && undecodable[r.ID] == nil {
			t.Errorf("%s: Decode(%q) = %s %v, want %v", r.ID, text, value, err, undecodable[r.ID])
		}
		if r.Class == "clean" && repairs != nil {
			t.Errorf("%s: repaired: %q", r.ID, repairs)
		}
		encoded, _ := rawjson.String(value)
		if inner, _, err := rawjson.Decode(encoded, names...); err == nil {
			value = inner
		}
		members, twice, ok := rawjson.Members(value)
		if (twice != "") != (r.Class == "duplicate_keys") {
			t.Errorf("%s: key %q is reported as given twice", r.ID, twice)
		}
		for i := 1; ok && members["path"] != nil && len(r.Expect.Tuple) == 4 && i < 4; i++ {
			var got string
			if raw := members[names[i]]; raw != nil && json.Unmarshal(raw, &got) != nil {
				t.Errorf("%s: %s is %s", r.ID, names[i], raw)
			}
			if got != r.Expect.Tuple[i] && r.Class != "literal_null_string" {
				t.Errorf("%s: %s is %q, want %q", r.ID, names[i], got, r.Expect.Tuple[i])
			}
		}
	}
}
