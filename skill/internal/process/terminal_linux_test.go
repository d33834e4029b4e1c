package process

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"textskill/testdata/needs"
)

// A person's command has a terminal of its own, to which keys and sizes of the person's come. Ctrl-C and Ctrl-Z are
// the command's. After it, the person's terminal is as before.
func TestTerminalOfCommand(t *testing.T) {
	const role = "SKILL_TEST_TERMINAL"
	if script, ok := os.LookupEnv(role); ok {
		x, _ := viewedRunner(t, Config{})
		c := sh(script)
		c.Streams = []*os.File{os.Stdin, os.Stdout, os.Stderr}
		done := mustExec(t, x, c)
		for _, hint := range done.Hints {
			os.Stdout.WriteString("hint: " + hint + "\n")
		}
		os.Exit(done.ExitCode)
	}
	needs.Shell(t)
	needs.Program(t, "stty", "seq")
	viewedRunner(t, Config{}) // skips where there are no views
	home := t.TempDir()
	if err := os.WriteFile(home+"/.npmrc", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	resize := func(s stream) { unix.IoctlSetWinsize(s.ours, unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: 100}) }
	type step struct {
		after, keys string
		do          func(s stream)
	}
	for _, tt := range []struct {
		script string
		steps  []step
		want   string
		code   int
	}{
		{script: "test -t 0 && test -t 1 && test -t 2 && echo all >/dev/tty; exit 3", want: "all\r\n", code: 3},
		{"trap 'echo caught' INT; echo ready; until read x; do :; done; echo got $x", []step{{after: "ready", keys: "\x03"},
			{after: "caught", keys: "word\n"}}, "got word", 0},
		{"stty size; read x; stty size", []step{{after: "40 120", do: resize}, {keys: "\n"}}, "50 100", 0},
		{"stty raw -echo; echo ready; dd bs=1 count=1 2>/dev/null; stty sane", []step{{after: "ready", keys: "k"}}, "k", 0},
		{"set -m; sh -c 'kill -STOP $$; echo again' & wait; jobs; fg", nil, "again", 0},
		{"set -m; echo ready; sleep 60; echo stopped $?; kill -9 %1", []step{{after: "ready", keys: "\x1a"}}, "stopped 148", 0},
		{"echo ready; cat; echo end", []step{{after: "ready", keys: "line\n\x04"}}, "line\r\nend", 0},
		{"seq 20000", nil, "19999\r\n20000\r\n", 0},
		{"cat ~/.npmrc", nil, "hint: the sandbox hides ~/.npmrc", 1},
	} {
		s, err := openTerminal()
		if err != nil {
			t.Fatal(err)
		}
		terminal := os.NewFile(uintptr(s.theirs), "terminal")
		before, err := unix.IoctlGetTermios(s.theirs, unix.TCGETS)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestTerminalOfCommand$")
		cmd.Env = append(os.Environ(), role+"="+tt.script, "HOME="+home)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() { cmd.Wait(); close(ended) }()
		kill := time.AfterFunc(30*time.Second, func() { cmd.Process.Kill() })
		var text []byte
		buf, steps := make([]byte, 4096), tt.steps
		for over := false; ; {
			select {
			case <-ended:
				over = true
			default:
			}
			n, _ := unix.Poll([]unix.PollFd{{Fd: int32(s.ours), Events: unix.POLLIN}}, 100)
			if n > 0 {
				n, _ = unix.Read(s.ours, buf)
				text = append(text, buf[:max(0, n)]...)
			} else if over {
				break
			}
			if n <= 0 && len(steps) > 0 && bytes.Contains(text, []byte(steps[0].after)) {
				if steps[0].do != nil {
					steps[0].do(s)
				}
				unix.Write(s.ours, []byte(steps[0].keys))
				steps = steps[1:]
			}
		}
		kill.Stop()
		after, err := unix.IoctlGetTermios(s.theirs, unix.TCGETS)
		if code := cmd.ProcessState.ExitCode(); !strings.Contains(string(text), tt.want) || code != tt.code || err != nil || *after != *before {
			t.Errorf("%s: exit code %d, %v; want %q in\n%q", tt.script, code, err, tt.want, text)
		}
		unix.Close(s.ours)
		terminal.Close()
	}
}

// If only one side of a terminal can be opened, it is closed again.
func TestTerminalThatFails(t *testing.T) {
	first, err := openTerminal()
	needs.That(t, err == nil, "terminals", "mount a devpts at /dev/pts")
	unix.Close(first.ours)
	unix.Close(first.theirs)
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	before := filesOpen(t)
	defer unix.Setrlimit(unix.RLIMIT_NOFILE, &was)
	for extra := range uint64(3) {
		limited := was
		limited.Cur = uint64(first.ours) + extra // first.ours was the first free number
		unix.Setrlimit(unix.RLIMIT_NOFILE, &limited)
		s, err := openTerminal()
		unix.Setrlimit(unix.RLIMIT_NOFILE, &was)
		if err == nil {
			unix.Close(s.ours)
			unix.Close(s.theirs)
		}
		if now := filesOpen(t); now > before { // a file that nothing names any more may be closed meanwhile
			t.Errorf("%d more files: %v, and %d files are open, were %d", extra, err, now, before)
		}
	}
}

// filesOpen returns the number of open files of this process.
func filesOpen(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list) - 1 // without that of the list
}
