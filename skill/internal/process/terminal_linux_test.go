package process

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"textskill/testdata/needs"
)

// terminalRole names the variable with the script that a test's own program runs at a terminal.
const terminalRole = "SKILL_TEST_TERMINAL"

// A person's command has a terminal of its own, to which keys and sizes of the person's come. Ctrl-C and Ctrl-Z are
// the command's. After it, the person's terminal is as before.
func TestTerminalOfCommand(t *testing.T) {
	if script, ok := os.LookupEnv(terminalRole); ok {
		code := 125
		t.Cleanup(func() { os.Exit(code) }) // once the folders of the test are removed
		x, _ := viewedRunner(t, Config{})
		c := sh(script)
		c.Streams = []*os.File{os.Stdin, os.Stdout, os.Stderr}
		done := mustExec(t, x, c)
		for _, hint := range done.Hints {
			os.Stdout.WriteString("hint: " + hint + "\n")
		}
		code = done.ExitCode
		return
	}
	needs.Shell(t)
	needs.Program(t, "stty", "seq")
	viewedRunner(t, Config{}) // skips where there are no views
	home := t.TempDir()
	if err := os.WriteFile(home+"/.npmrc", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	resize := func(s stream) { unix.IoctlSetWinsize(s.ours, unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: 100}) }
	for _, tt := range []struct {
		script string
		steps  []terminalStep
		want   string
		code   int
	}{
		{script: "test -t 0 && test -t 1 && test -t 2 && echo all >/dev/tty; exit 3", want: "all\r\n", code: 3},
		{"tty; echo named >$(tty)", nil, "/dev/pts/0\r\nnamed\r\n", 0},
		{"trap 'echo caught' INT; echo ready; until read x; do :; done; echo got $x", []terminalStep{{after: "ready", keys: "\x03"},
			{after: "caught", keys: "word\n"}}, "got word", 0},
		{"stty size; read x; stty size", []terminalStep{{after: "40 120", do: resize}, {keys: "\n"}}, "50 100", 0},
		{"stty raw -echo; echo ready; dd bs=1 count=1 2>/dev/null; stty sane", []terminalStep{{after: "ready", keys: "k"}}, "k", 0},
		{"set -m; sh -c 'kill -STOP $$; echo again' & wait; jobs; fg", nil, "again", 0},
		{"set -m; echo ready; sleep 60; echo stopped $?; kill -9 %1", []terminalStep{{after: "ready", keys: "\x1a"}}, "stopped 148", 0},
		{"echo ready; cat; echo end", []terminalStep{{after: "ready", keys: "line\n\x04"}}, "line\r\nend", 0},
		{"seq 20000", nil, "19999\r\n20000\r\n", 0},
		{"cat ~/.npmrc", nil, "hint: the sandbox hides ~/.npmrc", 1},
	} {
		text, code, same := atTerminal(t, []string{"/proc/self/exe", "-test.run=^TestTerminalOfCommand$"},
			[]string{terminalRole + "=" + tt.script, "HOME=" + home}, tt.steps)
		if !strings.Contains(text, tt.want) || code != tt.code || !same {
			t.Errorf("%s: exit code %d, modes as before: %v; want %q in\n%q", tt.script, code, same, tt.want, text)
		}
	}
}

// A command neither reads what is typed for others nor leaves modes, wherever its streams lead and whoever has
// the terminal's keys.
func TestTerminalOfOthers(t *testing.T) {
	needs.Shell(t)
	needs.Program(t, "stty", "setsid")
	viewedRunner(t, Config{}) // skips where there are no views
	const reads = "(sleep 3; kill -9 $$) & echo re''ady; read x; echo sto''len $x"
	type row struct {
		line, script string // of the shell at the terminal, where $T is the command, and of the command
		steps        []terminalStep
		want         string
	}
	for _, tt := range []row{
		{"set -m; $T & read x; echo kept $x; wait", reads, []terminalStep{{after: "ready", keys: "word\n"}}, "kept word"},
		{"set -m; setsid -w $T & read x; echo kept $x; wait", reads, []terminalStep{{after: "ready", keys: "word\n"}}, "kept word"},
		{"set -m; $T & wait; stty -a", "stty raw -echo -isig; echo ready", nil, " icanon"},
		{"set -m; $T & sleep 1; fg", "echo re''ady; read x; echo go''t $x", []terminalStep{{after: "ready"},
			{after: "T", keys: "word\n"}}, "got word"},
		{"$T >/dev/null; stty -a", "stty raw -echo -isig", nil, " icanon"},
		{"$T >/dev/null 2>&1; stty -a", "stty raw -echo -isig", nil, " icanon"},
		{"$T </dev/null; stty -a", "stty raw -echo -isig <&1", nil, " icanon"},
		{"$T <$(tty)", "echo shown", nil, "shown"},
		{"$T </dev/null", "echo sho''wn >/dev/tty", nil, "shown"},
	} {
		text, _, same := atTerminal(t, []string{"sh", "-c", tt.line}, []string{terminalRole + "=" + tt.script,
			"T=/proc/" + strconv.Itoa(os.Getpid()) + "/exe -test.run=^TestTerminalOfCommand$"}, tt.steps)
		if !strings.Contains(text, tt.want) || strings.Contains(text, "stolen") || !same {
			t.Errorf("%s: %s: modes as before: %v; want %q in\n%q", tt.line, tt.script, same, tt.want, text)
		}
	}
}

// A terminalStep is what a person does once a text is shown.
type terminalStep struct {
	after, keys string
	do          func(s stream)
}

// atTerminal runs a program at a terminal of its own, and returns what is shown, its exit code, and whether the
// terminal's modes are as before.
func atTerminal(t *testing.T, args, env []string, steps []terminalStep) (text string, code int, same bool) {
	t.Helper()
	s, err := openTerminal(0)
	if err != nil {
		t.Fatal(err)
	}
	unix.IoctlSetWinsize(s.ours, unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 120})
	terminal := os.NewFile(uintptr(s.theirs), "terminal")
	defer terminal.Close()
	defer unix.Close(s.ours)
	before, err := unix.IoctlGetTermios(s.theirs, unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	kill := time.AfterFunc(30*time.Second, func() { cmd.Process.Kill() })
	defer kill.Stop()
	buf := make([]byte, 4096)
	for over := false; ; {
		select {
		case <-ended:
			over = true
		default:
		}
		n, _ := unix.Poll([]unix.PollFd{{Fd: int32(s.ours), Events: unix.POLLIN}}, 100)
		if n > 0 {
			n, _ = unix.Read(s.ours, buf)
			text += string(buf[:max(0, n)])
		} else if over {
			break
		}
		if n <= 0 && len(steps) > 0 && strings.Contains(text, steps[0].after) {
			if steps[0].do != nil {
				steps[0].do(s)
			}
			unix.Write(s.ours, []byte(steps[0].keys))
			steps = steps[1:]
		}
	}
	after, err := unix.IoctlGetTermios(s.theirs, unix.TCGETS)
	return text, cmd.ProcessState.ExitCode(), err == nil && *after == *before
}

// If only one side of a terminal can be opened, it is closed again.
func TestTerminalThatFails(t *testing.T) {
	first, err := openTerminal(0)
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
		s, err := openTerminal(0)
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
