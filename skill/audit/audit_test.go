package audit

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"textskill/skill"
)

func TestMain(m *testing.M) {
	if name := os.Getenv("SKILL_TEST_AUDIT"); name != "" {
		l, err := Open(name)
		if err != nil {
			panic(err)
		}
		l.MaxBytes, l.Keep = 4096, 1000
		for i := range calls {
			if err := l.Add(skill.Call{Dialect: "d", Tool: "t",
				Arguments: map[string]any{"n": i, "text": strings.Repeat("x", i)}, Began: time.Now()}); err != nil {
				panic(err)
			}
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const (
	processes = 4
	calls     = 200 // of each process
)

// TestProcesses writes a log from several processes, and rotates it many times. Each line is
// complete, and no line is missing.
func TestProcesses(t *testing.T) {
	name := filepath.Join(t.TempDir(), "audit [1].jsonl")
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var all []*exec.Cmd
	for range processes {
		cmd := exec.Command(program)
		cmd.Env, cmd.Stderr = append(os.Environ(), "SKILL_TEST_AUDIT="+name,
			"GORACE=atexit_sleep_ms=0"), os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		all = append(all, cmd)
	}
	for _, cmd := range all {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	seen := map[string]bool{}
	files, err := filepath.Glob(globbed(name) + "*")
	if err != nil || len(files) < 10 {
		t.Errorf("there are %d files, %v", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for text := range strings.Lines(string(data)) {
			var l line
			if err := json.Unmarshal([]byte(text), &l); err != nil || !l.OK || l.Tool != "t" {
				t.Fatalf("%s holds %q: %v", file, text, err)
			}
			seen[fmt.Sprint(l.PID, l.Arguments["n"])] = true
		}
	}
	if len(seen) != processes*calls {
		t.Errorf("%d lines, want %d", len(seen), processes*calls)
	}
}

// TestKeep removes the oldest renamed files.
func TestKeep(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a")
	l, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	l.MaxBytes, l.Keep = 1, 2
	l.Redact = func(raw json.RawMessage) json.RawMessage {
		return json.RawMessage(strings.ReplaceAll(string(raw), "hunter2", "[redacted]"))
	}
	for i := range 6 {
		if err := l.Add(skill.Call{Tool: fmt.Sprint("t", i), Failure: "hunter2 " + strings.Repeat("x", 100) +
			"\nof a file", Undo: "7"}); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(name + "*")
	if err != nil || len(files) != 3 {
		t.Fatalf("%q, %v", files, err)
	}
	for i, want := range []string{"t5", "t3", "t4"} {
		data, err := os.ReadFile(files[i])
		if err != nil || !strings.Contains(string(data), `"tool":"`+want+`"`) ||
			!strings.Contains(string(data), `"error":"[redacted] x`) ||
			strings.Contains(string(data), "of a file") {
			t.Errorf("%s holds %q, %v", files[i], data, err)
		}
	}
}
