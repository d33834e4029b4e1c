package hook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

const recorded = "../../testdata/conformance/hooks"

// TestRead reads each payload that a host has sent, or documents, into the event of the golden file
// beside it.
func TestRead(t *testing.T) {
	n := 0
	err := filepath.WalkDir(recorded, func(name string, d fs.DirEntry, err error) error {
		host := filepath.Base(filepath.Dir(name))
		configuration := slices.Contains([]string{"settings.json", "hooks.json", "agent.json", "plugin.json",
			"hooks-skill.json", "environment.txt"}, d.Name())
		if err != nil || d.IsDir() ||
			configuration || !strings.HasSuffix(name, ".json") &&
			!strings.HasSuffix(name, ".txt") {
			return err
		}
		n++
		payload, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		got := "no event\n"
		e, err := Read(payload, host, func(string) string { return "" })
		if err == nil {
			line, err := json.Marshal(e)
			if err != nil {
				return err
			}
			got = string(line) + "\n"
		} else if !errors.Is(err, ErrOther) {
			t.Errorf("%s: %v", name, err)
		}
		golden := name + ".event"
		if *update {
			return os.WriteFile(golden, []byte(got), 0o644)
		}
		want, err := os.ReadFile(golden)
		if string(want) != got {
			t.Errorf("%s\n got %swant %s", name, got, want)
		}
		return err
	})
	if err != nil || n < 100 {
		t.Errorf("%d payloads: %v", n, err)
	}
}

// TestReadHost reads payloads by their own signs, whatever host was set up, and by the environment.
func TestReadHost(t *testing.T) {
	for file, want := range map[string]string{
		"cursor/claude-file-run-by-cursor.json": "cursor", "copilot-cli/pascal-pre-create.json": "kiro",
		"gemini-cli/before-write.json": "gemini-cli",
		"codex/pre-bash.json":          "codex", "qwen-code/pre-write.json": "qwen-code",
		"goose/pre-write.json": "goose",
	} {
		payload, err := os.ReadFile(filepath.Join(recorded, file))
		if err != nil {
			t.Fatal(err)
		}
		env := map[string]string{}
		if strings.HasPrefix(file, "copilot-cli/") {
			env, want = map[string]string{"COPILOT_CLI": "1", "COPILOT_PROJECT_DIR": "/home/dev/other",
				"CLAUDE_PROJECT_DIR": "/home/dev/app"}, "copilot-cli"
		}
		e, err := Read(payload, "claude-code", func(name string) string { return env[name] })
		if err != nil || e.Host != want {
			t.Errorf("%s is of %s, %v; want %s", file, e.Host, err, want)
		}
		if dir := env["COPILOT_PROJECT_DIR"]; dir != "" && e.Workspace != dir {
			t.Errorf("%s: the workspace is %s", file, e.Workspace)
		}
	}
}

// TestReadHostile reads what is no payload without harm.
func TestReadHostile(t *testing.T) {
	for _, payload := range []string{"", "{", "null", "[]", `"x"`, `{"hook_event_name":3}`,
		`{"hook_event_name":"PreToolUse","tool_name":{},"tool_input":[]}`,
		`{"cursor_version":1,"workspace_roots":[1]}`, strings.Repeat("[", 100_000), "\x00",
		`{"hook_event_name":"PreToolUse"`, string(bytes.Repeat([]byte("x"), MaxPayload+1))} {
		if e, err := Read([]byte(payload), "claude-code", os.Getenv); err == nil {
			t.Errorf("%.60q is read as %+v", payload, e)
		}
	}
}

// TestReadRows reads payloads of sub-agents, of ends, and of this program's own tools.
func TestReadRows(t *testing.T) {
	const call = `"toolName":"create","toolArgs":{"path":"/w/s.txt","file_text":"s"}`
	for _, row := range []struct{ host, payload, want string }{
		{"copilot-cli", `{"sessionId":"sub","cwd":"/w",` + call + `,"agentId":"sub","agentType":"task","parentAgentId":"main"}`,
			`{"host":"copilot-cli","phase":"before","kind":"edit","session":"sub","parent":"main","agent":"task","agent_id":"sub","tool":"create","paths":["/w/s.txt"],"workspace":"/w"}`},
		{"copilot-cli", `{"sessionId":"sub","cwd":"/w","stopReason":"end_turn","agentId":"sub","agentType":"task","parentAgentId":"main"}`,
			`{"host":"copilot-cli","phase":"turn end","session":"sub","parent":"main","agent":"task","agent_id":"sub","workspace":"/w"}`},
		{"opencode", `{"event":"session.created","directory":"/w","properties":{"sessionID":"sub","info":{"id":"sub","parentID":"main","agent":"general"}}}`,
			`{"host":"opencode","phase":"begin","session":"sub","parent":"main","agent":"general","workspace":"/w"}`},
		{"kilo", `{"event":"tool.execute.before","directory":"/w","input":{"tool":"bash","sessionID":"s","callID":"c"},"output":{"args":{"command":"make"}}}`,
			`{"host":"kilo","phase":"before","kind":"command","session":"s","id":"c","tool":"bash","command":"make","workspace":"/w"}`},
		{"codex", `{"session_id":"s","turn_id":"t","cwd":"/w","hook_event_name":"Interrupt"}`,
			`{"host":"codex","phase":"turn end","session":"s","turn":"t","workspace":"/w"}`},
		{"codex", `{"session_id":"s","cwd":"/w","hook_event_name":"SessionEnd"}`,
			`{"host":"codex","phase":"session end","session":"s","workspace":"/w"}`},
		{"codex", `{"session_id":"s","turn_id":"t","cwd":"/w","hook_event_name":"PreToolUse","tool_name":"collaborationwait_agent","tool_input":{}}`, ""},
		{"claude-code", `{"session_id":"s","cwd":"/w","hook_event_name":"SubagentStop"}`, ""}, // of no agent
		{"claude-code", `{"session_id":"s","cwd":"/w","hook_event_name":"SubagentStop","agent_id":"a"}`,
			`{"host":"claude-code","phase":"agent end","session":"s","agent_id":"a","workspace":"/w"}`},
		{"qwen-code", `{"session_id":"s","tool_call_id":"1","tool_use_id":"2","cwd":"/w","hook_event_name":"PreToolUse","tool_name":"notebook_edit","tool_input":{"notebook_path":"n.ipynb"}}`,
			`{"host":"qwen-code","phase":"before","kind":"edit","session":"s","id":"2","tool":"notebook_edit","paths":["n.ipynb"],"workspace":"/w"}`},
		{"kimi-code", `{"session_id":"s","cwd":"/w","client_type":"kimi_code_cli","tool_call_id":"c","hook_event_name":"PreToolUse","tool_name":"Write","tool_input":{"path":"a.txt","content":"x"}}`,
			`{"host":"kimi-code","phase":"before","kind":"edit","session":"s","id":"c","tool":"Write","paths":["a.txt"],"workspace":"/w"}`},
		{"kimi-code", `{"session_id":"s","cwd":"/w","client_type":"kimi_code_cli","tool_call_id":"c","hook_event_name":"PreToolUse","tool_name":"Agent","tool_input":{}}`,
			`{"host":"kimi-code","phase":"before","kind":"spawn","session":"s","id":"c","tool":"Agent","workspace":"/w"}`},
		{"kimi-code", `{"session_id":"s","cwd":"/w","client_type":"kimi_code_cli","turn_id":"3","hook_event_name":"Interrupt","reason":"cancelled"}`,
			`{"host":"kimi-code","phase":"turn end","session":"s","workspace":"/w"}`},
		{"droid", `{"session_id":"s","cwd":"/w","hook_event_name":"PreToolUse","tool_name":"Create","tool_input":{"file_path":"/w/a.txt","content":"x"}}`,
			`{"host":"droid","phase":"before","kind":"edit","session":"s","tool":"Create","paths":["/w/a.txt"],"workspace":"/w"}`},
		{"droid", `{"session_id":"s","cwd":"/w","hook_event_name":"PreToolUse","tool_name":"Execute","tool_input":{"command":"npm start","fireAndForget":true}}`,
			`{"host":"droid","phase":"before","kind":"command","session":"s","tool":"Execute","command":"npm start","background":true,"workspace":"/w"}`},
	} {
		got := ""
		e, err := Read([]byte(row.payload), row.host, func(string) string { return "" })
		if err == nil {
			line, _ := json.Marshal(e)
			got = string(line)
		} else if !errors.Is(err, ErrOther) {
			t.Error(err)
		}
		if got != row.want {
			t.Errorf("%s\n got %s\nwant %s", row.payload, got, row.want)
		}
	}
	for tool, want := range map[string]string{"mcp__skill__write": "write", "mcp_workspace_write": "write",
		"skill_write": "write", "workspace-write_file": "write_file", "workspace__write": "write", "skill": "",
		"Bash": "", "mcp__other__write": "", "workspaces_list": ""} {
		payload := `{"hook_event_name":"PreToolUse","tool_name":"` + tool + `","session_id":"s"}`
		if e, _ := Read([]byte(payload), "claude-code", os.Getenv); e.Own != want {
			t.Errorf("%s is our %q, not %q", tool, e.Own, want)
		}
	}
}

// A log is a recorder that keeps the phases.
type log []Phase

func (l *log) Before(context.Context, Event) error { *l = append(*l, Before); return nil }
func (l *log) After(context.Context, Event) error  { *l = append(*l, After); return nil }
func (l *log) End(_ context.Context, e Event) error {
	*l = append(*l, e.Phase)
	return nil
}

// TestTell gives each phase to its method.
func TestTell(t *testing.T) {
	var l log
	for _, phase := range []Phase{Begin, Before, After, TurnEnd, SessionEnd} {
		if err := (Event{Phase: phase}).Tell(t.Context(), &l); err != nil {
			t.Error(err)
		}
	}
	if !slices.Equal(l, []Phase{Before, After, TurnEnd, SessionEnd}) {
		t.Errorf("told %v", l)
	}
}
