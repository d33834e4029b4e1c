package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"textskill/skill/dialect"
)

// TestConformanceFilesystem replays what the original did with tool_calls. The
// original read without final newlines and with LF for every line end (rule F3),
// answered other programs under headers (rule F2), and showed no difference in a
// dry run (rule F4): all are made alike before comparing, for all rows.
func TestConformanceFilesystem(t *testing.T) {
	listed := divergences(t, "filesystem")
	for _, row := range readRows[conformanceRow](t, "filesystem.jsonl") {
		d, diverges := listed[row.ID]
		delete(listed, row.ID)
		t.Run(row.ID, func(t *testing.T) {
			got, gotErr, dir := replayEnvelope(t, row)
			want, wantErr, after := row.Result, row.Error, row.After
			if diverges {
				want, wantErr = d.Result, d.Error
				if d.After != nil {
					after = d.After
				}
			} else if strings.HasPrefix(value(want), "ERR: ") {
				want, wantErr = nil, want
			}
			if row.Final != nil {
				want = row.Final
			}
			if row.Unordered {
				got, want = sortedLines(got), sortedLines(want)
			}
			same(t, "result", got, want)
			same(t, "error", gotErr, wantErr)
			checkTree(t, dir, after)
			if t.Failed() {
				t.Logf("plan %s raw %q note %s", row.Plan, value(row.Raw), d.Note)
			}
		})
	}
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

func sortedLines(s *string) *string {
	if s == nil {
		return nil
	}
	lines := strings.Split(*s, "\n")
	slices.Sort(lines)
	text := strings.Join(lines, "\n")
	return &text
}

var dirSize = regexp.MustCompile(`(is_dir: True\nsize: )\d+`)

// replayEnvelope gives the row's envelope to the program and returns the contents
// of the answer joined by LF, as the original did, or the error.
func replayEnvelope(t *testing.T, row conformanceRow) (result, failure *string, dir string) {
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
	out, errs, _ := play(t, new(cli), strings.ReplaceAll(prompt, "${ROOT}", dir), args...)
	mask := func(s string) *string {
		s = dirSize.ReplaceAllString(s, "${1}4096") // as recorded; file systems differ
		s = strings.ReplaceAll(strings.ReplaceAll(s, dir, "${ROOT}"), filepath.Dir(dir), "${PARENT}")
		return &s
	}
	if errs != "" {
		line, _, _ := strings.Cut(strings.TrimPrefix(errs, "skill: "), "\n")
		return nil, mask(line), dir
	}
	var answer struct{ Messages []dialect.Message }
	if json.Unmarshal([]byte(out), &answer) != nil {
		return mask(strings.TrimSuffix(out, "\n")), nil, dir
	}
	return mask(joined(t, row, dir, answer.Messages)), nil, dir
}

// joined words the messages as the original's one string.
func joined(t *testing.T, row conformanceRow, dir string, messages []dialect.Message) string {
	var plan struct {
		Calls []json.RawMessage `json:"tool_calls"`
	}
	json.Unmarshal(row.Plan, &plan)
	texts := make([]string, len(messages))
	for i, m := range messages {
		texts[i] = m.Content
		if line, diff, ok := strings.Cut(m.Content, "\n--- "); ok && strings.HasPrefix(line, "edit_file DRY_RUN: ") {
			texts[i] = line
			if !strings.Contains(diff, "\n@@ ") {
				t.Errorf("no difference in %q", m.Content)
			}
		}
		if i >= len(plan.Calls) {
			continue
		}
		var call struct {
			Function struct{ Name, Arguments string }
		}
		json.Unmarshal(plan.Calls[i], &call)
		if whole(call.Function.Name, call.Function.Arguments) && !strings.Contains(m.Content, " ERR: ") {
			checkExact(t, dir, call.Function.Arguments, m.Content)
			texts[i] = strings.Join(splitLines(m.Content), "\n")
		}
		if row.Via == "bridge" {
			texts[i] = "[op#" + strconv.Itoa(i+1) + ":" + call.Function.Name + "]\n" + texts[i]
		}
	}
	if row.Via == "bridge" {
		return strings.Join(texts, "\n\n")
	}
	return strings.Join(texts, "\n")
}

// whole tells whether a call reads a whole file.
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

// checkExact compares what was read with the file itself (rule F3).
func checkExact(t *testing.T, dir, arguments, content string) {
	t.Helper()
	var args struct{ Path string }
	json.Unmarshal([]byte(arguments), &args)
	name := strings.TrimSpace(strings.ReplaceAll(args.Path, "~", filepath.Join(dir, "home")))
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return // it has been changed since, or is read from a working_dir
	}
	if want := string(bytes.ToValidUTF8(data, []byte("\ufffd"))); utf8.Valid(data) && content != want {
		t.Errorf("read_file\n got %q\nwant %q", content, want)
	}
}

// splitLines splits where Python's str.splitlines does.
func splitLines(s string) (lines []string) {
	for s != "" {
		i := strings.IndexFunc(s, func(r rune) bool {
			return r >= '\n' && r <= '\r' || r >= 0x1c && r <= 0x1e || r == 0x85 || r == 0x2028 || r == 0x2029
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
