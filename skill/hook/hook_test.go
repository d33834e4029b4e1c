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

// A log is a recorder that keeps the phases.
type log []Phase

func (l *log) Before(context.Context, Event) error { *l = append(*l, Before); return nil }
func (l *log) After(context.Context, Event) error  { *l = append(*l, After); return nil }
func (l *log) End(context.Context, Event) error    { *l = append(*l, End); return nil }

// TestTell gives each phase to its method.
func TestTell(t *testing.T) {
	var l log
	for _, phase := range []Phase{Before, After, End} {
		if err := (Event{Phase: phase}).Tell(t.Context(), &l); err != nil {
			t.Error(err)
		}
	}
	if !slices.Equal(l, []Phase{Before, After, End}) {
		t.Errorf("told %v", l)
	}
}
