//go:build unix

package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"textskill/skill"
	"textskill/skill/dialect"
)

func TestProcessEndsWithItsInput(t *testing.T) {
	dir := newWorkspace(t, map[string]string{"a.txt": "alpha\n"})
	c, _ := start(t, dir, "filesystem")
	c.greet("2025-11-25", "{}")
	for id := range 50 {
		c.send(call(id, "read_file", `{"path":"a.txt"}`))
	}
	if err := c.end(); err != nil {
		t.Fatalf("the server ended with %v", err)
	}
	for range 50 {
		if a := c.parse(c.next()); a.text() != "alpha\n" {
			t.Fatalf("got %+v", a)
		}
	}
}

func TestProcessEndsWithASignal(t *testing.T) {
	dir := newWorkspace(t, nil)
	unlock := lockFolder(t, dir)
	defer unlock()
	c, cmd := start(t, dir, "filesystem")
	c.greet("2025-11-25", "{}")
	c.send(call(1, "write_file", `{"path":"a.txt","content":"x"}`),
		`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	if a := c.parse(c.next()); string(a.ID) != "2" {
		t.Fatalf("got %+v", a)
	}
	cmd.Process.Signal(syscall.SIGTERM)
	if err := c.wait(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
	// a call that is not stopped waits longer than the server
	if a := c.parse(c.next()); string(a.ID) != "1" || !a.Result.IsError {
		t.Errorf("got %+v", a)
	}
}

func TestProcessEndsWhenNobodyReads(t *testing.T) {
	dir := newWorkspace(t, map[string]string{"a.txt": strings.Repeat("x", 1<<20)})
	c, _ := start(t, dir, "filesystem")
	c.greet("2025-11-25", "{}")
	if a := c.ask(call(1, "read_file", `{"path":"a.txt"}`)); len(a.text()) != 1<<20 {
		t.Fatal("not the file")
	}
	c.out.Close()
	c.send(call(2, "read_file", `{"path":"a.txt"}`))
	if err := c.wait(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
}

// lockFolder takes the lock that a change in dir waits for.
func lockFolder(t *testing.T, dir string) (unlock func()) {
	t.Helper()
	x, err := skill.New(skill.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	// the history
	for _, a := range []skill.Args{skill.WriteFile{Path: "begin"}, skill.DeleteFile{Path: "begin"}} {
		if _, err := x.Execute(t.Context(), &skill.Session{}, a); err != nil {
			t.Fatal(err)
		}
	}
	roots, _ := filepath.Glob(os.Getenv("XDG_STATE_HOME") + "/skill/*/root.json")
	i := slices.IndexFunc(roots, func(name string) bool {
		data, _ := os.ReadFile(name)
		return strings.Contains(string(data), `"path":"`+x.Dir()+`"`)
	})
	if i < 0 {
		t.Fatalf("%s is not the root of any history of %q", x.Dir(), roots)
	}
	f, err := os.OpenFile(filepath.Dir(roots[i])+"/lock", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	return func() { f.Close() }
}

func TestWhatIsNoMessageIsAnswered(t *testing.T) {
	s, _ := newServer(t, map[string]string{"a.txt": "alpha"})
	c := connect(t, s)
	if a := c.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); a.Error.Code != -32600 {
		t.Errorf("before the client has greeted: code %d (%s)", a.Error.Code, a.Error.Message)
	}
	c.greet("2025-11-25", "{}")
	tests := []struct {
		line, id string
		code     int
	}{
		{`garbage`, `null`, -32700},
		{`{"jsonrpc":"2.0","id":1,"method":"ping"`, `null`, -32700},
		{`{"jsonrpc":"2.0","id":1,"method":"ping"} {}`, `null`, -32700},
		{"\x00\xff", `null`, -32700},
		{strings.Repeat("[", 100000), `null`, -32700},
		{`[]`, `null`, -32600},
		{`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, `null`, -32600},
		{`42`, `null`, -32600},
		{`{}`, `null`, -32600},
		{`{"jsonrpc":"1.0","id":7,"method":"ping"}`, `7`, -32600},
		{`{"jsonrpc":"2.0","id":7}`, `7`, -32600},
		{`{"jsonrpc":"2.0","id":7,"method":5}`, `7`, -32600},
		{`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, `null`, -32600},
		{`{"jsonrpc":"2.0","id":null,"method":"ping"}`, `null`, -32600},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, `null`, -32600},
		{`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, `null`, -32600},
		{`{"jsonrpc":"2.0","id":7,"method":"ping","params":` + strings.Repeat(`{"a":`, 5000) + `1` +
			strings.Repeat(`}`, 5000) + `}`, `7`, -32600},
		{`{"jsonrpc":"2.0","id":7,"method":"no/such"}`, `7`, -32601},
		{`{"jsonrpc":"2.0","id":7,"method":"initialize"}`, `7`, -32600},
		{`{"jsonrpc":"2.0","id":7,"method":"logging/setLevel","params":{"level":[]}}`, `7`, -32602},
		{`{"jsonrpc":"2.0","id":7,"method":"prompts/get","params":"x"}`, `7`, -32602},
		{`{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}`,
			`7`, -32602},
		{`{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"cursor":5}}`, `7`, -32602},
		{`{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"cursor":"x"}}`, `7`, -32602},
		{`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":[]}`, `7`, -32602},
		{`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{}}`, `7`, -32602},
		{`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":5}}`, `7`, -32602},
		{`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"read_file","_meta":5}}`,
			`7`, -32602},
		{`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"no_such"}}`, `7`, -32602},
		{`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"no_such","arguments":{}}}`,
			`7`, -32602},
		{strings.Repeat("x", maxLine+10), `null`, -32600},
	}
	for _, tt := range tests {
		a := c.ask(tt.line)
		shown := tt.line[:min(len(tt.line), 100)]
		if string(a.ID) != tt.id || a.Error.Code != tt.code {
			t.Errorf("%s\n got id %s code %d (%s)\nwant id %s code %d", shown, a.ID, a.Error.Code,
				a.Error.Message, tt.id, tt.code)
		}
		if a.Error.Message == "" || strings.Contains(a.Error.Message, "json:") ||
			strings.Contains(a.Error.Message, "mcp.") {
			t.Errorf("%s\n got message %q", shown, a.Error.Message)
		}
	}
	c.send("", " \t", `{"jsonrpc":"2.0","method":"no/such/notification"}`,
		`{"jsonrpc":"2.0","id":99,"result":{}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":[]}`)
	if a := c.ask(call(1, "read_file", `{"path":"a.txt"}`) + "\r"); a.text() != "alpha" {
		t.Errorf("afterwards the server answers %+v", a)
	}
}

func TestArgumentsOfEveryKindAreAnswered(t *testing.T) {
	s, dir := newServer(t, map[string]string{"a.txt": "alpha", "x.png/": ""})
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	sparse, err := os.Create(filepath.Join(dir, "sparse"))
	if err != nil {
		t.Fatal(err)
	}
	if err := sparse.Truncate(10 << 30); err != nil {
		t.Fatal(err)
	}
	sparse.Close()
	c := connect(t, s)
	c.greet("2025-11-25", "{}")
	for id, params := range []string{
		`{"name":"read_file"}`,
		`{"name":"read_file","arguments":null}`,
		`{"name":"read_file","arguments":[]}`,
		`{"name":"read_file","arguments":"{}"}`,
		`{"name":"read_file","arguments":{}}`,
		`{"name":"read_file","arguments":{"path":5}}`,
		`{"name":"read_file","arguments":{"path":null}}`,
		`{"name":"read_file","arguments":{"path":"missing"}}`,
		`{"name":"read_file","arguments":{"path":"/etc/passwd"}}`,
		`{"name":"read_file","arguments":{"path":"fifo"}}`,
		`{"name":"read_file","arguments":{"path":"sparse"}}`,
		`{"name":"read_file","arguments":{"path":"x.png"}}`,
		`{"name":"read_file","arguments":{"path":"a\u0000b"}}`,
		`{"name":"write_file","arguments":{"path":"fifo","content":"x"}}`,
		`{"name":"write_file","arguments":{"path":"x.png","content":"x"}}`,
	} {
		began := time.Now()
		a := c.ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":%s}`, id, params))
		if !a.Result.IsError || a.text() == "" || len(a.text()) > 1000 {
			t.Errorf("%s\n got %+v", params, a)
		}
		if d := time.Since(began); d > time.Minute {
			t.Errorf("%s took %v", params, d)
		}
	}
}

func TestLargeMessages(t *testing.T) {
	s, dir := newServer(t, nil)
	c := connect(t, s)
	c.greet("2025-11-25", "{}")
	content := strings.Repeat("0123456789abcde\n", 5<<20/16)
	arguments, err := json.Marshal(map[string]string{"path": "large", "content": content})
	if err != nil {
		t.Fatal(err)
	}
	if a := c.ask(call(1, "write_file", string(arguments))); a.Result.IsError {
		t.Fatalf("got %s", a.text())
	}
	if got, err := os.ReadFile(filepath.Join(dir, "large")); err != nil || string(got) != content {
		t.Errorf("%d bytes were written as %d, %v", len(content), len(got), err)
	}
	if a := c.ask(call(2, "read_file", `{"path":"large"}`)); !a.Result.IsError ||
		!strings.Contains(a.text(), "head") {
		t.Errorf("a file that is too large for an answer: %.200s", a.text())
	}
	for i := range 10000 {
		if err := os.Link(filepath.Join(dir, "large"), filepath.Join(dir, fmt.Sprintf("%05d", i))); err != nil {
			t.Fatal(err)
		}
	}
	if a := c.ask(call(3, "list_directory", `{"path":"."}`)); !strings.Contains(a.text(), "09998") {
		t.Errorf("got a list of %d bytes", len(a.text()))
	}
}

// TestLinesAreReadable sends no line that clients do not read, which end the connection instead.
func TestLinesAreReadable(t *testing.T) {
	pdf := func(n int) string { return "%PDF-1.4\n" + strings.Repeat("\x80", n) }
	s, dir := newServer(t, map[string]string{"8.pdf": pdf(8 << 20), "7.pdf": pdf(7 << 20), "4.pdf": pdf(4 << 20),
		"5.pdf": pdf(5 << 20), "8.bin": "\x1f\x8b" + strings.Repeat("\x80", 8<<20),
		"bell.txt": strings.Repeat("\a", 3<<20), "a.txt": "alpha\n"},
		func(cfg *Config) { cfg.Dialects = []*dialect.Dialect{dialect.Workspace} })
	wordy, err := dialect.New("wordy", "", dialect.Func("repeat", "repeats a bell",
		func(_ context.Context, in struct{ N int }) (map[string]string, error) {
			return map[string]string{"bells": strings.Repeat("\a", in.N)}, nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	s2, err := New(Config{Executor: s.cfg.Executor, Dialects: []*dialect.Dialect{wordy}})
	if err != nil {
		t.Fatal(err)
	}
	resource := func(name string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":%q}}`,
			fileURI(filepath.Join(dir, name)))
	}
	const none, room = 1 << 10, "more than there is room for in this answer"
	for _, tt := range []struct {
		server *Server
		line   string
		most   int
		want   string
	}{
		{s, call(1, "read", `{"paths":["8.pdf"]}`), none, room},
		{s, call(1, "read", `{"paths":["7.pdf"]}`), maxAnswer, "7.pdf: application/pdf, 7340041 bytes]"},
		{s, call(1, "read", `{"paths":["4.pdf","5.pdf"]}`), maxAnswer, "5.pdf: application/pdf, 5242889 bytes, " + room},
		{s, resource("7.pdf"), maxAnswer, `"blob":`},
		{s, resource("8.bin"), none, "more than the 7500000"},
		{s, resource("bell.txt"), none, "clients read at most 10485760 bytes"},
		{s2, call(1, "repeat", `{"N":2000000}`), none, "clients read at most 10485760 bytes"},
		{s2, call(1, "repeat", `{"N":200000}`), maxAnswer, `\u0007`},
		{s, call(1, "read", `{"paths":["a.txt"]}`), none, "alpha"},
	} {
		c := connect(t, tt.server)
		c.greet("2025-11-25", "{}")
		c.send(tt.line)
		if got := c.next(); len(got) > tt.most || !strings.Contains(got, tt.want) {
			t.Errorf("%.200s\nis answered with %d bytes, want at most %d and %q: %.300s", tt.line, len(got), tt.most,
				tt.want, got)
		}
	}
}

func TestCancelStopsACall(t *testing.T) {
	s, dir := newServer(t, map[string]string{"a.txt": "alpha"})
	unlock := lockFolder(t, dir)
	c := connect(t, s)
	c.greet("2025-11-25", "{}")
	withToken := `{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"write_file","arguments":{"path":"b","content":"x"},"_meta":{"progressToken":1}}}`
	c.send(call("first", "read_file", `{"path":"a.txt"}`))
	c.next()
	c.send(call("a", "write_file", `{"path":"a","content":"x"}`), withToken)
	for i, line := range []string{call("c", "read_file", `{"path":"a.txt"}`),
		`{"jsonrpc":"2.0","id":"c","method":"ping"}`} {
		if a := c.ask(line); string(a.ID) != `"c"` {
			t.Fatalf("call %d is not answered beside the others: %+v", i, a)
		}
	}
	if a := c.ask(call("a", "read_file", `{"path":"a.txt"}`)); string(a.ID) != "null" ||
		a.Error.Code != -32600 {
		t.Errorf("an id that is in use is answered %+v", a)
	}
	for _, id := range []string{"a", "b", "nobody's"} {
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%q}}`, id))
	}
	if a := c.ask(`{"jsonrpc":"2.0","id":"d","method":"ping"}`); string(a.ID) != `"d"` {
		t.Errorf("a cancelled call is answered: %+v", a)
	}
	awaitRunning(t, s, 0) // although the lock is held
	if err := c.end(); err != nil {
		t.Fatal(err)
	}
	unlock()
	for _, name := range []string{"a", "b"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			t.Errorf("the cancelled call has written %s", name)
		}
	}
}

// TestCancelStopsALongFind cancels a find that has begun, and lets it go on then.
func TestCancelStopsALongFind(t *testing.T) {
	const folders = 500
	files := make(map[string]string)
	for i := range folders {
		files[fmt.Sprintf("%03d/", i)] = ""
	}
	begun, goOn := make(chan bool, folders+1), make(chan bool)
	s, _ := newServer(t, files, func(cfg *Config) {
		cfg.Progress = func(ctx context.Context, _ func(done, total int64, note string)) context.Context {
			return skill.WithProgress(ctx, func(int64, int64, string) {
				begun <- true
				<-goOn
			})
		}
	})
	c := connect(t, s)
	c.greet("2025-11-25", "{}")
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_files","arguments":{"path":".","pattern":"**/*77*"},"_meta":{"progressToken":1}}}`)
	<-begun
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	if a := c.ask(`{"jsonrpc":"2.0","id":2,"method":"ping"}`); string(a.ID) != "2" {
		t.Errorf("got %+v", a)
	}
	close(goOn)
	if err := c.end(); err != nil {
		t.Fatal(err)
	}
	if n := len(begun); n > folders/2 {
		t.Errorf("the cancelled call went on through %d of %d folders", n, folders)
	}
	for line := range c.lines {
		t.Errorf("a cancelled call is answered: %.100s", line)
	}
}

func TestCallsUnderWayWhenTheInputEnds(t *testing.T) {
	s, dir := newServer(t, nil)
	unlock := lockFolder(t, dir)
	c := connect(t, s)
	c.greet("2025-11-25", "{}")
	c.send(call(1, "write_file", `{"path":"a","content":"x"}`))
	c.in.Close()
	time.Sleep(50 * time.Millisecond)
	unlock()
	if a := c.parse(c.next()); a.Result.IsError {
		t.Errorf("got %+v", a)
	}
	if err := c.wait(); err != nil {
		t.Error(err)
	}
}

func TestManyCallsAtOnce(t *testing.T) {
	s, dir := newServer(t, map[string]string{"edit.txt": strings.Repeat("x", 8)})
	c := connect(t, s)
	c.greet("2025-11-25", "{}")
	for id := range 100 {
		switch id % 4 {
		case 0:
			c.send(call(id, "write_file", fmt.Sprintf(`{"path":"f%d","content":"%d"}`, id, id)))
		case 1:
			c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"_meta":{},"name":"append_file","arguments":{"path":"all","content":"%d\n"}}}`, id, id))
		case 2:
			c.send(call(id, "append_file", fmt.Sprintf(`{"path":"all","content":"%d\n"}`, id)))
		default:
			if id < 32 {
				c.send(call(id, "edit_file", `{"path":"edit.txt","old_text":"x","new_text":"yz"}`))
			} else {
				c.send(call(id, "directory_tree", `{"path":"."}`))
			}
		}
	}
	seen := make(map[string]bool)
	for range 100 {
		a := c.parse(c.next())
		if a.Result.IsError || seen[string(a.ID)] {
			t.Errorf("got %+v", a)
		}
		seen[string(a.ID)] = true
	}
	edited, _ := os.ReadFile(filepath.Join(dir, "edit.txt"))
	all, _ := os.ReadFile(filepath.Join(dir, "all"))
	if string(edited) != strings.Repeat("yz", 8) || strings.Count(string(all), "\n") != 50 {
		t.Errorf("edits were lost: %q, %d of 50 lines", edited, strings.Count(string(all), "\n"))
	}
}

// slow is a client that takes its time with every line.
type slow struct{ strings.Builder }

func (w *slow) Write(p []byte) (int, error) {
	time.Sleep(10 * time.Millisecond)
	return w.Builder.Write(p)
}

// TestEverythingIsWritten ends the input while answers wait for the client.
func TestEverythingIsWritten(t *testing.T) {
	s, _ := newServer(t, map[string]string{"a.txt": "alpha\n"})
	in := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n"
	for id := range 20 {
		in += call(id+1, "read_file", `{"path":"a.txt"}`) + "\n"
	}
	var out slow
	if err := s.Stdio(t.Context(), strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(out.String(), "\n"); got != 21 {
		t.Errorf("%d answers, want 21:\n%s", got, out.String())
	}
}
