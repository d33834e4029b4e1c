//go:build unix

package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// large is the size of a file whose answer does not fit into the buffers of a socket.
const large = 512 << 10

// impatient is a server of such a file. It closes a client that takes nothing for a
// moment while some answers wait.
func impatient(t *testing.T, log io.Writer) *Server {
	s, _ := newServer(t, map[string]string{"a.txt": strings.Repeat("x", large)},
		func(c *Config) { c.Log = log })
	s.maxUnread, s.patience = 16*large, 50*time.Millisecond
	return s
}

// serverLog is where a server of a test writes its log.
type serverLog struct {
	mu   sync.Mutex
	text bytes.Buffer
	told chan struct{} // closed at the first line
}

func (l *serverLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.text.Len() == 0 {
		close(l.told)
	}
	return l.text.Write(p)
}

// check waits for the first line, which must say that a client was closed, and how many
// bytes waited for it.
func (l *serverLog) check(t *testing.T, closed string) {
	t.Helper()
	select {
	case <-l.told:
	case <-time.After(patience):
		t.Fatal("nothing is logged")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	m := regexp.MustCompile(`^skill: ` + closed +
		`: (\d+) bytes of answers wait for it, and it took none for `).FindStringSubmatch(l.text.String())
	if m == nil {
		t.Fatalf("the log says %s", &l.text)
	}
	if n, _ := strconv.Atoi(m[1]); n > 48*large {
		t.Errorf("%d bytes waited", n)
	}
}

// callBy are reads.
var callBy = map[string]string{
	"plain":        `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"a.txt"}}}`,
	"with a token": `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"a.txt"},"_meta":{"progressToken":1}}}`,
}

func TestAClientThatDoesNotReadIsClosed(t *testing.T) {
	for by, call := range callBy {
		t.Run(by, func(t *testing.T) {
			log := &serverLog{told: make(chan struct{})}
			s := impatient(t, log)
			inR, in := io.Pipe()
			out, outW := io.Pipe()
			defer out.Close()
			ended := make(chan error, 1)
			go func() { ended <- s.Stdio(t.Context(), inR, outW) }()
			io.WriteString(in, greeting("{}")+"\n")
			if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			go func() {
				for id := range 50 {
					fmt.Fprintf(in, call+"\n", id)
				}
			}()
			log.check(t, "closed the client")
			in.Close()
			if err := <-ended; err != nil {
				t.Errorf("the server ended with %v", err)
			}
		})
	}
}

func TestAClientThatReadsLateGetsAllAnswers(t *testing.T) {
	for by, call := range callBy {
		t.Run(by, func(t *testing.T) {
			s := impatient(t, nil)
			s.patience = patience
			c := connect(t, s)
			c.greet("2025-11-25", "{}")
			const n = 30
			for id := range n {
				c.send(fmt.Sprintf(call, id))
			}
			seen := map[string]bool{}
			for range n {
				a := c.parse(c.next())
				if len(a.text()) != large {
					t.Fatalf("answered %.200s", a.text())
				}
				seen[string(a.ID)] = true
			}
			if len(seen) != n {
				t.Errorf("%d of %d calls are answered", len(seen), n)
			}
		})
	}
}

func TestAnHTTPClientThatDoesNotReadIsClosed(t *testing.T) {
	for by, call := range callBy {
		t.Run(by, func(t *testing.T) {
			log := &serverLog{told: make(chan struct{})}
			s := impatient(t, log)
			path := filepath.Join(t.TempDir(), "s")
			serveHTTP(t, s, HTTP{Addr: "unix:" + path}) // a unix socket holds less than one answer
			dial := func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", path) }
			via := &http.Client{Transport: &http.Transport{DialContext: dial}}
			c := &httpClient{t: t, at: "http://skill/mcp", via: via}
			r, _ := c.post(greeting("{}"))
			c.session = r.Header.Get("Mcp-Session-Id")
			for id := range 50 {
				conn, err := net.Dial("unix", path)
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				if err := c.request(http.MethodPost, fmt.Sprintf(call, id)).Write(conn); err != nil {
					t.Fatal(err)
				}
			}
			log.check(t, "ended the session of a client")
			for r, _ := c.post(fmt.Sprintf(call, 1000)); r.StatusCode != http.StatusNotFound; {
				time.Sleep(time.Millisecond)
				r, _ = c.post(fmt.Sprintf(call, 1000))
			}
			via.CloseIdleConnections()
		})
	}
}
