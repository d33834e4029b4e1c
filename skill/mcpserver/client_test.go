package mcpserver

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"textskill/skill"
	"textskill/skill/dialect"
)

// patience is how long a test waits for what has to come.
const patience = time.Minute

// newServer serves a new workspace with the given files. A name that ends in a
// slash is a folder.
func newServer(t testing.TB, files map[string]string, change ...func(*Config)) (*Server, string) {
	t.Helper()
	dir := newWorkspace(t, files)
	cfg := Config{Executor: newExecutor(t, dir), Dialects: []*dialect.Dialect{dialect.Filesystem},
		Version: "1"}
	for _, f := range change {
		f(&cfg)
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s, dir
}

func newExecutor(t testing.TB, dir string) *skill.Executor {
	t.Helper()
	x, err := skill.New(skill.Config{Dir: dir, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

func newWorkspace(t testing.TB, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		path := filepath.Join(dir, name)
		if strings.HasSuffix(name, "/") {
			err = os.MkdirAll(path, 0o755)
		} else if err = os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
			err = os.WriteFile(path, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// lineClient is a client that writes lines and reads lines.
type lineClient struct {
	t     *testing.T
	in    io.WriteCloser
	out   io.Closer
	lines chan string
	read  chan struct{} // closed when all lines are
	ended chan error    // how the server ended
}

// connect serves a client over pipes in this process.
func connect(t *testing.T, s *Server) *lineClient {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c := newLineClient(t, inW, outR)
	go func() {
		err := s.Stdio(t.Context(), inR, outW)
		outW.Close()
		c.ended <- err
	}()
	t.Cleanup(func() { inW.Close(); outR.Close() })
	return c
}

// start serves a client from a process of its own.
func start(t *testing.T, dir, dialect string) (*lineClient, *exec.Cmd) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), processVar+"="+dialect+" "+dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := newLineClient(t, in, out)
	go func() {
		<-c.read // Wait closes the pipe
		c.ended <- cmd.Wait()
	}()
	t.Cleanup(func() { cmd.Process.Kill() })
	return c, cmd
}

func newLineClient(t *testing.T, in io.WriteCloser, out io.ReadCloser) *lineClient {
	c := &lineClient{t: t, in: in, out: out, lines: make(chan string, 10000), read: make(chan struct{}),
		ended: make(chan error, 1)}
	go func() {
		defer close(c.read)
		defer close(c.lines)
		r := bufio.NewReaderSize(out, 1<<20)
		for {
			line, err := r.ReadString('\n')
			if line != "" {
				c.lines <- line
			}
			if err != nil {
				return
			}
		}
	}()
	return c
}

// send writes lines, each in its own right.
func (c *lineClient) send(lines ...string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, strings.Join(lines, "\n")+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

// next returns the next line of the server.
func (c *lineClient) next() string {
	c.t.Helper()
	select {
	case line, ok := <-c.lines:
		if !ok {
			c.t.Fatal("the server sends nothing more")
		}
		return strings.TrimSuffix(line, "\n")
	case <-time.After(patience):
		c.t.Fatal("the server does not answer")
	}
	panic("unreachable")
}

// answer is what a line of the server says.
type answer struct {
	ID     json.RawMessage
	Method string
	Result struct {
		Content []struct{ Type, Text string }
		IsError bool
		Tools   []struct {
			Name        string
			Annotations struct{ ReadOnlyHint, DestructiveHint, IdempotentHint, OpenWorldHint *bool }
		}
		ProtocolVersion string
	}
	Error struct {
		Code    int
		Message string
	}
	Params json.RawMessage
}

func (c *lineClient) parse(line string) (a answer) {
	c.t.Helper()
	if err := json.Unmarshal([]byte(line), &a); err != nil {
		c.t.Fatalf("%v in %s", err, line)
	}
	return a
}

// ask sends a line and returns the next answer.
func (c *lineClient) ask(line string) answer {
	c.t.Helper()
	c.send(line)
	return c.parse(c.next())
}

// greet begins a session of a version of the protocol.
func (c *lineClient) greet(version, capabilities string) {
	c.t.Helper()
	a := c.ask(`{"jsonrpc":"2.0","id":"greeting","method":"initialize","params":{"protocolVersion":"` + version +
		`","capabilities":` + capabilities + `,"clientInfo":{"name":"test","version":"1"}}}`)
	if a.Result.ProtocolVersion != version {
		c.t.Fatalf("the server answers to version %s: %+v", version, a)
	}
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// end closes the input and returns how the server ended.
func (c *lineClient) end() error {
	c.t.Helper()
	c.in.Close()
	return c.wait()
}

func (c *lineClient) wait() error {
	c.t.Helper()
	select {
	case err := <-c.ended:
		return err
	case <-time.After(patience):
		c.t.Fatal("the server does not end")
	}
	panic("unreachable")
}

// call is a line that calls a tool.
func call(id any, name, arguments string) string {
	raw, err := json.Marshal(id)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s}}`,
		raw, name, arguments)
}

// text is the one text of a reply.
func (a answer) text() string {
	if len(a.Result.Content) != 1 || a.Result.Content[0].Type != "text" {
		return fmt.Sprintf("not one text: %+v", a)
	}
	return a.Result.Content[0].Text
}
