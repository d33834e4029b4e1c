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
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"textskill/testdata/needs"
)

// listening returns a command that listens on a port.
func listening(t *testing.T, port int) string {
	return fmt.Sprintf("EXEC_TEST_ROLE=listen exec '%s' %d", self(t), port)
}

func must[T Result](t *testing.T, x *Executor, a Args) T {
	t.Helper()
	r, err := x.Execute(t.Context(), &Session{}, a)
	if err != nil {
		t.Fatalf("%+v: %v", a, err)
	}
	return r.(T)
}

// endServers ends the servers that a test has left running.
func endServers(t *testing.T, x *Executor) {
	needs.Shell(t)
	t.Cleanup(func() {
		r, err := x.Execute(context.Background(), &Session{}, ListServers{})
		if err != nil {
			t.Error(err)
			return
		}
		for _, s := range r.(Servers) {
			if s.Running {
				x.Execute(context.Background(), &Session{}, StopServer{ServerName{ID: s.ID}})
			}
		}
	})
}

func TestServerIsStartedFoundAndStopped(t *testing.T) {
	x := newExecutor(t, Config{Helper: self(t)})
	endServers(t, x)
	port, mark := needs.Port(t), marker(t)
	command := fmt.Sprintf("setsid sleep %s & (sleep %s &); echo one; echo two; %s", mark, mark,
		listening(t, port))
	started := must[ServerState](t, x, StartServer{Command: command, Port: port, Wait: time.Minute,
		MustListen: true})
	if !started.Ready || !started.Running ||
		started.Pid == 0 || started.Port != port ||
		started.Command != command || started.Dir != x.Dir() {
		t.Fatalf("%+v", started)
	}
	if other, err := New(Config{Dir: x.Dir(), Helper: self(t)}); err == nil {
		defer other.Close()
		if list := must[Servers](t, other, ListServers{}); len(list) != 1 || !list[0].Ready ||
			list[0].ID != started.ID || list[0].Pid != started.Pid {
			t.Errorf("another executor finds %+v", list)
		}
	}
	_, err := x.Execute(t.Context(), &Session{}, StartServer{Command: "true", Port: port})
	if taken := fmt.Sprintf("port %d is that of server %s, which runs as process %d; stop it first",
		port, started.ID, started.Pid); err == nil || err.Error() != taken {
		t.Errorf("the port is given twice: %v", err)
	}
	want := fmt.Sprintf("two\nlistening on 127.0.0.1:%d\n", port)
	eventually(t, "the log to end with "+want, func() bool { // it listens before it says so
		log := must[ServerLog](t, x, ReadServerLog{ServerName: ServerName{Port: port}, Lines: 2})
		return string(log.Text) == want && log.More && log.Ready
	})
	if data := must[FileRead](t, x, ReadFile{Path: started.Log}); !strings.HasPrefix(string(data.Content), "one\ntwo\n") {
		t.Errorf("the log is read as %q", data.Content)
	}
	begin := time.Now()
	stopped := must[ServerState](t, x, StopServer{ServerName{ID: started.ID}})
	if left := marked(t, mark); len(left) > 0 || stopped.Running || stopped.Signal != "SIGTERM" ||
		time.Since(begin) > 30*time.Second {
		t.Errorf("left %v after %v; %+v", left, time.Since(begin), stopped)
	}
	if again := must[ServerState](t, x, StopServer{ServerName{ID: started.ID}}); again.Running ||
		again.Signal != "SIGTERM" {
		t.Errorf("stopped again: %+v", again)
	}
	if list := must[Servers](t, x, ListServers{}); len(list) != 1 || list[0].Running || list[0].Ready {
		t.Errorf("%+v", list)
	}
}

// TestServerIsPassedOver starts a server, whose changes are not known.
func TestServerIsPassedOver(t *testing.T) {
	x := newExecutor(t, Config{Helper: self(t)})
	endServers(t, x)
	must[Changed](t, x, WriteFile{Path: "a", Content: "alpha"})
	must[ServerState](t, x, StartServer{Command: "sleep 60", Port: needs.Port(t), Wait: time.Millisecond})
	said := must[Reverted](t, x, Undo{}).Message()
	if !strings.HasPrefix(said, "undid change 1: write ") ||
		!strings.HasSuffix(said, "\npassed over: change 2 cannot be undone: it is not known what the server changes") {
		t.Error(said)
	}
}

// A server keeps running after the program that started it has been killed.
func TestServerOutlivesTheProgram(t *testing.T) {
	dir, mark := t.TempDir(), marker(t)
	parent := exec.Command(self(t), dir, "sleep "+mark, strconv.Itoa(needs.Port(t)))
	parent.Env = append(os.Environ(), "EXEC_TEST_ROLE=serve")
	if out, err := parent.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	x := newExecutor(t, Config{Dir: dir, Helper: self(t)})
	endServers(t, x)
	list := must[Servers](t, x, ListServers{})
	if len(list) != 1 || !list[0].Running || list[0].Ready || len(marked(t, mark)) == 0 {
		t.Fatalf("%+v, %v", list, marked(t, mark))
	}
	if s := must[ServerState](t, x, StopServer{ServerName{Port: list[0].Port}}); s.Running ||
		len(marked(t, mark)) > 0 {
		t.Errorf("%+v, left %v", s, marked(t, mark))
	}
}

func TestServerThatEndsOrDoesNotListen(t *testing.T) {
	t.Parallel()
	x := newExecutor(t, Config{Helper: self(t)})
	endServers(t, x)
	for _, tt := range []struct {
		a     StartServer
		error string
		text  string
		code  int
	}{
		{StartServer{Command: "seq 30; exit 7"}, "exited with 7 before it was ready",
			"11\n12\n13\n14\n15\n16\n17\n18\n19\n20\n21\n22\n23\n24\n25\n26\n27\n28\n29\n30\n", 7},
		{StartServer{Command: "kill -KILL $$"}, "was ended by SIGKILL before it was ready", "", -9},
		{StartServer{Command: "echo up; sleep 100", Wait: 2 * time.Second, MustListen: true},
			"after 2s, and the server was ended", "up\n", -15},
	} {
		tt.a.Port = needs.Port(t)
		_, err := x.Execute(t.Context(), &Session{}, tt.a)
		not, ok := errors.AsType[*NotServingError](err)
		if !ok || !strings.HasSuffix(err.Error(), tt.error) || string(not.Text) != tt.text ||
			not.ExitCode != tt.code || not.Running {
			t.Errorf("%s: %v, %+v", tt.a.Command, err, not)
		}
	}
	slow := must[ServerState](t,
		x, StartServer{Command: "sleep 100", Port: needs.Port(t), Wait: 100 * time.Millisecond})
	if !slow.Running || slow.Ready {
		t.Errorf("%+v", slow)
	}
}

// A server without a port has started once it prints or listens.
func TestServerWithoutAPortIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	x := newExecutor(t, Config{Helper: self(t)})
	endServers(t, x)
	for _, command := range []string{"echo up; exec sleep 1000", listening(t, needs.Port(t)) + " > /dev/null"} {
		s := must[ServerState](t, x, StartServer{Command: command, Wait: time.Hour})
		if !s.Running || s.Pid == 0 {
			t.Errorf("%s: %+v", command, s)
		}
	}
	_, err := x.Execute(t.Context(), &Session{}, StartServer{Command: "exit 3", Wait: time.Hour})
	if not, ok := errors.AsType[*NotServingError](err); !ok || not.ExitCode != 3 {
		t.Errorf("a command that only ends: %v", err)
	}
	silent := must[ServerState](t, x, StartServer{Command: "exec sleep 1000", Wait: time.Millisecond})
	if !silent.Running {
		t.Errorf("%+v", silent)
	}
}

// If several programs start a server for one port at the same time, one server starts.
func TestServersAreStartedOneByOne(t *testing.T) {
	dir := t.TempDir()
	port := needs.Port(t)
	first := newExecutor(t, Config{Dir: dir, Helper: self(t)})
	endServers(t, first)
	var wg sync.WaitGroup
	var started, taken atomic.Int32
	for i := range 6 {
		x := first
		if i%2 == 1 {
			x = newExecutor(t, Config{Dir: dir, Helper: self(t)})
		}
		wg.Go(func() {
			r, err := x.Execute(context.Background(), &Session{},
				StartServer{Command: listening(t, port), Port: port, Wait: time.Minute, MustListen: true})
			if s, ok := r.(ServerState); ok && s.Ready {
				started.Add(1)
			} else if err != nil && strings.Contains(err.Error(), "is that of server ") &&
				!strings.Contains(err.Error(), "process 0") {
				taken.Add(1)
			} else {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
	wg.Wait()
	if started.Load() != 1 || taken.Load() != 5 {
		t.Errorf("%d were started, %d found the port taken", started.Load(), taken.Load())
	}
}

func TestServerPortIsTakenByAnother(t *testing.T) {
	x := newExecutor(t, Config{Helper: self(t)})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	_, err = x.Execute(t.Context(), &Session{}, StartServer{Command: "touch made", Port: port})
	if taken := fmt.Sprintf("port %d is taken by process %d", port, os.Getpid()); err == nil ||
		err.Error() != taken {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(x.Dir() + "/made"); err == nil {
		t.Error("the command was run")
	}
}

// A server has five seconds to end after SIGTERM, and is then killed.
func TestServerIsAskedBeforeItIsForced(t *testing.T) {
	t.Parallel()
	x := newExecutor(t, Config{Helper: self(t)})
	endServers(t, x)
	polite := must[ServerState](t, x, StartServer{Port: needs.Port(t), Wait: 300 * time.Millisecond,
		Command: `sh -c 'trap "sleep 0.5; echo bye > bye; exit 3" TERM; : > asked; while :; do sleep 0.05; done'; exit 4`})
	eventually(t, "the server can be asked", hasFile(x, "asked"))
	must[ServerState](t, x, StopServer{ServerName{ID: polite.ID}})
	if data, err := os.ReadFile(x.Dir() + "/bye"); err != nil || string(data) != "bye\n" {
		t.Errorf("it was not let end: %q, %v", data, err)
	}
	daemon := must[ServerState](t, x, StartServer{Port: needs.Port(t), Wait: 300 * time.Millisecond,
		Command: `setsid sh -c 'trap "echo bye > daemon; exit" TERM; : > ready; while :; do sleep 0.05; done' & exit 5`})
	eventually(t, "the daemon can be asked", hasFile(x, "ready"))
	if running := must[Servers](t, x, ListServers{ServerName{ID: daemon.ID}})[0]; !running.Running {
		t.Errorf("the daemon has ended: %+v", running)
	}
	if s := must[ServerState](t, x, StopServer{ServerName{ID: daemon.ID}}); s.ExitCode != 5 ||
		s.Signal != "" {
		t.Errorf("the server of the daemon: %+v", s)
	}
	if data, err := os.ReadFile(x.Dir() + "/daemon"); err != nil || string(data) != "bye\n" {
		t.Errorf("the daemon was not let end: %q, %v", data, err)
	}
	mark := marker(t)
	deaf := must[ServerState](t,
		x, StartServer{Command: fmt.Sprintf(`trap "" TERM; : > deaf; sleep %s; sleep %s`, mark, mark),
			Port: needs.Port(t), Wait: 300 * time.Millisecond})
	eventually(t, "the server is deaf", hasFile(x, "deaf"))
	begin := time.Now()
	stopped := must[ServerState](t, x, StopServer{ServerName{ID: deaf.ID}})
	if took := time.Since(begin); stopped.Running || took < 4*time.Second || took > time.Minute ||
		len(marked(t, mark)) > 0 {
		t.Errorf("after %v: %+v, left %v", took, stopped, marked(t, mark))
	}
}

func TestServerDiesWithItsHelper(t *testing.T) {
	x := newExecutor(t, Config{Helper: self(t)})
	endServers(t, x)
	mark := marker(t)
	s := must[ServerState](t, x, StartServer{Command: "exec sleep " + mark, Port: needs.Port(t),
		Wait: 50 * time.Millisecond})
	killHelper(t, parentOf(s.Pid))
	eventually(t, "it to be gone", func() bool { return len(marked(t, mark)) == 0 })
	if list := must[Servers](t, x, ListServers{}); len(list) != 1 || list[0].Running || !list[0].Lost {
		t.Errorf("%+v", list)
	}
}

// A log keeps its newest whole lines. The records and logs of servers that ended long ago
// are removed.
func TestServerLogsAreBounded(t *testing.T) {
	x := newExecutor(t, Config{Helper: self(t)})
	endServers(t, x)
	must[ServerState](t, x, StartServer{Command: "yes 'a line of thirty-two characters' | head -c 33554432; echo end; sleep 100", Port: needs.Port(t), Wait: 50 * time.Millisecond})
	var log ServerLog
	eventually(t, "the log to be complete", func() bool {
		log = must[ServerLog](t, x,
			ReadServerLog{ServerName: ServerName{ID: must[Servers](t, x, ListServers{})[0].ID}, Lines: 1})
		return string(log.Text) == "end\n"
	})
	info, err := os.Stat(log.Log)
	if err != nil || info.Size() > 8<<20 || info.Size() < 4<<20 {
		t.Errorf("%v, %v", info, err)
	}
	data, _ := os.ReadFile(log.Log)
	var cut int
	fmt.Sscanf(string(data), "[… %d bytes left out …]\na line", &cut)
	_, rest, _ := strings.Cut(string(data), "\n")
	if cut+len(rest) != 33554432+4 {
		t.Errorf("%d bytes are left out and %d kept", cut, len(rest))
	}
	const keptServers = 10
	for range keptServers + 2 {
		x.Execute(t.Context(), &Session{}, StartServer{Command: "exit 1", Port: needs.Port(t)})
	}
	list := must[Servers](t, x, ListServers{})
	files, _ := filepath.Glob(filepath.Dir(filepath.Dir(log.Log)) + "/[os]*/*") // output, servers
	// sockets of the server that runs and of the last one that ended
	if len(list) > keptServers+2 || len(files) > 3*len(list)+2 ||
		!list[len(list)-1].Running {
		t.Errorf("%d servers, %q", len(list), files)
	}
}

func TestServerHasNoCredentials(t *testing.T) {
	needs.Shell(t)
	t.Setenv("OPENAI_API_KEY", "secret-1")
	t.Setenv("MY_TOKEN", "secret-2")
	x := newExecutor(t, Config{Helper: self(t), Secrets: []string{"MY_TOKEN"}})
	_, err := x.Execute(t.Context(), &Session{},
		StartServer{Command: "env; for pid in $PPID 1; do tr '\\0' '\\n' </proc/$pid/environ; done; exit 1",
			Port: needs.Port(t)})
	not, ok := errors.AsType[*NotServingError](err)
	if !ok {
		t.Fatal(err)
	}
	all := must[FileRead](t, x, ReadFile{Path: not.Log})
	if strings.Contains(string(all.Content), "secret-") || !strings.Contains(string(all.Content), "PATH=") {
		t.Errorf("%s", all.Content)
	}
}

func TestServerIsRefused(t *testing.T) {
	x := newExecutor(t, Config{Helper: self(t)})
	for _, tt := range []struct {
		a    Args
		want string
	}{
		{StartServer{Command: "", Port: 1}, "command is empty; it is what starts the server"},
		{StartServer{Command: "x", Port: 70000}, "port must be from 1 to 65535, not 70000"},
		{StartServer{Command: "x\x00", Port: 1},
			`command holds a NUL byte, which no program can be given: "x\x00"`},
		{StartServer{Command: "x", Port: 1, Dir: ".."},
			filepath.Dir(x.Dir()) + " is outside the workspace " + x.Dir()},
		{StopServer{}, "id or port has to say which server is meant"},
		{StopServer{ServerName{ID: "../../x"}}, "there is no server for the id ../../x"},
		{ReadServerLog{ServerName: ServerName{Port: 9}}, "there is no server for port 9"},
	} {
		if _, err := x.Execute(t.Context(), &Session{}, tt.a); fmt.Sprint(err) != tt.want {
			t.Errorf("%+v: %v", tt.a, err)
		}
	}
	alone := newExecutor(t, Config{})
	if _, err := alone.Execute(t.Context(), &Session{}, StartServer{Command: "x", Port: 1}); err == nil ||
		!strings.Contains(err.Error(), "supervises") {
		t.Errorf("without a helper: %v", err)
	}
	read := newExecutor(t, Config{Helper: self(t), ReadOnly: true})
	for _, a := range []Args{StartServer{Command: "x", Port: 1}, ListServers{},
		StopServer{ServerName{Port: 1}}, ReadServerLog{ServerName: ServerName{Port: 1}}} {
		if _, err := read.Execute(t.Context(), &Session{}, a); err == nil ||
			!strings.HasSuffix(err.Error(), "is refused under --read-only") {
			t.Errorf("%T: %v", a, err)
		}
	}
}

// A server without a port that prints, and one that only waits: silent/prints says how much sooner the first is there.
func BenchmarkServerStart(b *testing.B) {
	x, err := New(Config{Dir: b.TempDir(), Helper: self(b)})
	if err != nil {
		b.Fatal(err)
	}
	defer x.Close()
	took := map[string]time.Duration{}
	for b.Loop() {
		for _, command := range []string{"echo up; exec sleep 1000", "exec sleep 1000"} {
			begin := time.Now()
			r, err := x.Execute(b.Context(), &Session{}, StartServer{Command: command})
			if err != nil {
				b.Fatal(err)
			}
			took[command] += time.Since(begin)
			x.Execute(b.Context(), &Session{}, StopServer{ServerName{ID: r.(ServerState).ID}})
		}
	}
	prints, silent := took["echo up; exec sleep 1000"].Seconds(), took["exec sleep 1000"].Seconds()
	b.ReportMetric(prints*1000/float64(b.N), "prints-ms")
	b.ReportMetric(silent/prints, "silent/prints")
}
