package toolcall

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"textskill/skill/fleet"
	"textskill/skill/mcpserver"
)

// ErrNotHeld says that no worker holds the workspace.
var ErrNotHeld = errors.New("no worker holds")

// Relay returns a function that sends an MCP message to the worker that holds the workspace at
// that moment. It fails with [ErrNotHeld] if no worker holds the workspace. tools names the
// served dialects; nil means the tools of [dialect.Workspace].
func Relay(p fleet.Plane, workspace string, tools []string) mcpserver.Relay {
	return func(ctx context.Context, m mcpserver.Message) (reply mcpserver.Reply, err error) {
		asked := request{Tools: tools, Message: m}
		if m.Notify != nil {
			asked.Notify = "notify." + rand.Text()
			stop, err := p.Listen(asked.Notify, m.Notify)
			if err != nil {
				return reply, err
			}
			defer stop()
		}
		data, err := json.Marshal(asked)
		if err != nil {
			return reply, err
		}
		data, err = send(ctx, p, fleet.WorkspaceName+workspace, data)
		switch {
		case errors.Is(err, fleet.ErrNobody):
			return reply, fmt.Errorf("%w %s", ErrNotHeld, workspace)
		case err != nil:
			return reply, fmt.Errorf("%s: %w", workspace, err)
		}
		return reply, json.Unmarshal(data, &reply)
	}
}

// An Answer is the answer of a tool.
type Answer struct {
	Text   string // of all content blocks
	Failed bool
	Undo   string // the ID of the change that the call made; "" for none
}

// stateless is a version of MCP without sessions.
const stateless = "2026-07-28"

// Call calls a tool through a relay. The arguments are a JSON object.
func Call(ctx context.Context, r mcpserver.Relay, tool string, arguments json.RawMessage) (a Answer,
	err error) {
	const meta = "io.modelcontextprotocol/"
	type object = map[string]any
	body, err := json.Marshal(object{"jsonrpc": "2.0", "id": rand.Text(), "method": "tools/call",
		"params": object{
			"name": tool, "arguments": arguments, "_meta": object{
				meta + "protocolVersion": stateless, meta + "clientCapabilities": object{},
				meta + "clientInfo": object{"name": "skill-fleet", "version": "1"},
			},
		}})
	if err != nil {
		return a, err
	}
	reply, err := r(ctx, mcpserver.Message{Body: body, Header: http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		"Mcp-Protocol-Version": {stateless}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {tool},
	}})
	if err != nil {
		return a, err
	}
	var answer struct {
		Result *struct {
			Content []struct{ Text, URI, MIMEType string }
			IsError bool
			Meta    struct{ Undo string } `json:"_meta"`
		}
		Error *struct{ Message string }
	}
	switch err := json.Unmarshal(reply.Body, &answer); {
	case err != nil:
		return a, fmt.Errorf("status %d: %s", reply.Status, strings.TrimSpace(string(reply.Body)))
	case answer.Error != nil:
		return a, errors.New(answer.Error.Message)
	case answer.Result == nil:
		return a, errors.New("the worker's answer has neither a result nor an error")
	}
	var texts []string
	for _, c := range answer.Result.Content {
		if c.Text == "" && c.MIMEType != "" {
			c.Text = strings.TrimSpace(c.MIMEType + " " + c.URI)
		}
		texts = append(texts, c.Text)
	}
	return Answer{strings.Join(texts, "\n"), answer.Result.IsError, answer.Result.Meta.Undo}, nil
}
