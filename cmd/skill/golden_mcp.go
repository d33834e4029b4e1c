package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// handshake begins a conversation that does not begin itself.
const handshake = `{"jsonrpc":"2.0","id":"handshake","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"skill test","version":"1"}}}`

// converse plays a section mcp: JSON-RPC messages of a client, one per line. It returns what
// the server answers. A request is sent after the answer to the one before, so that answers
// have an order.
func (g *golden) converse(text string) (string, error) {
	fromClient, client := io.Pipe()
	server, fromServer := io.Pipe()
	var errs bytes.Buffer
	c := g.cli([]string{"mcp"})
	c.stdin, c.stdout, c.stderr = fromClient, fromServer, &errs
	flags := g.flags
	if !slices.ContainsFunc(flags, func(f string) bool { return strings.HasPrefix(f, "--tools") }) {
		flags = append([]string{"--tools", mcpDefault[0]}, flags...)
	}
	code := make(chan int, 1)
	go func() {
		code <- c.run(g.ctx, slices.Concat(g.base(), []string{"mcp"}, flags))
		fromClient.Close()
		fromServer.Close()
	}()
	talk := &conversation{client: client, server: make(chan string, 1<<12)}
	go talk.listen(server)
	talk.play(strings.Split(g.expand(text), "\n"))
	return g.outcome(talk.heard.String()+errs.String(), <-code), c.refused
}

// A conversation is that of an MCP client with a server.
type conversation struct {
	client io.WriteCloser
	server chan string // what it sends; closed after the last
	lines  []string    // that the client has not sent
	heard  strings.Builder
}

// A message is what a conversation looks at in a line.
type message struct {
	ID     json.RawMessage
	Method string
}

func messageOf(line string) (m message) {
	var members map[string]json.RawMessage // names are exact, unlike the fields of a struct
	json.Unmarshal([]byte(line), &members) // a line that is not a message has neither
	json.Unmarshal(members["method"], &m.Method)
	if id, ok := members["id"]; ok {
		var value any
		json.Unmarshal(id, &value) // 1.0 and 1 are one ID
		m.ID, _ = json.Marshal(value)
	}
	return m
}

// play sends the lines, and reads the answers until the server ends.
func (t *conversation) play(lines []string) {
	t.lines = slices.DeleteFunc(lines, func(line string) bool { return strings.TrimSpace(line) == "" })
	if len(t.lines) > 0 && messageOf(t.lines[0]).Method != "initialize" {
		t.send(handshake)
		t.heard.Reset()
		t.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	for len(t.lines) > 0 {
		line := t.lines[0]
		t.lines = t.lines[1:]
		t.send(line)
	}
	t.client.Close()
	for t.hear() != "" {
	}
}

// send sends a line and, if it is a request, reads until it is answered, or an error
// says that the server saw no ID. A request of the server is answered by the next line, or
// refused if that does not answer it.
func (t *conversation) send(line string) {
	if _, err := io.WriteString(t.client, line+"\n"); err != nil {
		return // the server has ended
	}
	m := messageOf(line)
	if m.ID == nil || m.Method == "" {
		return
	}
	for {
		answer := t.hear()
		switch got := messageOf(answer); {
		case answer == "", got.Method == "" && (bytes.Equal(got.ID, m.ID) || string(got.ID) == "null"):
			return
		case got.Method != "" && got.ID != nil && len(t.lines) > 0 && answers(t.lines[0], got):
			next := t.lines[0]
			t.lines = t.lines[1:]
			t.send(next)
		case got.Method != "" && got.ID != nil:
			t.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"the conversation has no answer"}}`, got.ID))
		}
	}
}

// answers reports whether a line of the client answers a request of the server.
func answers(line string, request message) bool {
	m := messageOf(line)
	return m.Method == "" && bytes.Equal(m.ID, request.ID)
}

// listen reads what the server sends, which does not wait until it is heard: a server that
// cannot send does not read either.
func (t *conversation) listen(server io.Reader) {
	defer close(t.server)
	for r := bufio.NewReader(server); ; {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		t.server <- line
	}
}

// hear returns the next line of the server, "" after the last.
func (t *conversation) hear() string {
	line := <-t.server
	t.heard.WriteString(line)
	return line
}
