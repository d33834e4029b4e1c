package dialect

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"textskill/parser"
	"textskill/parser/wire"
	"textskill/skill"
	"textskill/testdata/needs"
)

// oracleFiles are in the folder in which both programs work.
var oracleFiles = []nativeFile{
	{Path: "a.txt", Content: new("one\ntwo\nthree\ntwo\n")},
	{Path: "bare", Content: new("no newline")},
	{Path: "empty"},
	{Path: "crlf.txt", Content: new("one\r\ntwo\r\nthree\r\n")},
	{Path: "mixed.txt", Content: new("one\r\ntwo\nthree")},
	{Path: "raw", Content: new("x\xffy\n\ttab\xc3\xa9\n")},
	{Path: "long.txt", Repeat: "0123456789abcdé\n", Times: 1100},
	{Path: "d/e/f/deep.txt", Content: new("two\n")},
	{Path: "d/b.txt", Content: new("\n\n")},
	{Path: ".hidden/x", Content: new("two\n")},
	{Path: "link", Link: "a.txt"},
	{Path: "dlink", Link: "d"},
	{Path: "out", Link: "/usr"},
	{Path: "memory/memories/n.md", Content: new("one\ntwo\none\n")},
	{Path: "memory/memories/p/q.md", Repeat: "note\n", Times: 500},
	{Path: "memory/memories/out", Link: "../../a.txt"},
}

// Each argument of the calls is drawn from one of these lists, or is missing.
var (
	oraclePaths = []any{"a.txt", "bare", "empty", "crlf.txt", "mixed.txt", "raw", "long.txt", "d", "d/b.txt",
		"./a.txt", "d/../a.txt", "${ROOT}/a.txt",
		"${ROOT}", ".", "link", "dlink/b.txt", "dlink", "out/x", "/etc/passwd", "../x", "new.txt",
		"new/a.txt", "missing/x", ".hidden", "a.txt/x", "", "d/", nil}
	oracleNotes = []any{"/memories", "/memories/", "/memories/n.md", "/memories/p", "/memories/p/q.md",
		"/memories/new.md", "/memories/a/b.md", "/memories/p/../n.md",
		"/memories/../x", "/memories/%2e%2e/x", "/memoriesx", "memories/n.md", "/memories//n.md",
		"/memories/./p/", "/memories/out", "/etc/passwd", "/memories/n.md/x",
		"/memories/.h", "/memories/node_modules", 7, nil}
	oracleTexts = []any{"one", "two", "three", "o", "\n", "one\ntwo", "one\r\ntwo", "two\n", "\n\n",
		"note", "$& \\1", "é", "\t", "", "x\ny\nz\n", "a\r\nb\r\n", "no newline", nil}
	oracleLines = []any{0, 1, 2, 3, 4, 5, 6, -1, 99, "1", 1.5, true, nil}
	oracleSpans = []any{[]any{1, 2}, []any{2, -1}, []any{3, 3}, []any{0, 2}, []any{3, 1}, []any{1, 99},
		[]any{99, 100}, []any{1}, []any{}, []any{1, 2, 3}, nil, nil}
	oracleYes = []any{true, false, nil}
)

// oracleTools are the tools that both programs have, with lists for their arguments.
var oracleTools = map[string]map[string][]any{
	editorName: {"command": {"view", "create", "str_replace", "insert", "view", "str_replace", "insert",
		"undo_edit", "erase", nil}, "path": oraclePaths,
		"file_text": oracleTexts, "old_str": oracleTexts, "new_str": oracleTexts, "insert_text": oracleTexts,
		"insert_line": oracleLines, "view_range": oracleSpans},
	"memory": {"command": {"view", "create", "str_replace", "insert", "delete", "rename", "view",
		"str_replace", "erase", nil}, "path": oracleNotes,
		"old_path": oracleNotes, "new_path": oracleNotes, "file_text": oracleTexts, "old_str": oracleTexts,
		"new_str": oracleTexts, "insert_text": oracleTexts,
		"insert_line": oracleLines, "view_range": oracleSpans},
	"bash": {"command": {"pwd", "cd d", "cd ..", "X=1; Y=(a 'b c')", "echo [$X] ${#Y[@]}",
		"echo out; echo err >&2", "false", "exit 3", "printf 'a\\n\\n'", "cat; echo $?",
		"echo hi > n.txt", "f() { echo f$1; }", "f 2 2>/dev/null || true", "printf '\\033[31mred\\033[0m'",
		"rm -f a.txt", "mkdir -p x/y && echo two > x/y/z.txt", "(exit 7)", "", nil},
		"restart": {true, false, nil, nil, nil, nil}, "timeout_ms": {60000, nil}},
	"read":  {"file_path": oraclePaths, "view_range": oracleSpans},
	"write": {"file_path": oraclePaths, "content": oracleTexts},
	"edit": {"file_path": oraclePaths, "old_string": oracleTexts, "new_string": oracleTexts,
		"replace_all": oracleYes},
	"glob": {"pattern": {"*", "*.txt", "**/*.txt", "d/*", "**", "/etc/*", "../*", "d/../*", "[ab]*",
		"?.txt", ".h*/*", "*/x", "", nil}, "path": oraclePaths},
	"grep": {"pattern": {"two", "^t", "o$", "x.y", "[a-z]{4}", "0123", "tab", "nothing", "", nil},
		"path": oraclePaths},
}

// oracleCalls draws a session.
func oracleCalls(r *rand.Rand) (calls [][2]any) {
	oracle := slices.Sorted(maps.Keys(oracleTools))
	for range 1 + r.IntN(12) {
		name := oracle[r.IntN(len(oracle))]
		args := map[string]any{}
		for _, param := range slices.Sorted(maps.Keys(oracleTools[name])) {
			if v := oracleTools[name][param][r.IntN(len(oracleTools[name][param]))]; v != nil {
				args[param] = v
			}
		}
		if name == editorName && r.IntN(2) == 0 {
			name = oldEditorName
		}
		calls = append(calls, [2]any{name, args})
	}
	return calls
}

// TestNativeOracle compares answers and folders after random sessions with testdata/oracle.py, a small
// program beside this one: 100 of them, 300 where no test may be skipped, or 10,000
// where SKILL_TEST_LONG is set.
func TestNativeOracle(t *testing.T) {
	needs.InMemory(t)
	needs.Program(t, "bash", "python3")
	cmd := exec.Command("python3", "testdata/oracle.py")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		cmd.Stderr = os.Stderr
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer stdin.Close()
	answers := bufio.NewReader(stdout)
	n := 300 / needs.Step(3)
	if os.Getenv("SKILL_TEST_LONG") != "" {
		n = 10_000
	}
	for seed := range n {
		calls := oracleCalls(rand.New(rand.NewPCG(uint64(seed), 0)))
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			dir, x := nativeWorkspace(t, oracleFiles, skill.Config{})
			other, y := nativeWorkspace(t, oracleFiles, skill.Config{})
			y.Close()
			text, _ := json.Marshal(map[string]any{"root": other, "calls": calls})
			fmt.Fprintf(stdin, "%s\n", strings.ReplaceAll(string(text), "${ROOT}", other))
			line, err := answers.ReadString('\n')
			var want [][2]any
			if err == nil {
				err = json.Unmarshal([]byte(line), &want)
			}
			if err != nil {
				t.Fatalf("the oracle ended: %v", err)
			}
			s, spoken := &skill.Session{}, Native.speaking(wire.Anthropic)
			for i, c := range calls {
				arguments, _ := json.Marshal(c[1])
				call := parser.ToolCall{ID: "1", Name: c[0].(string),
					Arguments: json.RawMessage(strings.ReplaceAll(string(arguments), "${ROOT}", dir))}
				r := spoken.Do(t.Context(), x, s, call)
				got := strings.ReplaceAll(wellFormed(r.Body), dir, "ROOT")
				wanted := got
				if text, ok := want[i][1].(string); ok {
					wanted = strings.ReplaceAll(text, other, "ROOT")
				}
				if call.Name == "bash" { // a shell that stays counts its lines
					number := regexp.MustCompile(`^bash: line \d+:`)
					got, wanted = number.ReplaceAllString(got, "bash:"),
						number.ReplaceAllString(wanted, "bash:")
				}
				if call.Name == "glob" { // times of two folders are not the same
					lines := strings.Split(got, "\n")
					slices.Sort(lines)
					got = strings.Join(lines, "\n")
				}
				if (r.Err != nil) != want[i][0] || got != wanted {
					t.Errorf("call %d: %s %s\n got %v %q\nwant %v %q", i, call.Name, arguments, r.Err != nil,
						differing(got, wanted), want[i][0], differing(wanted, got))
				}
			}
			if got, want := nativeTree(t, dir), nativeTree(t, other); !slices.Equal(got, want) {
				t.Errorf("the folders differ after %v\n got %q\nwant %q", calls, got, want)
			}
			if _, err := x.Execute(t.Context(), s, skill.Undo{Since: "1"}); err != nil &&
				!strings.Contains(err.Error(), "not in the history") {
				t.Error(err)
			}
			os.RemoveAll(filepath.Dir(dir))
			os.RemoveAll(filepath.Dir(other))
		})
	}
}

// differing is where a text begins to differ from another.
func differing(text, from string) string {
	at := 0
	for at < min(len(text), len(from)) && text[at] == from[at] {
		at++
	}
	return text[max(0, at-200):min(len(text), at+400)]
}
