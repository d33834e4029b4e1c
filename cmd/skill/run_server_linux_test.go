package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestRunTakesItsServersAlong ends the program by signals while a model thinks. The
// server of its expert, this program too, must be gone.
func TestRunTakesItsServersAlong(t *testing.T) {
	t.Parallel()
	var script []scriptedAnswer
	err := json.Unmarshal([]byte(`[{"tools":[{"id":"a","name":"write_file","input":{"path":"a","content":"x"}}]},{"delay":60}]`), &script)
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	takeHangups()
	for signal, code := range map[syscall.Signal]int{syscall.SIGKILL: -1, syscall.SIGINT: 130,
		syscall.SIGTERM: 143, syscall.SIGHUP: 129} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			link := filepath.Join(dir, "skill")
			if err := os.Symlink(program, link); err != nil {
				t.Fatal(err)
			}
			project := oneExpert + fmt.Sprintf("[experts.e.skills.files]\ntype = \"mcpStdioSkill\"\ncommand = %q\nargs = [\"mcp\", \"--tools\", \"filesystem\", \"-C\", %q]\n", link, dir)
			if err := os.WriteFile(filepath.Join(dir, "perstack.toml"), []byte(project), 0o666); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(program, "run", "--trust-workspace", "e", "go")
			cmd.Args[0], cmd.Dir = "skill", dir
			cmd.Env = []string{noSleep, "XDG_STATE_HOME=" + os.Getenv("XDG_STATE_HOME"),
				"OPENAI_BASE_URL=" + scriptedEndpoint(t, script).URL, "SKILL_MODEL=m"}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(out)
			for lines.Scan() && !strings.Contains(lines.Text(), `"type":"continueToNextStep"`) {
			}
			if served := commandLines(dir); len(served) == 0 {
				t.Error("there is no server")
			}
			start := time.Now()
			cmd.Process.Signal(signal)
			for lines.Scan() {
			}
			cmd.Wait()
			if got := cmd.ProcessState.ExitCode(); got != code {
				t.Errorf("exit %d, want %d", got, code)
			}
			for len(commandLines(dir)) > 0 && time.Since(start) < time.Minute {
				time.Sleep(10 * time.Millisecond)
			}
			if took := time.Since(start); took > 30*time.Second {
				t.Errorf("after %v there are %q", took, commandLines(dir))
			}
			if got, _ := os.ReadFile(filepath.Join(dir, "a")); string(got) != "x" {
				t.Errorf("the server wrote %q", got)
			}
		})
	}
}

// commandLines returns the command lines that contain a text.
func commandLines(text string) (found []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		if line, err := os.ReadFile(file); err == nil && strings.Contains(string(line), text) {
			found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}
