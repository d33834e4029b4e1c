package mcpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// connectSDK is connect with a transport of the SDK in place of ours.
func connectSDK(t *testing.T, s *Server) *lineClient {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c := newLineClient(t, inW, outR)
	go func() {
		err := s.SDK().Run(context.Background(), &mcp.IOTransport{Reader: inR, Writer: outW})
		outW.Close()
		c.ended <- err
	}()
	t.Cleanup(func() { inW.Close(); outR.Close() })
	return c
}

var awkward = map[string]string{
	"html":       "<a href=\"x\">&amp;</a>",
	"separators": "a\u2028b\u2029c",
	"control":    "\x00\x01\b\t\n\v\f\r\x1b\x1f\x7f\u0080\u009f",
	"invalid":    "a\xffb\xc3(\xe2\x82\xed\xa0\x80z\xf0\x9f\x98",
	"emoji":      "😀 é \U0010ffff \ufeff \ufffd",
	"slashes":    `\ / \\ \n`,
	"empty":      "",
	"crlf":       "one\r\ntwo\r\n",
	"large":      strings.Repeat("0123456789<\n", 20000),
}

// TestTransportEqualsSDK sends the same requests to a server with our transport and
// to one with the SDK's, and compares the answers byte by byte.
func TestTransportEqualsSDK(t *testing.T) {
	ours, oursDir := newServer(t, awkward)
	sdks, sdksDir := newServer(t, awkward)
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	// before initialize
	add(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"html"}}}`)
	add(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	for _, name := range slices.Sorted(maps.Keys(awkward)) {
		add(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read_file","arguments":{"path":%q}}}`, name)
		arguments, err := json.Marshal(map[string]string{"path": "copy-" + name, "content": awkward[name]})
		if err != nil {
			t.Fatal(err)
		}
		add(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"write_file","arguments":%s}}`, arguments)
		add(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"arguments":{"path":%q},"name":"read_file"}}`, "copy-"+name)
		add(`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"edit_file","arguments":{"path":%q,"old_text":"a","new_text":"A","dry_run":true}}}`, name)
	}
	for _, id := range []string{`0`, `7`, `-7`, `-0`, `123456789012345`, `9007199254740991`, `1e2`, `1.0`,
		`""`, `"x"`, `"<&>"`, `"é"`, `"\u0041"`, `"a\\b"`, `"\u2028"`, `" "`} {
		add(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"html"}}}`, id)
		add(` { "params" : { "arguments" : { "path" : "missing" } , "name" : "read_file" } , "method" : "tools/call" , "id" : %s , "jsonrpc" : "2.0" }`, id)
	}
	for _, params := range []string{
		`{"name":"read_file"}`, `{"name":"read_file","arguments":null}`,
		`{"name":"read_file","arguments":[1]}`, `{"name":"read_file","arguments":"x"}`,
		`{"name":"read_file","arguments":{}}`, `{"name":"read_file","arguments":{"path":5}}`,
		`{"name":"read_file","arguments":{"path":"\ud800"}}`,
		`{"name":"read_file","arguments":{"path":"html","path":"empty"}}`,
		`{"name":"read_file","arguments":{"path":"html"},"more":1}`,
		`{"name":"read_file","arguments":{"path":"html"},"_meta":{}}`,
		`{"name":"read_file","arguments":{"path":"html"},"_meta":null}`,
		`{"name":"read_file","arguments":{"path":"html"},"_meta":{"progressToken":1}}`,
		`{"name":"read_file","arguments":{"path":"html"},"_meta":{"a/b":[1]}}`,
		`{"name":"no_such","arguments":{}}`, `{"name":"","arguments":{}}`,
		`{"name":"READ_FILE","arguments":{"path":"html"}}`, `{"name":"cp","arguments":{}}`,
		`{"name":"rea\u0064_file","arguments":{"path":"html"}}`, `{"name":"<x>","arguments":{}}`,
		`{"name":"write_file","arguments":{"path":"/proc/x","content":"x"}}`,
		`{"name":"list_directory","arguments":{"path":"."}}`,
		`{"name":"file_exists","arguments":{"path":"html"}}`,
		`{"name":"move_file","arguments":{"src":"missing","dst":"b"}}`,
	} {
		add(`{"jsonrpc":"2.0","id":8,"method":"tools/call","params":%s}`, params)
	}
	add(`{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"html"}},"more":1}`)
	add(`{"jsonrpc":"2.0","id":9,"method":"ping"}`)
	const newest = `{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"}}`
	add(`{"jsonrpc":"2.0","id":9,"method":"tools/list"}`)
	for _, params := range []string{`null`, `{}`, `{"cursor":""}`, `{"cursor":"x"}`,
		`{"_meta":` + newest + `}`} {
		add(`{"jsonrpc":"2.0","id":9,"method":"tools/list","params":%s}`, params)
	}
	add(`{"jsonrpc":"2.0","id":9,"method":"no/such","params":{}}`)
	a, b := connect(t, ours), connectSDK(t, sdks)
	for _, line := range lines {
		a.send(line)
		b.send(line)
		got, want := strings.ReplaceAll(a.next(), oursDir, "WORK"),
			strings.ReplaceAll(b.next(), sdksDir, "WORK")
		// the SDK leaves the code out
		want = strings.Replace(want, `"error":{"code":0,`, `"error":{"code":-32600,`, 1)
		if got != want {
			t.Errorf("%.200s\n got %.300s\nwant %.300s", line, got, want)
		}
	}
	if err := a.end(); err != nil {
		t.Error(err)
	}
}

// BenchmarkCall is a call over pipes, by our transport and by the SDK's.
func BenchmarkCall(b *testing.B) {
	for _, bb := range []struct {
		name  string
		serve func(*Server, io.ReadCloser, io.WriteCloser) error
	}{
		{"ours", func(s *Server, in io.ReadCloser, out io.WriteCloser) error {
			return s.Stdio(b.Context(), in, out)
		}},
		{"sdk", func(s *Server, in io.ReadCloser, out io.WriteCloser) error {
			return s.SDK().Run(b.Context(), &mcp.IOTransport{Reader: in, Writer: out})
		}},
	} {
		b.Run(bb.name, func(b *testing.B) { benchmarkCall(b, bb.serve) })
	}
}

func benchmarkCall(b *testing.B, serve func(*Server, io.ReadCloser, io.WriteCloser) error) {
	s, _ := newServer(b, map[string]string{"a.txt": strings.Repeat("0123456789abcde\n", 128)})
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- serve(s, inR, outW) }()
	defer func() {
		inW.Close()
		<-ended
	}()
	lines := bufio.NewReader(outR)
	ask := func(line string) string {
		if _, err := io.WriteString(inW, line+"\n"); err != nil {
			b.Fatal(err)
		}
		answer, err := lines.ReadString('\n')
		if err != nil {
			b.Fatal(err)
		}
		return answer
	}
	ask(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"b","version":"1"}}}`)
	read := call(1, "read_file", `{"path":"a.txt"}`)
	ask(read)
	b.ReportAllocs()
	for b.Loop() {
		if answer := ask(read); len(answer) < 2048 {
			b.Fatal(answer)
		}
	}
}

// FuzzRoute sends any line: the server neither falls over nor stays silent to a
// request, and answers the next.
func FuzzRoute(f *testing.F) {
	f.Add(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"file_exists","arguments":{"path":"a"}}}`)
	f.Add(`{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"file_exists"}}`)
	f.Add(`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"x"}]`)
	f.Add(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	f.Add(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`)
	f.Add(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	f.Add(`{"":`)
	s, _ := newServer(f, nil)
	f.Fuzz(func(t *testing.T, line string) {
		if strings.ContainsAny(line, "\n\r") || strings.Contains(line, "last") {
			return
		}
		c := connect(t, s)
		c.greet("2025-03-26", "{}")
		c.send(call(0, "file_exists", `{"path":"a"}`))
		c.next()
		c.send(line, `{"jsonrpc":"2.0","id":"last","method":"ping"}`)
		for !strings.Contains(c.next(), `"id":"last","result":{}`) {
		}
		if err := c.end(); err != nil {
			t.Error(err)
		}
		for extra := range c.lines { // an answer that came after
			if !json.Valid([]byte(extra)) {
				t.Errorf("the server says %q", extra)
			}
		}
	})
}
