package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"textskill/parser/wire"
)

// TestConformanceFilesystem replays what the original did with tool_calls. The
// original read without final newlines and with LF for every line end (rule F3),
// answered other programs under headers (rule F2), and showed no difference in a
// dry run (rule F4): all are made alike before comparing, for all rows. Searches are
// sorted (rule F5).
func TestConformanceFilesystem(t *testing.T) {
	listed := divergences(t, "filesystem")
	var r replay
	for _, row := range readRows[conformanceRow](t, "filesystem.jsonl") {
		want := wantedMessages{row: row, result: row.Result, failure: row.Error}
		d, diverges := listed[row.ID]
		delete(listed, row.ID)
		if diverges {
			want.result, want.failure = d.Result, d.Error
			if d.After != nil {
				row.After = d.After
			}
		} else if strings.HasPrefix(value(row.Result), "ERR: ") {
			want.result, want.failure = nil, row.Result
		}
		if row.Final != nil {
			want.result = row.Final
		}
		t.Run(row.ID, func(t *testing.T) {
			o, dir := replayEnvelope(t, row)
			want.tree = treeLines(t, row.After, dir)
			want.files = readable(t, row.Setup, row.After)
			r.judge(t, o, false, want.faults)
			if t.Failed() {
				t.Logf("plan %s raw %q note %s", row.Plan, value(row.Raw), d.Note)
			}
		})
	}
	r.finish(t, "every ID is x", "numbers are too large", "numbers are texts", "true and false are swapped")
	for id := range listed {
		t.Errorf("divergence %s names no row", id)
	}
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// readable returns the texts that the files of a row have before or after it. Files
// whose text is not UTF-8 are shown with U+FFFD.
func readable(t *testing.T, trees ...[]fixture) map[string]bool {
	texts := map[string]bool{}
	for _, files := range trees {
		for _, f := range files {
			if !f.Dir && f.Link == "" {
				texts[string([]rune(string(f.bytes(t))))] = true
			}
		}
	}
	return texts
}

var dirSize = regexp.MustCompile(`(is_dir: True\\nsize: )\d+`)

// replayEnvelope gives the row's envelope to the program.
func replayEnvelope(t *testing.T, row conformanceRow) (o outcome, dir string) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", filepath.Join(dir, "home"))
	build(t, dir, row.Setup)
	args := []string{"--tools", "filesystem", "-C", dir}
	if i := slices.IndexFunc(row.After, func(f fixture) bool { return f.Path == "ws" }); i >= 0 {
		// Without a working_dir the original made a workspace of its own.
		ws := filepath.Join(dir, "ws")
		if err := os.MkdirAll(ws, 0o755); err != nil {
			t.Fatal(err)
		}
		args = []string{"--tools", "filesystem", "-C", ws, "--allow", dir}
	}
	prompt := string(row.Plan)
	if row.Raw != nil {
		prompt = *row.Raw
	}
	o.stdout, o.stderr, o.exit = play(t, new(cli), strings.ReplaceAll(prompt, "${ROOT}", dir), args...)
	mask := strings.NewReplacer(dir, "${ROOT}", filepath.Dir(dir), "${PARENT}")
	// as recorded; file systems differ
	o.stdout = dirSize.ReplaceAllString(mask.Replace(o.stdout), "${1}4096")
	o.stderr = cutOff.ReplaceAllString(mask.Replace(o.stderr), "${1}N")
	o.tree = snapshot(t, dir)
	return o, dir
}

var cutOff = regexp.MustCompile(`(cut off before its end \(byte )\d+`)

// wantedMessages is what an envelope has to be answered and to leave: the contents
// joined by LF, or the failure of the whole envelope.
type wantedMessages struct {
	row             conformanceRow
	result, failure *string
	tree            []string
	files           map[string]bool
}

// failedCall matches the content that answers a call that failed.
var failedCall = regexp.MustCompile(`^(\S+ )?ERR: |^unknown op_type: `)

// envelopeHints say why a text is not an envelope of calls.
var envelopeHints = []string{
	"the object is empty", "the text is empty", "the top level is an array",
	"key `result` is not `tool_calls`",
	"key `ops`, `working_dir` is not `tool_calls`",
	"the JSON is cut off before its end (byte N), so nothing of it was run",
}

func (w wantedMessages) faults(o outcome) (bad []string) {
	bad = treeFaults(o.tree, w.tree)
	switch {
	case w.failure != nil:
		line, hint, _ := strings.Cut(o.stderr, "\n")
		bad = append(bad, differs("stderr", line, "skill: "+*w.failure)...)
		if !slices.Contains(envelopeHints,
			strings.TrimSuffix(hint, "; want {\"tool_calls\":[…]} or {\"final\":\"…\"}\n")) {
			bad = append(bad, fmt.Sprintf("stderr has the hint %q", hint))
		}
		bad = append(bad, differs("stdout", o.stdout, "")...)
		return append(bad, differs("exit", o.exit, 1)...)
	case len(w.planned()) == 0:
		bad = append(bad, differs("stdout", o.stdout, *w.result+"\n")...)
		bad = append(bad, differs("stderr", o.stderr, w.repairs())...)
		return append(bad, differs("exit", o.exit, 0)...)
	}
	var answer struct{ Messages []wire.ToolMessage }
	d := json.NewDecoder(strings.NewReader(o.stdout))
	d.DisallowUnknownFields()
	if err := d.Decode(&answer); err != nil || strings.Index(o.stdout, "\n") != len(o.stdout)-1 {
		return append(bad, fmt.Sprintf("stdout is not one line of messages: %v\n%q %q", err,
			o.stdout, o.stderr))
	}
	bad = append(bad, w.messageFaults(answer.Messages)...)
	exit := 0
	for _, m := range answer.Messages {
		if failedCall.MatchString(m.Content) {
			exit = 1
		}
	}
	bad = append(bad, differs("stderr", o.stderr, w.repairs())...)
	return append(bad, differs("exit", o.exit, exit)...)
}

// repairs is the line that says how an envelope was repaired (rule F8).
func (w wantedMessages) repairs() string {
	switch {
	case w.row.ID == "raw-trailing-comma":
		return "skill: repaired: trailing comma removed\n"
	case w.row.ID == "raw-two-objects":
		return "skill: repaired: other JSON values ignored\n"
	}
	return ""
}

// planned returns the calls of the row's envelope.
func (w wantedMessages) planned() (calls []plannedCall) {
	var plan struct {
		Calls []json.RawMessage `json:"tool_calls"`
	}
	text := string(w.row.Plan)
	if w.row.Raw != nil {
		text = *w.row.Raw
	}
	json.NewDecoder(strings.NewReader(text)).Decode(&plan)
	for _, raw := range plan.Calls {
		var call plannedCall
		json.Unmarshal(raw, &call)
		calls = append(calls, call)
	}
	return calls
}

type plannedCall struct {
	ID       any
	Function struct{ Name, Arguments string }
}

// messageFaults compares messages with the calls, and the original's one string.
func (w wantedMessages) messageFaults(messages []wire.ToolMessage) (bad []string) {
	calls := w.planned()
	if len(messages) != len(calls) {
		return []string{fmt.Sprintf("%d messages for %d calls", len(messages), len(calls))}
	}
	texts := make([]string, len(messages))
	for i, m := range messages {
		name, arguments := calls[i].Function.Name, calls[i].Function.Arguments
		id, _ := calls[i].ID.(string)
		bad = append(bad, differs("tool_call_id", m.ToolCallID, id)...)
		bad = append(bad, differs("role", m.Role, "tool")...)
		texts[i] = m.Content
		switch line, diff, _ := strings.Cut(m.Content, "\n"); {
		case strings.HasPrefix(line, "edit_file DRY_RUN: "):
			texts[i] = line
			bad = append(bad, diffFaults(diff, arguments)...)
		case strings.Contains(m.Content, " ERR: "):
		case whole(name, arguments):
			if !w.files[m.Content] {
				bad = append(bad, fmt.Sprintf("read_file answers what no file holds: %q", m.Content))
			}
			texts[i] = strings.Join(splitLines(m.Content), "\n")
		case strings.EqualFold(name, "search_files") && !slices.IsSorted(strings.Split(m.Content, "\n")):
			bad = append(bad, fmt.Sprintf("search_files is not sorted: %q", m.Content))
		}
		if w.row.Via == "bridge" {
			texts[i] = "[op#" + strconv.Itoa(i+1) + ":" + name + "]\n" + texts[i]
		}
	}
	separator := "\n"
	if w.row.Via == "bridge" {
		separator = "\n\n"
	}
	got, want := strings.Join(texts, separator), value(w.result)
	if w.row.Unordered {
		got, want = sortedLines(got), sortedLines(want)
	}
	return append(bad, differs("result", got, want)...)
}

// diffFaults compares a dry run's diff with the edit that it is of.
func diffFaults(diff, arguments string) []string {
	var edit struct {
		Old string `json:"old_text"`
		New string `json:"new_text"`
	}
	json.Unmarshal([]byte(arguments), &edit)
	for _, part := range []string{"--- ", "\n+++ ", "\n@@ ", "\n-" + edit.Old, "\n+" + edit.New} {
		if !strings.Contains(diff, part) {
			return []string{fmt.Sprintf("the diff has no %q: %q", part, diff)}
		}
	}
	return nil
}

func sortedLines(s string) string {
	lines := strings.Split(s, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// whole reports whether a call reads a whole file.
func whole(name, arguments string) bool {
	var args struct{ Head, Tail any }
	json.Unmarshal([]byte(arguments), &args)
	isNumber := func(v any) bool {
		switch v := v.(type) {
		case float64:
			return v == float64(int(v))
		case bool:
			return true
		}
		return false
	}
	return strings.EqualFold(name, "read_file") && !isNumber(args.Head) && !isNumber(args.Tail)
}

// splitLines splits where Python's str.splitlines does.
func splitLines(s string) (lines []string) {
	for s != "" {
		i := strings.IndexFunc(s, func(r rune) bool {
			return r >= '\n' && r <= '\r' || r >= 0x1c &&
				r <= 0x1e || r == 0x85 || r == 0x2028 || r == 0x2029
		})
		if i < 0 {
			return append(lines, s)
		}
		lines = append(lines, s[:i])
		_, size := utf8.DecodeRuneInString(s[i:])
		if strings.HasPrefix(s[i:], "\r\n") {
			size = 2
		}
		s = s[i+size:]
	}
	return lines
}
