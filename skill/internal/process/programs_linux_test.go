package process

import (
	"context"
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"textskill/testdata/needs"
)

//go:embed testdata/programs.txt
var programs string

// Ordinary programs do in the sandbox what they do outside, or the answer says what gives it. A program that
// this machine lacks is left out.
func TestPrograms(t *testing.T) {
	t.Setenv("PATH", "/usr/local/bin:/usr/bin:/bin") // not those that a manager of versions keeps in the home folder
	x, _ := viewedRunner(t, Config{})
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ".npmrc"), []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	t.Setenv("TERM", "xterm")
	const bash = "/bin/bash"
	needs.Program(t, bash)
	ran := 0
	for line := range strings.Lines(programs) {
		hint, hinted := strings.CutPrefix(strings.TrimSpace(line), "hint ")
		hint, script, _ := strings.Cut(hint, " | ")
		if !hinted {
			hint, script = "", strings.TrimSpace(line)
		}
		script, long := strings.CutPrefix(script, "long ")
		if long && os.Getenv("SKILL_TEST_LONG") == "" {
			continue
		}
		name, _, _ := strings.Cut(script, " ")
		if _, err := exec.LookPath(name); err != nil {
			continue // also a comment
		}
		ran++
		begin := time.Now()
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		outside := exec.CommandContext(ctx, bash, "-c", script)
		outside.WaitDelay = time.Second
		outside.Dir = t.TempDir()
		want, _ := outside.Output()
		stop()
		os.Remove(home + "/new")
		dir := filepath.Join(x.ws.Dir(), "d")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		got := mustExec(t, x, Command{Name: bash, Args: []string{"-c", script}, Dir: dir,
			Timeout: time.Minute})
		if spent := time.Since(begin); spent > time.Second {
			t.Logf("%v: %s", spent.Round(time.Millisecond), script)
		}
		os.RemoveAll(dir)
		same := string(got.Stdout) == string(want) && got.ExitCode == outside.ProcessState.ExitCode()
		if hints := strings.Join(got.Hints, "\n"); same == hinted || !strings.Contains(hints, hint) || !hinted && hints != "" {
			t.Errorf("%s\ninside %d %s%s%s\noutside %d %s", script, got.ExitCode, got.Stdout, got.Stderr, hints,
				outside.ProcessState.ExitCode(), want)
		}
	}
	t.Logf("%d programs", ran)
}
