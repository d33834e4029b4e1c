package main

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/tools/txtar"
)

// TestGoldenServersEnd ends what a golden file started.
func TestGoldenServersEnd(t *testing.T) {
	got, err := goldenRunner{helper: ownProgram(), given: goldenGiven(t)}.play(t.Context(), txtar.Parse([]byte(`-- flags --
--tools stack
-- prompt --
server(command: 'sleep 1000', port: 45671, background: true)
`)))
	if err != nil {
		t.Fatal(err)
	}
	text := string(txtar.Format(got))
	m := regexp.MustCompile(`"pid":(\d+)`).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no server was started: %s", text)
	}
	pid, _ := strconv.Atoi(m[1])
	if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
		t.Errorf("server %d runs after the test, %v", pid, err)
	}
}

// takeHangups has SIGHUP end the programs that are started from now on, also where it is ignored because
// the tests run under nohup.
func takeHangups() { signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) }

// TestGoldenHangup closes the terminal of a file that is played: nothing is left of it.
func TestGoldenHangup(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	temp, name := t.TempDir(), filepath.Join(t.TempDir(), "a.txtar")
	slow := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run","arguments":{"command":"touch begun; sleep 1000"}}}`
	if err := os.WriteFile(name, []byte("-- mcp --\n"+slow+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "test", "--fence=off", name)
	takeHangups()
	cmd.Args[0], cmd.Env = "skill",
		[]string{noSleep, "TMPDIR=" + temp, "XDG_STATE_HOME=" + os.Getenv("XDG_STATE_HOME")}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	begun := func() bool {
		found, _ := filepath.Glob(filepath.Join(temp, "skill-test-*", "begun"))
		return len(found) > 0
	}
	for end := time.Now().Add(time.Minute); !begun(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Error("the command has not begun")
			break
		}
	}
	cmd.Process.Signal(syscall.SIGHUP)
	cmd.Wait()
	if left, err := os.ReadDir(temp); cmd.ProcessState.ExitCode() != exitFailed || len(left) > 0 ||
		err != nil {
		t.Errorf("%v; %v is left, and %v", cmd.ProcessState, left, err)
	}
}

// TestGoldenTemp says what to do where no temporary folder can be made.
func TestGoldenTemp(t *testing.T) {
	t.Setenv("TMPDIR", "/nowhere/x")
	_, err := goldenRunner{}.play(t.Context(), &txtar.Archive{})
	if err == nil || !strings.Contains(err.Error(), "/nowhere/x: no such file or directory; set TMPDIR") {
		t.Error(err)
	}
}
