package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"textskill/parser"
)

// TestConformanceAchilles replays what the original did with text commands, with --json
// and without. Words that belong to the JavaScript runtime are compared by their code
// (rule A6).
func TestConformanceAchilles(t *testing.T) {
	listed := divergences(t, "achilles")
	var r replay
	for _, row := range readRows[conformanceRow](t, "achilles.jsonl") {
		want := wantedCommand{result: row.Result, failure: row.Error, code: row.ErrorCode}
		if d, ok := listed[row.ID]; ok {
			delete(listed, row.ID)
			want = wantedCommand{result: d.Result, failure: d.Error, anyCode: true}
			if d.After != nil {
				row.After = d.After
			}
		}
		t.Run(row.ID, func(t *testing.T) {
			o, dir := replayCommand(t, row, "--json")
			want.operation = firstWord(jsString(t, row.Prompt))
			want.asked = string(row.LLM) != "null"
			want.tree = treeLines(t, row.After, dir)
			r.judge(t, o, want.loose(), want.faultsJSON)
			want.hint = hintOf(o)
			o, dir = replayCommand(t, row)
			want.tree = treeLines(t, row.After, dir)
			r.judge(t, o, !want.words(), want.faultsText)
			if t.Failed() {
				t.Logf("prompt %s llm %s", row.Prompt, row.LLM)
			}
		})
	}
	r.finish(t, "every call ID is x", "every ID is x", "a dry run shows no diff", "a diff has no hunks")
	for id := range listed {
		t.Errorf("divergence %s names no row", id)
	}
}

// A wantedCommand is what a text command has to be answered and to leave. Either the
// result or the failure is not nil.
type wantedCommand struct {
	result, failure *string
	code            string
	anyCode         bool   // the code is not recorded
	operation       string // the first word
	asked           bool   // a model may be asked, and say what the operation is
	hint            string // what follows the failure as text
	tree            []string
}

// words reports whether the failure is compared by its words.
func (w wantedCommand) words() bool { return !strings.HasPrefix(w.code, "ERR_") }

// badValue are our words for the runtime's TypeErrors.
var badValue = regexp.MustCompile(`holds a NUL byte|must be a string, not `)

func (w wantedCommand) faultsText(o outcome) (bad []string) {
	stdout, stderr, exit := "", "", 0
	if w.result != nil {
		stdout = *w.result + "\n"
	} else {
		stderr, exit = "skill: "+*w.failure+"\n"+w.hint, 1
	}
	if !w.words() && strings.Index(o.stderr, "\n") == len(o.stderr)-1 && badValue.MatchString(o.stderr) {
		stderr = o.stderr
	}
	bad = append(bad, differs("stdout", o.stdout, stdout)...)
	bad = append(bad, differs("stderr", o.stderr, stderr)...)
	bad = append(bad, differs("exit", o.exit, exit)...)
	return append(bad, treeFaults(o.tree, w.tree)...)
}

func (w wantedCommand) faultsJSON(o outcome) (bad []string) {
	var got struct {
		OK                                        *bool
		Operation, Result, Error, Code, Via, Undo *string
		Hint, Cause                               *string
		Data                                      any
	}
	d := json.NewDecoder(strings.NewReader(o.stdout))
	d.DisallowUnknownFields()
	if err := d.Decode(&got); err != nil || strings.Index(o.stdout, "\n") != len(o.stdout)-1 {
		return []string{fmt.Sprintf("stdout is not one line of JSON: %v\n%s", err, o.stdout)}
	}
	if !w.words() && badValue.MatchString(value(got.Error)) {
		w.failure = got.Error
	}
	exit := 0
	if w.failure != nil {
		exit = 1
	}
	if !w.anyCode && w.failure != nil {
		bad = append(bad, differs("code", value(got.Code), w.code)...)
	}
	bad = append(bad, differs("ok", fmt.Sprint(got.OK != nil, got.OK != nil && *got.OK),
		fmt.Sprint(true, exit == 0))...)
	bad = append(bad, differs("result", shown(got.Result), shown(w.result))...)
	bad = append(bad, differs("error", shown(got.Error), shown(w.failure))...)
	bad = append(bad, differs("exit", o.exit, exit)...)
	bad = append(bad, differs("stderr", o.stderr, "")...)
	if w.result != nil {
		bad = append(bad, w.dataFaults(value(got.Operation), got.Data)...)
	} else if !w.asked {
		bad = append(bad, differs("operation", value(got.Operation), w.operation)...)
	}
	return append(bad, treeFaults(o.tree, w.tree)...)
}

func shown(s *string) string {
	if s == nil {
		return "none"
	}
	return strconv.Quote(*s)
}

var commandSentence = regexp.MustCompile(`(?s)^(Read|Wrote|Appended content|Deleted|Created directory|Listed entries|Checked file existence|Copied|Moved)(?: file)? (?:at|from) (.*?)(?: to (.*?))?(?: successfully(?:: (.*))?|: (true|false))\.$`)

// commandNames are the operations that the sentences are about.
var commandNames = map[string]string{"Read": "readFile", "Wrote": "writeFile",
	"Appended content": "appendFile", "Deleted": "deleteFile",
	"Created directory": "createDirectory", "Listed entries": "listDirectory",
	"Checked file existence": "fileExists", "Copied": "copyFile", "Moved": "moveFile"}

// dataFaults compares what stands beside a sentence with the sentence and the tree.
func (w wantedCommand) dataFaults(operation string, got any) []string {
	m := commandSentence.FindStringSubmatch(*w.result)
	if m == nil {
		return []string{"no sentence: " + *w.result}
	}
	data, _ := got.(map[string]any)
	want := map[string]any{"path": m[2]}
	asGiven := func(keys ...string) { // what only the program knows
		for _, key := range keys {
			if v, ok := data[key]; ok {
				want[key] = v
			}
		}
	}
	switch m[1] {
	case "Read":
		if content, ok := w.file(m[2]); ok {
			want["content"], want["size"] = content, float64(len(content))
		} else {
			asGiven("content", "content_base64", "size")
		}
	case "Listed entries":
		var entries any
		json.Unmarshal([]byte(m[4]), &entries)
		want["entries"] = entries
	case "Checked file existence":
		want["exists"] = m[5] == "true"
		asGiven("folder", "size", "modified")
	default:
		want["applied"] = true
		if m[3] != "" {
			want["from"], want["path"] = m[2], m[3]
		}
		asGiven("bytes")
	}
	bad := differs("operation", operation, commandNames[m[1]])
	if !reflect.DeepEqual(data, want) {
		bad = append(bad, fmt.Sprintf("data\n got %v\nwant %v", data, want))
	}
	return bad
}

// file returns the content of a regular file of the tree. A link on the path is an error.
func (w wantedCommand) file(path string) (content string, ok bool) {
	name := strconv.Quote(strings.TrimPrefix(path, "${ROOT}/"))
	for _, line := range w.tree {
		rest, ok := strings.CutPrefix(line, name+" ")
		_, quoted, _ := strings.Cut(rest, " ")
		if content, err := strconv.Unquote(quoted); ok && err == nil {
			return content, utf8.ValidString(content)
		}
	}
	return "", false
}

// loose reports whether the JSON is compared only in part: what a model made of the
// prompt, what is read through a link, and sizes and times.
func (w wantedCommand) loose() bool {
	return w.asked || !w.words() ||
		w.code == "EISDIR" || w.result != nil &&
		!strings.HasPrefix(*w.result, "Listed")
}

// firstWord returns the word that a text command has to begin with.
func firstWord(prompt string) string {
	return parser.Text(prompt).Operation
}

// hintOf returns the hint of a JSON answer as a line.
func hintOf(o outcome) string {
	var got struct{ Hint string }
	json.Unmarshal([]byte(o.stdout), &got)
	if got.Hint == "" {
		return ""
	}
	return got.Hint + "\n"
}

func replayCommand(t *testing.T, row conformanceRow, flags ...string) (o outcome, dir string) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	build(t, dir, row.Setup)
	c := &cli{}
	args := append([]string{"--tools", "achilles", "-C", dir, "--fallback", "none"}, flags...)
	agent := rowAgent(t, row, dir)
	if agent != nil {
		c.agent = agent
		args = append(args, "--fallback", "llm", "--trust-llm")
	}
	prompt := strings.ReplaceAll(jsString(t, row.Prompt), "${ROOT}", dir)
	o.stdout, o.stderr, o.exit = play(t, c, prompt, args...)
	mask := strings.NewReplacer(dir, "${ROOT}", filepath.Dir(dir), "${PARENT}")
	o.stdout, o.stderr, o.tree = mask.Replace(o.stdout), mask.Replace(o.stderr), snapshot(t, dir)
	if agent == nil {
		return o, dir
	}
	if len(agent.prompts) != len(row.LLMCalls) {
		t.Errorf("%d requests, want %d", len(agent.prompts), len(row.LLMCalls))
	}
	for _, p := range agent.prompts {
		if !strings.HasSuffix(p, "\nPrompt: "+prompt) {
			t.Errorf("asked %q, want it to end in the prompt %q", p, prompt)
		}
	}
	return o, dir
}

// jsString is what JavaScript makes of a prompt that need not be a string.
func jsString(t *testing.T, raw json.RawMessage) string {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	switch v := v.(type) {
	case string:
		return v
	case nil, bool:
		return "" // null and false are no input
	}
	return string(raw)
}

// rowAgent answers as the row's model does, nil where the row has none.
func rowAgent(t *testing.T, row conformanceRow, dir string) *scriptedAgent {
	if len(row.LLM) == 0 || string(row.LLM) == "null" {
		return nil
	}
	text := strings.ReplaceAll(string(row.LLM), "${ROOT}", dir)
	if strings.HasPrefix(text, "[") {
		return &scriptedAgent{replies: []string{text}}
	}
	var other struct {
		Raw        *string
		Throw      *string
		Native     json.RawMessage
		NoComplete bool `json:"no_complete"`
	}
	if err := json.Unmarshal([]byte(text), &other); err != nil {
		t.Fatal(err)
	}
	switch {
	case other.Raw != nil:
		return &scriptedAgent{replies: []string{*other.Raw}}
	case other.Throw != nil:
		return &scriptedAgent{err: errors.New(*other.Throw)}
	case other.Native != nil:
		return &scriptedAgent{replies: []string{string(other.Native)}}
	}
	return nil
}
