//go:build unix

package mcpserver

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"textskill/skill/dialect"
)

// TestCancelReachesTheTool cancels a call that ends in no other way, by each door.
func TestCancelReachesTheTool(t *testing.T) {
	pipes := func(t *testing.T, s *Server) mcp.Transport {
		in, toServer := io.Pipe()
		fromServer, out := io.Pipe()
		go s.Stdio(t.Context(), in, out)
		return &mcp.IOTransport{Reader: fromServer, Writer: toServer}
	}
	direct := func(t *testing.T, s *Server) mcp.Transport {
		at, _ := serveHTTP(t, s, HTTP{})
		return &mcp.StreamableClientTransport{Endpoint: at, MaxRetries: -1}
	}
	relayed := func(t *testing.T, s *Server) mcp.Transport {
		var p places
		p.move(s)
		return &mcp.StreamableClientTransport{Endpoint: p.replicas(t),
			HTTPClient: &http.Client{Transport: bearer{}}, MaxRetries: -1}
	}
	for _, tt := range []struct {
		door, version string
		transport     func(*testing.T, *Server) mcp.Transport
	}{
		{"stdio", "2025-11-25", pipes},
		{"stdio", statelessVersion, pipes},
		{"http", "2025-11-25", direct},
		{"http", statelessVersion, direct},
		{"relay", "2025-11-25", relayed},
		{"relay", statelessVersion, relayed},
	} {
		t.Run(tt.door+" "+tt.version, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan bool, 1)
			own, err := dialect.New("own", "", dialect.Func("wait", "Wait until the call is cancelled.",
				func(call context.Context, _ struct{}) (string, error) {
					cancel()
					<-call.Done()
					ended <- true
					return "", call.Err()
				}))
			if err != nil {
				t.Fatal(err)
			}
			s, _ := newServer(t, nil, func(c *Config) { c.Dialects = append(c.Dialects, own) })
			c, err := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil).
				Connect(t.Context(), tt.transport(t, s),
					&mcp.ClientSessionOptions{ProtocolVersion: tt.version})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if r, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "wait"}); err == nil && !r.IsError {
				t.Errorf("a cancelled call is answered %+v", r)
			}
			select {
			case <-ended:
			case <-time.After(patience):
				t.Error("the call goes on")
			}
		})
	}
}

func TestLongCallAfterQuickOnes(t *testing.T) {
	s, dir := newServer(t, map[string]string{"a.txt": "alpha"})
	unlock := lockFolder(t, dir)
	c := connect(t, s)
	c.greet("2025-11-25", "{}")
	for id := range 50 {
		c.ask(call(id, "read_file", `{"path":"a.txt"}`))
	}
	for id := range 10 {
		c.send(call(fmt.Sprint("long", id), "write_file", fmt.Sprintf(`{"path":"b%d","content":"x"}`, id)))
		for n := range 5 {
			if a := c.ask(call(n, "read_file", `{"path":"a.txt"}`)); string(a.ID) != fmt.Sprint(n) ||
				a.text() != "alpha" {
				t.Fatalf("beside %d long calls: %+v", id+1, a)
			}
		}
	}
	c.in.Close()
	unlock()
	for range 10 {
		if a := c.parse(c.next()); a.Result.IsError {
			t.Errorf("got %+v", a)
		}
	}
	if err := c.wait(); err != nil {
		t.Error(err)
	}
}
