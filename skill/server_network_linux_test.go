package skill

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"textskill/testdata/needs"
)

// A server of a workspace is reached by its commands, also from another program, and by
// programs of this machine at the server's port. Nothing else of the workspace is.
func TestServersMeetCommands(t *testing.T) {
	t.Parallel()
	x := fenced(t, Config{})
	need(t, x, "python3", "curl")
	needs.That(t, x.process.Fence().Alone, "network namespaces", "let users make them")
	endServers(t, x)
	port := needs.Port(t)
	layout(t, x.Dir(), "a.txt=from the server\n")
	own := mustExec(t, x, sh(fmt.Sprintf("python3 -m http.server %d >/dev/null 2>&1 & sleep 1; kill $!", port)))
	if own.Failed() {
		t.Errorf("the port is not free: %s", own.Stderr)
	}
	command := fmt.Sprintf("python3 -m http.server --bind 127.0.0.1 %d & python3 -m http.server --bind 127.0.0.1 %d", port, port+1)
	must[ServerState](t, x, StartServer{Command: command, Port: port, Wait: 20 * time.Second,
		MustListen: true})
	other := fenced(t, Config{Dir: x.Dir()})
	stranger := fenced(t, Config{})
	const get = "curl -sS --retry 5 --retry-connrefused --retry-delay 1 http://localhost:%d/a.txt"
	for name, tt := range map[string]struct {
		x    *Executor
		port int
		want string
	}{"a command": {x, port, "from the server\n"}, "its other port": {x, port + 1, "from the server\n"},
		"another program": {other, port, "from the server\n"}, "another workspace": {stranger, port, ""}} {
		script := fmt.Sprintf(get, tt.port)
		if tt.want == "" {
			script = strings.Replace(script, "--retry 5 ", "", 1)
		}
		if got := mustExec(t, tt.x, sh(script)); string(got.Stdout) != tt.want {
			t.Errorf("%s: %s%s", name, got.Stdout, got.Stderr)
		}
	}
	for range 20 { // more than one fork of the helper makes sockets for
		if got := getLocal(t, port, "a.txt"); got != "from the server\n" {
			t.Errorf("from this machine: %s", got)
		}
	}
	if got := getLocal(t, port+1, "a.txt"); !strings.Contains(got, "connection refused") {
		t.Errorf("a port that was not named, from this machine: %s", got)
	}
	must[ServerState](t, x, StopServer{ServerName{Port: port}})
	if got := getLocal(t, port, "a.txt"); !strings.Contains(got, "connection refused") {
		t.Errorf("after its end: %s", got)
	}
}

// A server in the foreground is reached at its port while it runs.
func TestServerInTheForeground(t *testing.T) {
	t.Parallel()
	x := fenced(t, Config{})
	need(t, x, "python3")
	port := needs.Port(t)
	layout(t, x.Dir(), "a.txt=hello\n")
	run := sh(fmt.Sprintf("exec timeout 20 python3 -m http.server --bind 127.0.0.1 %d", port))
	run.Port, run.Timeout = port, 3*time.Second
	done := make(chan error)
	go func() {
		_, err := x.Execute(t.Context(), &Session{}, run)
		done <- err
	}()
	eventually(t, "it to answer", func() bool { return getLocal(t, port, "a.txt") == "hello\n" })
	if err := <-done; err != nil {
		t.Error(err)
	}
	if got := getLocal(t, port, "a.txt"); !strings.Contains(got, "connection refused") {
		t.Errorf("after its end: %s", got)
	}
}

// getLocal returns a file of a server on this machine, or the error.
func getLocal(t *testing.T, port int, name string) string {
	t.Helper()
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Get(fmt.Sprintf("http://127.0.0.1:%d/%s", port, name))
	if err != nil {
		return err.Error()
	}
	defer res.Body.Close()
	data, _ := io.ReadAll(res.Body)
	return string(data)
}

// Tests that open ports work in the network of the commands, at any port, for any user.
func TestCommandsListen(t *testing.T) {
	needs.GoCache(t)
	x := fenced(t, Config{ShareGo: true})
	needs.That(t, x.process.Fence().Alone, "network namespaces", "let users make them")
	layout(t, x.Dir(), "m/go.mod=module example.org/m\n\ngo 1.26\n",
		"m/m_test.go=package m\n\nimport (\n\t\"net\"\n\t\"net/http/httptest\"\n\t\"testing\"\n)\n\n"+
			"func TestListen(t *testing.T) {\n\thttptest.NewServer(nil).Close()\n\tfor _, to := range [][2]string{{\"udp\", \":0\"}, {\"tcp\", \"[::1]:0\"}, {\"tcp\", \":80\"}, {\"unix\", \"@abstract\"}} {\n"+
			"\t\tif to[0] == \"udp\" {\n\t\t\tif _, err := net.ListenPacket(to[0], to[1]); err != nil {\n\t\t\t\tt.Error(err)\n\t\t\t}\n\t\t} else if _, err := net.Listen(to[0], to[1]); err != nil {\n\t\t\tt.Error(err)\n\t\t}\n\t}\n}\n",
		"a.test.js=const test = require('node:test'), net = require('net'), dgram = require('dgram');\n"+
			"for (const [host, port] of [['127.0.0.1', 0], ['::1', 0], ['127.0.0.1', 80]]) test(host + port, (t, done) => { const s = net.createServer(); s.on('error', done); s.listen(port, host, () => s.close(done)); });\n"+
			"test('udp', (t, done) => { const s = dgram.createSocket('udp4'); s.on('error', done); s.bind(0, () => s.close(done)); });\n",
		"a.py=import socket, threading\nfor family, host in (socket.AF_INET, '127.0.0.1'), (socket.AF_INET6, '::1'):\n    s = socket.create_server((host, 0), family=family)\n    socket.create_connection(s.getsockname()[:2])\nprint('met')\n")
	for _, tt := range []struct{ program, script, want string }{
		{"go", "cd m && go test ./... | cut -c1-2", "ok\n"},
		{"node", "node --test a.test.js 2>&1 | grep -c '^# fail 0\\|^ℹ fail 0'", "1\n"},
		{"python3", "python3 a.py", "met\n"},
		{"curl", "curl -sS -m 9 http://203.0.113.9/ 2>&1 | grep -c \"after [0-9]\\{1,3\\} ms\\|nreachable\"", "1\n"},
	} {
		t.Run(tt.program, func(t *testing.T) {
			need(t, x, tt.program)
			if got := mustExec(t, x, sh(tt.script)); string(got.Stdout) != tt.want || got.Failed() {
				t.Errorf("%s\n%s", got.Stdout, got.Stderr)
			}
		})
	}
}

// Fetch reaches the servers of the workspace at localhost, and no service of this machine, without
// the network. A page of another host does not lead there.
func TestFetchOfOwnServer(t *testing.T) {
	x := fenced(t, Config{})
	need(t, x, "python3")
	needs.That(t, x.process.Fence().Alone, "network namespaces", "let users make them")
	endServers(t, x)
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "of this machine") }))
	defer host.Close()
	port := needs.Port(t)
	layout(t, x.Dir(), "a.txt=hello\n", "s.py="+fmt.Sprintf(`import http.server
class H(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        if self.path == '/away':
            self.send_response(302); self.send_header('Location', 'http://example.org/'); self.end_headers()
        elif self.path == '/host':
            self.send_response(302); self.send_header('Location', %q); self.end_headers()
        else: super().do_GET()
http.server.HTTPServer(('127.0.0.1', %d), H).serve_forever()
`, host.URL, port))
	must[ServerState](t, x, StartServer{Command: "python3 s.py", Port: port, Wait: 20 * time.Second,
		MustListen: true})
	at := fmt.Sprintf("http://localhost:%d", port)
	for address, want := range map[string]string{
		at + "/a.txt": "hello", fmt.Sprintf("http://127.0.0.1:%d/a.txt", port): "hello",
		host.URL: "--allow-local", at + "/host": "--allow-local", at + "/away": "is not reached",
		"http://example.org/": "--network",
	} {
		r, err := x.Execute(t.Context(), &Session{}, Fetch{URL: address, Max: 100})
		got := fmt.Sprint(err)
		if err == nil {
			got = r.(Fetched).Content
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
	allowed := fenced(t, Config{Dir: x.Dir(), AllowDomains: []string{"example.org"}})
	if _, err := allowed.Execute(t.Context(), &Session{}, Fetch{URL: "http://example.net/"}); err == nil ||
		!strings.Contains(err.Error(), "example.net:80 is not reached") {
		t.Errorf("another domain: %v", err)
	}
	if _, err := New(Config{Dir: t.TempDir(), Network: true, AllowDomains: []string{"npm"}}); err == nil {
		t.Error("the network and names of hosts go together")
	}
}

// A server without a port runs; what is typed into it reaches it from any program of its user.
func TestServersTakeInput(t *testing.T) {
	t.Parallel()
	needs.Shell(t)
	x := newExecutor(t, Config{Helper: self(t)})
	endServers(t, x)
	s := must[ServerState](t, x,
		StartServer{Command: "while read -r line; do echo got $line; done; echo over",
			Wait: time.Millisecond})
	if !s.Running || s.Message() != "server "+s.ID+" runs" {
		t.Errorf("%+v", s)
	}
	name := ServerName{ID: s.ID}
	if got := must[ServerLog](t, x, TypeServer{ServerName: name, Text: "a\nb\n"}); string(got.Text) != "got a\ngot b\n" {
		t.Errorf("%q", got.Text)
	}
	y := newExecutor(t, Config{Helper: self(t), Dir: x.Dir()})
	if got := must[ServerLog](t, y, TypeServer{ServerName: name, Text: "c\n", Wait: "got c"}); string(got.Text) != "got c\n" {
		t.Errorf("from another program: %q", got.Text)
	}
	if _, err := x.Execute(t.Context(), &Session{},
		TypeServer{ServerName: name, Text: strings.Repeat("x", 70000)}); err == nil {
		t.Error("70,000 bytes are taken")
	}
	must[ServerState](t, x, StopServer{name})
	if _, err := x.Execute(t.Context(), &Session{}, TypeServer{ServerName: name, Text: "x"}); err == nil {
		t.Error("a server that has ended takes input")
	}
	deaf := must[ServerState](t, x, StartServer{Command: "sleep 100", Wait: time.Millisecond})
	for range 2 {
		_, err := x.Execute(t.Context(), &Session{},
			TypeServer{ServerName: ServerName{ID: deaf.ID}, Text: strings.Repeat("x", 60000)})
		if err != nil && err.Error() != "the server does not read its input" {
			t.Error(err)
		}
	}
}

// A server with a terminal has it as its controlling terminal, and what it prints comes without
// the codes of terminals.
func TestServersHaveTerminals(t *testing.T) {
	needs.Shell(t)
	needs.Program(t, "stty", "sleep")
	x := newExecutor(t, Config{Helper: self(t)})
	endServers(t, x)
	s := must[ServerState](t, x,
		StartServer{Command: "test -t 0 && test -t 1 && tty >$(tty) && stty size; printf '\\033[31mred\\033[0m %s\\n' $TERM; read line < /dev/tty; echo got $line; sleep 1000; echo woken; sleep 1000", TTY: true, Wait: 300 * time.Millisecond})
	name := ServerName{ID: s.ID}
	eventually(t, "it to print", func() bool {
		log := must[ServerLog](t, x, ReadServerLog{ServerName: name})
		text := string(log.Text)
		return strings.Contains(text, "/dev/pts/") && strings.Contains(text, "40 120") && strings.Contains(text, "red")
	})
	if got := must[ServerLog](t, x, TypeServer{ServerName: name, Text: "typed\n", Wait: "got typed"}); string(got.Text) != "typed\ngot typed\n" {
		t.Errorf("%q", got.Text)
	}
	got := must[ServerLog](t, x, TypeServer{ServerName: name, Text: "\x03"})
	eventually(t, "it to be interrupted", func() bool {
		got = must[ServerLog](t, x, ReadServerLog{ServerName: name})
		return !got.Running || strings.Contains(string(got.Text), "woken")
	})
}

// A command that leaves processes behind is told what was ended, and waits for no editor.
func TestExecTellsWhatItEnded(t *testing.T) {
	needs.Shell(t)
	needs.Program(t, "sleep")
	x := newExecutor(t, Config{Helper: self(t)})
	run := sh("sleep 1234 & (sleep 2345; echo late) & sleep 0.2; true | true")
	run.Unattended = true
	if got := mustExec(t, x, run); strings.Join(got.Left, ";") != "sleep 1234;sleep 2345" {
		t.Errorf("%q", got.Left)
	}
	run.Args[1] = "echo x | sort | cat; $EDITOR file && $GIT_EDITOR file && echo \"[$ENV$BASH_ENV]\""
	if got := mustExec(t, x, run); len(got.Left) > 0 || string(got.Stdout) != "x\n[]\n" {
		t.Errorf("%q, %s", got.Left, got.Stdout)
	}
	if _, err := os.Stat("/bin/bash"); err == nil {
		bash := Exec{Command: "/bin/sh", Shell: true,
			Args: []string{"-c", "[[ a == a ]] && set -o pipefail && source /dev/null && echo ${0##*/} {a,b}"}}
		if got := mustExec(t, x, bash); string(got.Stdout) != "bash a b\n" || got.Command != "/bin/sh" {
			t.Errorf("%+v", got)
		}
	}
}
