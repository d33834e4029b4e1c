package toolcall_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"textskill/skill"
	"textskill/skill/agent"
	"textskill/skill/fleet"
	"textskill/skill/fleet/jetstream"
	"textskill/skill/fleet/toolcall"
	"textskill/skill/mcpserver"
	"textskill/testdata/needs"
)

// patience is the plane's patience. It is short, so that the tests are short.
const patience = 2 * time.Second

func TestMain(m *testing.M) {
	skill.HelperMain()
	os.Exit(needs.Run(m))
}

// connect returns a plane of a server that ends with the test.
func connect(t testing.TB) *jetstream.Plane {
	t.Helper()
	s, err := jetstream.StartServer(jetstream.ServerOptions{Dir: t.TempDir(), SyncLater: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Shutdown)
	p, err := jetstream.Connect(t.Context(),
		jetstream.Options{Servers: []string{s.URL()}, Patience: patience})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// work runs a worker that answers calls, until stop is called.
func work(t testing.TB, p fleet.Plane, name string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	cfg := fleet.WorkerConfig{
		Plane: p, Worker: fleet.Worker{Name: name, Slots: 2}, Root: t.TempDir(), Patience: patience,
		Executor: skill.Config{Unfenced: true},
		Model: func(cfg *agent.Config, _ agent.Project) error {
			cfg.Model = slow(asked)
			return nil
		},
		Say: func(line string) { t.Log(time.Now().Format("05.000"), name+": "+line) },
		Held: func(h fleet.Holding) (fleet.Calls, error) {
			return toolcall.Open(toolcall.Config{Plane: p, Worker: name, Workspace: h.Run.Workspace,
				Executor: h.Executor, Todos: h.Todos, Version: "1", Commit: h.Commit})
		},
	}
	go func() { ended <- fleet.Work(ctx, cfg) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// asked receives a channel for each request to a model. The model answers when the test closes
// this channel.
var asked = make(chan chan bool)

// slow is a model that waits for the test, then ends its run.
type slow chan chan bool

func (m slow) Next(ctx context.Context, r agent.Request) (agent.Answer, error) {
	if r.Tools == nil {
		return agent.Answer{Text: "done"}, nil
	}
	answers := make(chan bool)
	m <- answers
	<-answers
	return agent.Answer{Calls: []agent.Call{{ID: "end", Name: "attemptCompletion", Arguments: "{}"}}}, nil
}

// hold makes a worker hold a new workspace for calls.
func hold(t testing.TB, p fleet.Plane, name string, idle time.Duration, files map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for file, content := range files {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := fleet.Submit(t.Context(), p,
		fleet.Submission{Run: fleet.Run{ID: name, Workspace: name, Tenant: "t", Idle: idle}, Dir: dir}); err != nil {
		t.Fatal(err)
	}
}

// call waits until a worker holds the workspace, then makes a call.
func call(t testing.TB, r mcpserver.Relay, tool string, args map[string]any) toolcall.Answer {
	t.Helper()
	data, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	for {
		a, err := toolcall.Call(t.Context(), r, tool, data)
		switch {
		case err == nil:
			return a
		case !errors.Is(err, toolcall.ErrNotHeld):
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestProgress receives a progress notification during a command of more than a second.
func TestProgress(t *testing.T) {
	needs.Program(t, "sleep")
	p := connect(t)
	work(t, p, "w1")
	hold(t, p, "ws", 0, map[string]string{"a.txt": "alpha"})
	r := toolcall.Relay(p, "ws", []string{"perstack"})
	call(t, r, "readTextFile", map[string]any{"path": "a.txt"}) // it is held
	told := make(chan string, 100)
	reply, err := r(t.Context(), mcpserver.Message{
		Header: http.Header{"Content-Type": {"application/json"},
			"Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {"2025-11-25"}},
		Body:   []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"exec","arguments":{"command":"sleep","args":["3"],"cwd":".","env":{},"stdout":true,"stderr":true},"_meta":{"progressToken":"x"}}}`),
		Notify: func(notification []byte) { told <- string(notification) },
	})
	if err != nil || reply.Status != http.StatusOK {
		t.Fatalf("%d %s %v", reply.Status, reply.Body, err)
	}
	line := ""
	select {
	case line = <-told:
	case <-time.After(time.Minute):
	}
	if !strings.Contains(line, `"notifications/progress"`) || !strings.Contains(line, `"progressToken":"x"`) {
		t.Error(line)
	}
}

func TestCall(t *testing.T) {
	p := connect(t)
	r := toolcall.Relay(p, "ws", nil)
	if _, err := toolcall.Call(t.Context(), r, "read", json.RawMessage(`{"path":"a.txt"}`)); err == nil ||
		err.Error() != "no worker holds ws" {
		t.Fatalf("nobody: %v", err)
	}
	stop := work(t, p, "w1")
	// nearly as much as one answer may have, and more than one message
	big := strings.Repeat("0123456789abcde\n", 62500)
	hold(t, p, "ws", 0, map[string]string{"a.txt": "alpha", "big.txt": big})
	if a := call(t, r, "read", map[string]any{"path": "a.txt"}); a.Failed ||
		!strings.Contains(a.Text, "alpha") {
		t.Errorf("%+v", a)
	}
	if a := call(t, r, "read", map[string]any{"path": "nothing"}); !a.Failed {
		t.Errorf("a file that is not there: %+v", a)
	}
	if _, err := toolcall.Call(t.Context(), r, "fly", json.RawMessage(`{}`)); err == nil {
		t.Error("an unknown tool is called")
	}
	if a := call(t, r, "write", map[string]any{"path": "larger.txt", "content": big + big}); a.Failed {
		t.Errorf("%.200s", a.Text)
	}
	if a := call(t, toolcall.Relay(p, "ws", []string{"filesystem"}), "read_file",
		map[string]any{"path": "larger.txt"}); !a.Failed || !strings.Contains(a.Text, "more than the") {
		t.Errorf("more than one answer may have: %.200s", a.Text)
	}
	before, err := p.Workspace(t.Context(), "ws")
	if err != nil {
		t.Fatal(err)
	}
	if a := call(t, r, "write", map[string]any{"path": "b.txt", "content": big}); a.Failed || a.Undo == "" {
		t.Fatalf("%.200s", a.Text)
	}
	if after, err := p.Workspace(t.Context(), "ws"); err != nil || after.Manifest == before.Manifest {
		t.Errorf("the call is answered before it is stored: %+v, %v", after, err)
	}
	if a := call(t, toolcall.Relay(p, "ws", []string{"filesystem"}), "read_file",
		map[string]any{"path": "b.txt"}); a.Text != big {
		t.Errorf("%d bytes come back of %d: %.200s", len(a.Text), len(big), a.Text)
	}

	stop() // and another worker goes on
	work(t, p, "w2")
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if a := call(t, r, "write",
				map[string]any{"path": string(rune('c' + i)), "content": "many"}); a.Failed {
				t.Error(a.Text)
			}
		})
	}
	all.Wait()
	if a := call(t, toolcall.Relay(p, "ws", []string{"filesystem"}), "read_file", map[string]any{"path": "b.txt"}); a.Text != big {
		t.Errorf("on another worker %d bytes come back of %d", len(a.Text), len(big))
	}
	if err := p.Cancel(t.Context(), "ws"); err != nil {
		t.Fatal(err)
	}
	for range fleet.Follow(t.Context(), p, "ws", nil) {
	}
	dir := filepath.Join(t.TempDir(), "fetched")
	if _, err := fleet.Fetch(t.Context(), p, "ws", dir, fleet.Tenant{}); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		if data, err := os.ReadFile(filepath.Join(dir, string(rune('c'+i)))); err != nil ||
			string(data) != "many" {
			t.Errorf("%q, %v", data, err)
		}
	}
}

func TestIdleWorkspaceIsGivenBack(t *testing.T) {
	p := connect(t)
	work(t, p, "w1")
	hold(t, p, "ws", time.Nanosecond, map[string]string{"a.txt": "alpha"})
	for range fleet.Follow(t.Context(), p, "ws", nil) {
	}
	r, err := p.Run(t.Context(), "ws")
	if err != nil || r.Status != fleet.Completed {
		t.Errorf("%+v, %v", r, err)
	}
	if ws, err := p.Workspace(t.Context(), "ws"); err != nil || ws.Run != "" {
		t.Errorf("%+v, %v", ws, err)
	}
}

func TestTodosStayWithTheWorkspace(t *testing.T) {
	p := connect(t)
	stop := work(t, p, "w1")
	hold(t, p, "ws", 0, nil)
	r := toolcall.Relay(p, "ws", []string{"perstack"})
	call(t, r, "todo", map[string]any{"newTodos": []string{"feed the cat"}})
	stop()
	work(t, p, "w2")
	if a := call(t, r, "todo", map[string]any{}); !strings.Contains(a.Text, "feed the cat") {
		t.Errorf("%+v", a)
	}
}

// TestCallBesideAnExpert makes calls while an expert is in a step.
func TestCallBesideAnExpert(t *testing.T) {
	p := connect(t)
	work(t, p, "w1")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "perstack.toml"),
		[]byte("[experts.e]\ninstruction = \"Wait.\"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := fleet.Submit(t.Context(), p,
		fleet.Submission{Run: fleet.Run{ID: "ws", Tenant: "t", Expert: "e", Query: "go"}, Dir: dir}); err != nil {
		t.Fatal(err)
	}
	answers := <-asked
	r := toolcall.Relay(p, "ws", nil)
	written := make(chan toolcall.Answer, 1)
	go func() {
		a, err := toolcall.Call(t.Context(), r, "write", json.RawMessage(`{"path":"b.txt","content":"beta"}`))
		if err != nil {
			a.Failed, a.Text = true, err.Error()
		}
		written <- a
	}()
	// reads do not wait for the step
	for !strings.Contains(call(t, r, "list", map[string]any{"path": "."}).Text, "b.txt") {
	}
	select {
	case a := <-written:
		t.Errorf("a call is answered before it is stored: %+v", a)
	case <-time.After(100 * time.Millisecond):
	}
	close(answers)
	if a := <-written; a.Failed {
		t.Error(a.Text)
	}
	for range fleet.Follow(t.Context(), p, "ws", nil) {
	}
	got := filepath.Join(t.TempDir(), "fetched")
	if _, err := fleet.Fetch(t.Context(), p, "ws", got, fleet.Tenant{}); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(got, "b.txt")); err != nil || string(data) != "beta" {
		t.Errorf("%q, %v", data, err)
	}
}

// TestLostWorker ends a worker during a call.
func TestLostWorker(t *testing.T) {
	p := connect(t)
	begun := make(chan bool)
	stop, err := p.Serve(fleet.WorkspaceName+"ws", func(ctx context.Context, _ []byte) []byte {
		close(begun)
		<-ctx.Done()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		<-begun
		stop()
	}()
	_, err = toolcall.Call(t.Context(), toolcall.Relay(p, "ws", nil), "read",
		json.RawMessage(`{"path":"a.txt"}`))
	if err == nil || !strings.Contains(err.Error(), "lost during the call") {
		t.Errorf("%v", err)
	}
}

func BenchmarkCall(b *testing.B) {
	p := connect(b)
	work(b, p, "w1")
	hold(b, p, "ws", 0, map[string]string{"a.txt": "alpha"})
	r := toolcall.Relay(p, "ws", nil)
	for tool, args := range map[string]map[string]any{"read": {"path": "a.txt"},
		"write": {"path": "b.txt", "content": "beta"}} {
		call(b, r, tool, args)
		b.Run(tool, func(b *testing.B) {
			for b.Loop() {
				call(b, r, tool, args)
			}
		})
	}
}

// lateFailure is a plane that passes calls to a server, although it did not confirm the server.
type lateFailure struct {
	fleet.Plane
	answer func(ctx context.Context, request []byte) []byte
}

func (p *lateFailure) Serve(_ string, answer func(context.Context, []byte) []byte) (func(), error) {
	p.answer = answer
	return nil, context.DeadlineExceeded
}

func (p *lateFailure) Call(ctx context.Context, _ string, request []byte) ([]byte, error) {
	return p.answer(ctx, request), nil
}

// TestOpenFails carries out no call that arrives while a desk fails to open.
func TestOpenFails(t *testing.T) {
	x, err := skill.New(skill.Config{Dir: t.TempDir(), Unfenced: true})
	if err != nil {
		t.Fatal(err)
	}
	p := &lateFailure{}
	d, err := toolcall.Open(toolcall.Config{Plane: p, Workspace: "ws", Executor: x, Version: "1",
		Commit: func(context.Context, skill.Snapshot) error { return nil }})
	if d != nil || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Open returns %v, %v", d, err)
	}
	a, err := toolcall.Call(t.Context(), toolcall.Relay(p, "ws", nil), "write",
		json.RawMessage(`{"path":"a.txt","content":"x"}`))
	if _, failed := os.Stat(filepath.Join(x.Dir(), "a.txt")); failed == nil {
		t.Errorf("the call wrote a file: %+v, %v", a, err)
	}
}
