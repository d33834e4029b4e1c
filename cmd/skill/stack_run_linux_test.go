package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"textskill/parser/rawjson"
	"textskill/testdata/needs"
)

// A ran is what the tools that run programs answer.
type ran struct {
	Success                        bool
	Error                          string
	Code                           *int `json:"returncode"`
	Stdout, Stderr, Output, Errors string
	Command, Signal, Log, Message  string
	TimedOut                       bool  `json:"timed_out"`
	Truncated                      bool  `json:"truncated"`
	LogCut                         int64 `json:"log_cut"`
	Pid, Port                      int
}

// stackSession is a server with the stack tools, and its workspace.
type stackSession struct {
	*perstackServer
	dir string
	pid int
}

func startStack(t *testing.T, flags ...string) *stackSession {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cmd := &exec.Cmd{Path: self,
		Args: append([]string{"skill", "mcp", "--tools", "stack", "-C", dir}, flags...)}
	cmd.Env = append(os.Environ(), noSleep)
	s := &stackSession{perstackServer: startServer(t, cmd), dir: dir}
	s.pid = cmd.Process.Pid
	return s
}

// do makes one call.
func (s *stackSession) do(t *testing.T, name string, args map[string]any) (r ran) {
	t.Helper()
	s.ask(t, perstackCall{Name: name, Arguments: rawjson.Encode(args)})
	object, err := stackObject(string(s.line), s.calls)
	if err != nil {
		t.Fatal(err)
	}
	text := rawjson.Encode(object)
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return r
}

func (s *stackSession) write(t *testing.T, name, content string, mode os.FileMode) {
	t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

// marker is a duration for sleep that no other process has.
func marker() string { return fmt.Sprintf("1000.%d%d", os.Getpid(), time.Now().UnixNano()) }

// marked returns the processes with mark in their command line.
func marked(mark string) (pids []int) {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, line := range lines {
		if data, _ := os.ReadFile(line); strings.Contains(string(data), mark) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(line)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// Whatever a command leaves running, it is answered when the shell has ended, and
// nothing is left.
func TestRunLeavesNothing(t *testing.T) {
	t.Parallel()
	needs.Shell(t)
	s := startStack(t)
	for name, script := range map[string]string{
		"a grandchild calls setsid":  `(setsid sh -c 'sleep %[1]s & sleep %[1]s' &) ; echo said; setsid sleep %[1]s >/dev/null 2>&1 & sleep 0.1`,
		"a child holds the pipe":     `sleep %[1]s & echo said`,
		"a child ignores its end":    `trap '' TERM HUP; sleep %[1]s & echo said`,
		"all of it holds both pipes": `setsid setsid sleep %[1]s & setsid sleep %[1]s 1>&2 & echo said; sleep 0.1`,
	} {
		mark := marker()
		begin := time.Now()
		got := s.do(t, "run", map[string]any{"command": fmt.Sprintf(script, mark)})
		if left := marked(mark); len(left) > 0 || !got.Success || got.Stdout != "said\n" ||
			time.Since(begin) > 30*time.Second {
			t.Errorf("%s: left %v after %v; %+v", name, left, time.Since(begin), got)
		}
	}
}

func TestRunTimesOutWithWhatWasPrinted(t *testing.T) {
	t.Parallel()
	needs.Shell(t)
	s := startStack(t)
	mark := marker()
	begin, got := time.Now(), ran{}
	for timeout := 1; got.Stdout == "" && timeout < 60; timeout *= 4 { // a machine may stop for longer
		begin = time.Now()
		got = s.do(t, "run", map[string]any{"timeout": timeout,
			"command": fmt.Sprintf("echo err >&2; echo out; setsid sleep %[1]s & sleep %[1]s", mark)})
	}
	if left := marked(mark); len(left) > 0 || time.Since(begin) > 30*time.Second {
		t.Errorf("left %v after %v", left, time.Since(begin))
	}
	if got.Success || !got.TimedOut ||
		got.Error != "Command timed out" || got.Stdout != "out\n" ||
		got.Stderr != "err\n" {
		t.Errorf("%+v", got)
	}
}

// A gigabyte is answered by its beginning and its end, from little memory, and the
// log has what there is room for.
func TestRunPrintsAGigabyte(t *testing.T) {
	needs.Long(t, "2 s") // TestLogsKeepBothEnds keeps less
	t.Parallel()
	needs.Shell(t)
	s := startStack(t)
	got := s.do(t, "run", map[string]any{"timeout": 300,
		"command": "echo first; yes 'a line of thirty-two characters' | head -c 1073741824; echo last >&2; echo last"})
	if !got.Success || !got.Truncated {
		t.Errorf("%.300v", got)
	}
	kept := len(got.Stdout)
	if kept > 33<<10 || !strings.HasPrefix(got.Stdout, "first\na line") ||
		!strings.HasSuffix(got.Stdout, "last\n") || got.Stderr != "last\n" {
		t.Errorf("%d bytes were kept: %.100q", kept, got.Stdout)
	}
	for line := range strings.Lines(got.Stdout) {
		if n := len(line); n != 32 && !strings.HasPrefix(line, "[… 10737") && line != "first\n" &&
			line != "last\n" {
			t.Errorf("a line was cut: %q", line)
		}
	}
	info, err := os.Stat(got.Log)
	if err != nil || info.Size() < 64<<20 || info.Size() > 64<<20+100 || got.LogCut != 1073741824+16-64<<20 {
		t.Errorf("log %s: %v, %v, %d cut", got.Log, info, err, got.LogCut)
	}
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.pid))
	var most int
	for line := range strings.Lines(string(status)) {
		fmt.Sscanf(line, "VmHWM: %d kB", &most)
	}
	if most == 0 || most > 200<<10 {
		t.Errorf("the server has used %d kB", most)
	}
}

func TestRunPrintsWhatIsNoText(t *testing.T) {
	t.Parallel()
	needs.Shell(t)
	s := startStack(t)
	got := s.do(t, "run", map[string]any{"command": `printf 'a\377b\r\n\303'; printf 'e\376' >&2`})
	if !got.Success || got.Stdout != "a\ufffdb\r\n\ufffd" || got.Stderr != "e\ufffd" || got.Truncated {
		t.Errorf("%+v", got)
	}
	data, err := os.ReadFile(got.Log)
	if err != nil || len(data) != 8 || !strings.Contains(string(data), "a\xffb\r\n\xc3") {
		t.Errorf("the log holds %q, %v", data, err)
	}
	if whole := s.do(t, "run", map[string]any{"command": "echo é"}); whole.Log != "" ||
		whole.Stdout != "é\n" {
		t.Errorf("%+v", whole)
	}
}

func TestRunArguments(t *testing.T) {
	t.Parallel()
	needs.Shell(t)
	s := startStack(t)
	s.write(t, "d/f", "", 0o644)
	for _, tt := range []struct {
		args map[string]any
		want ran
	}{
		{map[string]any{"command": "echo $A$B$C", "env": map[string]any{"A": 1, "B": true, "C": "c"}},
			ran{Success: true, Stdout: "1truec\n"}},
		{map[string]any{"command": "pwd", "cwd": "d"}, ran{Success: true, Stdout: s.dir + "/d\n"}},
		{map[string]any{"command": "exit 3"}, ran{Error: "Command exited with 3"}},
		{map[string]any{"command": "kill -SEGV $$"}, ran{Error: "Command was ended by SIGSEGV"}},
		{map[string]any{"command": "true", "cwd": ".."},
			ran{Error: "run: " + filepath.Dir(s.dir) + " is outside the workspace " + s.dir}},
		{map[string]any{"command": "true", "cwd": "d/f"},
			ran{Error: "run: " + s.dir + "/d/f: not a directory"}},
		{map[string]any{"command": "true", "timeout": -1},
			ran{Error: "run: timeout must be a number of seconds, not -1"}},
		{map[string]any{"command": "true", "env": map[string]any{"A": []int{1}}},
			ran{Error: "run: env.A must be a text"}},
		{map[string]any{"command": "echo a\x00b"},
			ran{Error: `run: command holds a NUL byte, which no program can be given: "echo a\x00b"`}},
		{map[string]any{"command": "true", "shell": "bash"},
			ran{Error: "run: there is no argument shell; run takes command, timeout, cwd, env"}},
		{map[string]any{}, ran{Error: "run: command is required"}},
	} {
		got := s.do(t, "run", tt.args)
		if got.Success != tt.want.Success || got.Error != tt.want.Error || got.Stdout != tt.want.Stdout {
			t.Errorf("%v\n got %+v\nwant %+v", tt.args, got, tt.want)
		}
	}
}

// Nothing is made where nothing may change. A dry run carries out only run, on a view of the workspace.
func TestRunIsRefused(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"--read-only", "--dry-run"} {
		s := startStack(t, flag)
		for _, tool := range runTools {
			got := s.do(t, tool.name, tool.args)
			if flag == "--dry-run" && tool.name == "run" {
				continue
			}
			if got.Success || !strings.Contains(got.Error, " is refused under "+flag) {
				t.Errorf("%s: %+v", tool.name, got)
			}
		}
		if entries, err := os.ReadDir(s.dir); err != nil || len(entries) > 0 {
			t.Errorf("%s: %v, %v", flag, entries, err)
		}
	}
}

// runTools are the tools that run programs, with arguments that would let them.
var runTools = []struct {
	name string
	args map[string]any
}{
	{"run", map[string]any{"command": "touch x"}},
	{"test", map[string]any{}},
	{"lint", map[string]any{"linter": "ruff"}},
	{"format", map[string]any{}},
	{"typecheck", map[string]any{}},
	{"install", map[string]any{}},
	{"server", map[string]any{"command": "touch x", "port": 8000}},
	{"server", map[string]any{"command": "touch x", "port": 8000, "background": true}},
	{"server", map[string]any{"action": "list"}},
}

// A server goes on between two programs that know nothing of each other but the
// workspace, and ends with all it started.
func TestServerOutlivesItsSession(t *testing.T) {
	t.Parallel()
	needs.Shell(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	call := func(text string) (r ran) {
		t.Helper()
		cmd := &exec.Cmd{Path: self, Args: []string{"skill", "-C", dir, "--tools", "stack", text},
			Env: append(os.Environ(), noSleep)}
		out, _ := cmd.Output()
		if err := json.Unmarshal(out, &r); err != nil {
			t.Fatalf("%s: %v in %q", text, err, out)
		}
		return r
	}
	mark := marker()
	started := call(fmt.Sprintf("server(command: 'echo up; setsid sleep %[1]s & sleep %[1]s', port: 1, background: true)", mark))
	t.Cleanup(func() { call("server(action: 'stop', port: 1)") })
	if !started.Success || started.Pid == 0 || started.Port != 1 ||
		started.Message != "Server started on port 1" || len(marked(mark)) < 3 {
		t.Fatalf("%+v; %v", started, marked(mark))
	}
	if again := call("server(command: 'true', port: 1, background: true)"); again.Success ||
		!strings.Contains(again.Error, "stop it first") {
		t.Errorf("%+v", again)
	}
	if logs := call("server(action: 'logs', port: 1)"); logs.Output != "up\n" || logs.Pid != started.Pid {
		t.Errorf("%+v", logs)
	}
	if read := call("read(path: '" + started.Log + "')"); !read.Success {
		t.Errorf("%+v", read)
	}
	stopped := call("server(action: 'stop', port: 1)")
	if left := marked(mark); len(left) > 0 || !stopped.Success ||
		stopped.Message != "Server on port 1 is stopped" {
		t.Errorf("left %v; %+v", left, stopped)
	}
	if status := call("server(action: 'status', port: 1)"); !status.Success || status.Signal != "SIGTERM" {
		t.Errorf("%+v", status)
	}
}

func TestServerInTheForeground(t *testing.T) {
	t.Parallel()
	needs.Shell(t)
	s := startStack(t)
	got := s.do(t, "server", map[string]any{"command": "echo out; echo err >&2", "port": 8000})
	if !got.Success || got.Output != "out\n" ||
		got.Errors != "err\n" || got.Port != 8000 ||
		got.Message != "Server on port 8000 exited with 0" || *got.Code != 0 {
		t.Errorf("%+v", got)
	}
	mark := marker()
	got = s.do(t, "server", map[string]any{"command": "echo out; setsid sleep " + mark + " & sleep " + mark,
		"port": 8000, "timeout": 2})
	if got.Success || !got.TimedOut ||
		got.Error != "Command timed out" || got.Output != "out\n" ||
		len(marked(mark)) > 0 {
		t.Errorf("%+v, left %v", got, marked(mark))
	}
	for _, tt := range []struct {
		args map[string]any
		want string
	}{
		{map[string]any{"port": 1}, "server: command is required to start a server"},
		{map[string]any{"command": "x"}, "server: port is required to start a server"},
		{map[string]any{"command": "x", "port": 0}, "server: port must be from 1 to 65535, not 0"},
		{map[string]any{"command": "x", "port": 1, "action": "restart"},
			"server: action must be one of start, list, status, logs, stop"},
		{map[string]any{"action": "stop"}, "server: id or port has to say which server is meant"},
		{map[string]any{"action": "status"}, "server: status needs an id or a port"},
		{map[string]any{"action": "status", "port": 2},
			"server: there is no such server; server(action: 'list') lists them"},
		{map[string]any{"action": "logs", "id": "abc"},
			"server: there is no server for the id abc; server(action: 'list') lists them"},
	} {
		if got := s.do(t, "server", tt.args); got.Success || got.Error != tt.want {
			t.Errorf("%v: %+v", tt.args, got)
		}
	}
}
