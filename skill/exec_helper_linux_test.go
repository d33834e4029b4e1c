package skill

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"textskill/testdata/needs"
)

// playRole is the main function of the test binary when a test starts it with a role.
func playRole(role string) int {
	switch role {
	case "serve": // start a server, and end
		x, err := New(Config{Dir: os.Args[1], Helper: "/proc/self/exe"})
		if err != nil {
			return 1
		}
		os.Setenv("EXEC_TEST_ROLE", "")
		port, _ := strconv.Atoi(os.Args[3])
		if _, err := x.Execute(context.Background(), &Session{},
			StartServer{Command: os.Args[2], Port: port, Wait: 100 * time.Millisecond}); err != nil {
			fmt.Println(err)
			return 1
		}
	case "cover": // change files, over and over
		return changeUntilKilled(os.Args[1])
	case "listen": // on a port, until the end
		l, err := net.Listen("tcp", "127.0.0.1:"+os.Args[1])
		if err != nil {
			fmt.Println(err)
			return 1
		}
		fmt.Println("listening on", l.Addr())
		time.Sleep(time.Hour) // an empty select would be a deadlock without cgo
	case "work":
		return work(os.Args[1:])
	case "nested":
		return nested(os.Args[1])
	case "innermost":
		return innermost(os.Args[1])
	case "hop": // leave the session by a child, over and over
		cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			return 1
		}
		if line, _ := os.ReadFile("/proc/1/cmdline"); os.Getppid() == 1 && string(line) != helperLine {
			time.Sleep(10 * time.Millisecond) // not a flood, should the test fail
		}
	case "parent": // run what the arguments say until somebody kills us
		x, err := New(Config{Dir: os.Args[1], Helper: "/proc/self/exe",
			FenceWrite: filepath.SplitList(os.Getenv("EXEC_TEST_ALLOW"))})
		if err != nil {
			return 1
		}
		x = x.InRun(RunStep{Run: "r", Step: 7}).ByTool("stack", "run")
		x.Execute(context.Background(), &Session{},
			Exec{Command: os.Args[2], Args: os.Args[3:], Env: []string{"EXEC_TEST_ROLE="}})
	case "adopter": // run what the arguments say, and tell what is left of it
		x, err := New(Config{Dir: os.Args[1], Helper: "/proc/self/exe", Subreaper: true})
		if err != nil {
			return 1
		}
		r, err := x.Execute(context.Background(), &Session{},
			Exec{Command: os.Args[2], Args: os.Args[3:], Env: []string{"EXEC_TEST_ROLE="}})
		if err != nil {
			fmt.Println(err)
			return 1
		}
		data, _ := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid()))
		fmt.Printf("lost %t, left %d\n", r.(Executed).Lost, len(strings.Fields(string(data))))
	case "keeper": // hold a credential, and let a command look for it
		if err := Undumpable(); err != nil {
			return 1
		}
		x, err := New(Config{Dir: os.Args[1], Helper: "/proc/self/exe"})
		if err != nil {
			return 1
		}
		r, err := x.Execute(context.Background(), &Session{},
			Exec{Command: os.Args[2], Args: os.Args[3:], Env: []string{fmt.Sprint("KEEPER=", os.Getpid())}})
		if err != nil {
			fmt.Println(err)
			return 1
		}
		os.Stdout.Write(r.(Executed).Stdout)
	}
	return 0
}

// marker returns an argument for sleep that no other process has.
func marker(t *testing.T) string {
	needs.Shell(t)
	return fmt.Sprintf("1000.%d%d", os.Getpid(), time.Now().UnixNano())
}

// marked returns the processes, except for zombies, with mark in their command line.
func marked(t *testing.T, mark string) (pids []int) {
	t.Helper()
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	if len(lines) == 0 {
		t.Fatal("/proc shows no process")
	}
	for _, line := range lines {
		data, _ := os.ReadFile(line)
		if strings.Contains(string(data), mark) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(line)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// parentOf returns the parent of pid, 0 if pid does not exist.
func parentOf(pid int) (ppid int) {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if _, rest, ok := strings.Cut(string(data), ") "); ok {
		fmt.Sscan(strings.Fields(rest)[1], &ppid)
	}
	return ppid
}

// helperLine is the command line of a helper.
const helperLine = "skill-exec-helper\x00"

// helperOf returns the helper that runs one of the processes, 0 for none. In a PID namespace the
// first process has the helper's name, too, and is its child.
func helperOf(pids []int) int {
	for _, pid := range pids {
		helper := 0
		for parent := parentOf(pid); parent > 1; parent = parentOf(parent) {
			if line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", parent)); string(line) == helperLine {
				helper = parent
			}
		}
		if helper != 0 {
			return helper
		}
	}
	return 0
}

func killHelper(t *testing.T, pid int) {
	if pid < 2 || syscall.Kill(pid, syscall.SIGKILL) != nil {
		t.Errorf("there is no helper %d", pid)
	}
}

// userBinary is a copy of the test binary for other users, who may use dir.
func userBinary(t *testing.T, dir string) (path string) {
	t.Helper()
	data, err := os.ReadFile(self(t))
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "program")
	writeFile(t, path, string(data), 0o755)
	for _, d := range []string{dir, filepath.Dir(dir), filepath.Dir(path)} {
		if err := os.Chmod(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// escapes are scripts that try to leave sleep processes with the argument $1 running.
var escapes = map[string]string{
	"child":       `sleep "$1"`,
	"background":  `sleep "$1" & sleep "$1" & wait`,
	"setsid":      `setsid sleep "$1" & setsid sleep "$1" & wait`,
	"double fork": `( (setsid sh -c 'sleep "$0" & sleep "$0"' "$1" &) & ); sleep "$1"`,
	"ignores":     `trap "" TERM HUP INT; setsid sleep "$1" & sleep "$1"`,
	"stopped":     `setsid sh -c 'kill -STOP $$; sleep 1' "$1" & sleep "$1"`,
	"deep":        `sh -c 'setsid sh -c "setsid sh -c \"setsid sleep $0 & wait\" & wait" & wait' "$1"`,
}

func TestNoProcessIsLeftAfterATimeout(t *testing.T) {
	t.Parallel()
	x := newExecutor(t, Config{Helper: self(t)})
	for name, script := range escapes {
		mark := marker(t)
		a := sh(script, mark)
		a.Timeout = 500 * time.Millisecond
		got := mustExec(t, x, a)
		if left := marked(t, mark); len(left) > 0 || !got.TimedOut || got.Survivors != 0 || !got.Supervised {
			t.Errorf("%s: left %v; %+v", name, left, got)
		}
	}
}

func TestNoProcessIsLeftAfterACancellation(t *testing.T) {
	x := newExecutor(t, Config{Helper: self(t)})
	for name, script := range escapes {
		mark := marker(t)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			defer cancel()
			eventually(t, name+" to begin", func() bool { return len(marked(t, mark)) > 1 || name == "child" && len(marked(t, mark)) == 1 })
		}()
		r, err := x.Execute(ctx, &Session{}, sh(script, mark))
		if left := marked(t, mark); len(left) > 0 || err != nil || !r.(Executed).Cancelled {
			t.Errorf("%s: left %v; %+v, %v", name, left, r, err)
		}
	}
}

func TestNoProcessIsLeftAfterTheEnd(t *testing.T) {
	x := newExecutor(t, Config{Helper: self(t)})
	mark := marker(t)
	got := mustExec(t, x, sh(`( (setsid sleep "$1" &) & ); sleep "$1" & setsid sleep "$1" & sleep 0.1; echo done; exit 4`, mark))
	if left := marked(t, mark); len(left) > 0 || string(got.Stdout) != "done\n" || got.ExitCode != 4 ||
		got.Signal != "" {
		t.Errorf("left %v; %+v", left, got)
	}
}

func TestWithoutAHelperTheGroupIsEnded(t *testing.T) {
	x := newExecutor(t, Config{})
	mark := marker(t)
	a := sh(`sleep "$1" & sleep "$1" & wait`, mark)
	a.Timeout = 500 * time.Millisecond
	got := mustExec(t, x, a)
	eventually(t, "the group to be gone", func() bool { return len(marked(t, mark)) == 0 })
	mustExec(t, x, sh(`sleep "$1" & exit 0`, mark))
	eventually(t, "the group to be gone", func() bool { return len(marked(t, mark)) == 0 })
	if got.Supervised || !got.TimedOut {
		t.Errorf("%+v", got)
	}
}

// A process that keeps forking and leaving its session is ended too.
func TestAHopperIsCaught(t *testing.T) {
	x := newExecutor(t, Config{Helper: self(t)})
	mark := marker(t)
	got := mustExec(t, x, Exec{Command: self(t), Args: []string{mark}, Env: []string{"EXEC_TEST_ROLE=hop"}})
	if left := marked(t, mark); len(left) > 0 || got.Survivors != 0 || got.ExitCode != 0 {
		t.Errorf("left %v; %+v", left, got)
	}
}

func TestTheCommandDiesWithItsHelper(t *testing.T) {
	x := newExecutor(t, Config{Helper: self(t)})
	mark := marker(t)
	go func() {
		eventually(t, "the command to begin", func() bool { return len(marked(t, mark)) == 3 })
		killHelper(t, helperOf(marked(t, mark)))
	}()
	got := mustExec(t, x, sh(`printf part; sleep "$1" & setsid sleep "$1" & wait`, mark))
	if !got.Lost || got.Supervised ||
		got.Signal != "SIGKILL" || got.ExitCode != -9 || !got.Failed() ||
		string(got.Stdout) != "part" {
		t.Errorf("%+v", got)
	}
	if got.Message() != "sh was stopped: the process that watched it was killed" {
		t.Errorf("%s", got.Message())
	}
	eventually(t, "all to be gone", func() bool { return len(marked(t, mark)) == 0 })
}

// Without a fence a command can kill its helper, and dies with it.
func TestACommandThatKillsItsHelperDies(t *testing.T) {
	x := newExecutor(t, Config{Helper: self(t), Fence: FenceOff})
	for range 5 {
		mark := marker(t)
		got := mustExec(t, x, sh(`sleep "$1" & setsid sleep "$1" & kill -KILL $PPID; sleep "$1"`, mark))
		if !got.Lost || got.Elapsed > 30*time.Second {
			t.Errorf("%+v", got)
		}
		eventually(t, "all to be gone", func() bool { return len(marked(t, mark)) == 0 })
	}
}

func TestOtherSignalsDoNotKeepTheHelperFromItsWork(t *testing.T) {
	x := newExecutor(t, Config{Helper: self(t), Fence: FenceOff}) // which would keep it from its helper
	mark := marker(t)
	got := mustExec(t, x, sh(`setsid sleep "$1" & kill -TERM $PPID; kill -INT $PPID; kill -HUP $PPID; sleep 0.05; echo here; exit 5`, mark))
	if left := marked(t, mark); len(left) > 0 || got.Lost || got.ExitCode != 5 ||
		string(got.Stdout) != "here\n" {
		t.Errorf("left %v; %+v", left, got)
	}
	got = mustExec(t, x, sh(`trap`))
	if len(got.Stdout) > 0 {
		t.Errorf("the command ignores signals: %s", got.Stdout)
	}
	got = mustExec(t, x, Exec{Command: "grep", Args: []string{"^Sig\\(Ign\\|Blk\\)", "/proc/self/status"}})
	if strings.ContainsAny(strings.NewReplacer("SigBlk:", "", "SigIgn:", "").Replace(string(got.Stdout)),
		"123456789abcdef") {
		t.Errorf("the command ignores or blocks signals: %s", got.Stdout)
	}
}

func TestEverythingDiesWithTheProgram(t *testing.T) {
	mark, temp := marker(t), t.TempDir()
	parent := exec.Command(self(t), t.TempDir(), "sh", "-c",
		`mkdir "$TMPDIR/d"; setsid sleep "$0" & ( (sleep "$0" &) & ); sleep "$0"`, mark)
	parent.Env = append(os.Environ(), "EXEC_TEST_ROLE=parent", "TMPDIR="+temp)
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	// the parent, sh and three sleepers
	eventually(t, "the command to begin", func() bool { return len(marked(t, mark)) == 5 })
	helper := 0
	for _, pid := range marked(t, mark) {
		if parentOf(parentOf(pid)) == parent.Process.Pid {
			helper = parentOf(pid)
		}
	}
	if helper == 0 {
		t.Fatal("no helper between the program and the command")
	}
	parent.Process.Kill()
	parent.Wait()
	eventually(t, "all to be gone", func() bool {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", helper)) // empty once it is a zombie
		return len(marked(t, mark)) == 0 && len(line) == 0
	})
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("temporary files of the command are left: %v, %v", left, err)
	}
}

// TestTemporaryFilesThroughALink has a command put a link in the place of its folder for temporary files, before
// the program is killed. The target of the link stays.
func TestTemporaryFilesThroughALink(t *testing.T) {
	needs.Shell(t)
	dir, outside, temp := t.TempDir(), t.TempDir(), t.TempDir()
	fill(t, outside, map[string]string{"keep": "x"})
	parent := exec.Command(self(t), dir, "sh", "-c",
		`mv "$TMPDIR" "$TMPDIR.x" && ln -s "$0" "$TMPDIR"; echo x > linked; sleep 60`, outside)
	parent.Env = append(os.Environ(), "EXEC_TEST_ROLE=parent", "EXEC_TEST_ALLOW="+temp, "TMPDIR="+temp)
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the command to make the link",
		func() bool { _, err := os.Stat(filepath.Join(dir, "linked")); return err == nil })
	links, _ := filepath.Glob(temp + "/skill-*.x")
	parent.Process.Kill()
	parent.Wait()
	eventually(t, "the link to go", func() bool { left, _ := os.ReadDir(temp); return len(left) == 1 })
	if _, err := os.Stat(filepath.Join(outside, "keep")); err != nil || len(links) != 1 {
		t.Errorf("%v; the links are %v", err, links)
	}
}

func TestNothingOfThisProcessIsInherited(t *testing.T) {
	held, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	fd, err := unix.Dup(int(held.Fd())) // without close-on-exec
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	x := newExecutor(t, Config{Helper: self(t)})
	got := mustExec(t, x, Exec{Command: "ls", Args: []string{"/proc/self/fd"}})
	if string(got.Stdout) != "0\n1\n2\n3\n" { // the last is the listed folder
		t.Errorf("the command has the descriptors %q", got.Stdout)
	}
}

func TestNoCredentialCanBeSeenInProc(t *testing.T) {
	needs.Shell(t)
	if os.Getuid() == 0 { // root sees everything
		needs.Users(t)
	}
	dir := t.TempDir()
	cmd := exec.Command(userBinary(t, dir), dir, "sh", "-c", `
		h=$PPID; [ $h != 0 ] || h=1 # in a PID namespace the helper has no id, and its child is the first process
		for p in $$ $h $KEEPER; do echo "$p:"; tr '\0' '\n' < /proc/$p/environ; done 2>&1
		readlink /proc/$h/exe >/dev/null || echo helper is not seen
		echo end`)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "EXEC_TEST_ROLE=keeper", "OPENAI_API_KEY=sk-hidden",
		"SEEN=yes"}
	if os.Getuid() == 0 { // root sees everything
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if s := string(out); strings.Contains(s, "sk-hidden") || !strings.Contains(s, "SEEN=yes") ||
		!strings.HasSuffix(s, "helper is not seen\nend\n") || strings.Count(s, "ermission denied")+
		strings.Count(s, "No such file") != 2 {
		t.Errorf("the command saw: %s", s)
	}
}

func TestHelpersThatAreNone(t *testing.T) {
	needs.Shell(t)
	for helper, want := range map[string]string{
		"/nowhere/skill": "helper: fork/exec /nowhere/skill: no such file or directory",
		"/bin/true":      "helper /bin/true: it ended before the command began: exit status 0",
	} {
		x := newExecutor(t, Config{Helper: helper})
		_, err := x.Execute(t.Context(), &Session{}, Exec{Command: "true"})
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", helper, err, want)
		}
		if _, ok := errors.AsType[*SpawnError](err); ok {
			t.Errorf("%s: the command is blamed: %v", helper, err)
		}
	}
}
