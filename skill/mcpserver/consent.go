package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	maxAsked   = 2000 // bytes of a call's arguments that the user is shown
	consentKey = "consent"
	notAllowed = "The user did not allow this call. Ask what to do instead, or go another way."
)

// check returns why a call is refused, "" if it is made, and whether the user is asked
// first, if the client can do that.
func (c *session) check(t tool, arguments json.RawMessage) (refusal string, ask bool) {
	if c.server.cfg.Check == nil {
		return "", false
	}
	if refusal, ask = c.server.cfg.Check(t.name,
		t.dialect.EffectOf(c.server.cfg.Executor, c.state, t.name, arguments)); !ask {
		return refusal, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.always[t.name] {
		return "", false
	}
	return refusal, true
}

// question is what the user is asked before a call; nil if the call is made or refused
// without a question. In the second case refusal says why.
func (c *session) question(req *mcp.CallToolRequest, t tool) (q *mcp.ElicitParams, refusal string) {
	refusal, ask := c.check(t, req.Params.Arguments)
	caps := req.ClientCapabilities()
	switch {
	case !ask, caps == nil, caps.Elicitation == nil, caps.Elicitation.Form == nil &&
		caps.Elicitation.URL != nil:
		return nil, refusal
	}
	var args bytes.Buffer
	if json.Compact(&args, req.Params.Arguments) != nil {
		args.Reset() // the dialect says what is wrong with them
	}
	shown := args.String()
	if len(shown) > maxAsked {
		shown = fmt.Sprintf("%s… (%d bytes)", bytes.ToValidUTF8(args.Bytes()[:maxAsked], nil), len(shown))
	}
	properties := ""
	if req.ProtocolVersion() < statelessVersion { // later ones have no session to remember it
		properties = fmt.Sprintf(`"always":{"type":"boolean","title":"Do not ask again","description":"Allow all calls of %s until this connection ends","default":false}`, t.name)
	}
	return &mcp.ElicitParams{
		Mode: "form", Message: fmt.Sprintf("Allow this call?\n%s %s", t.name, shown),
		RequestedSchema: json.RawMessage(`{"type":"object","properties":{` + properties + `}}`),
	}, ""
}

// consent asks the user about a call. It returns why the call is refused, "" if the user
// allows it. If ask is not nil, it is the answer to the call instead: the client must ask
// and call again.
func (c *session) consent(ctx context.Context, req *mcp.CallToolRequest, t tool) (refusal string,
	ask *mcp.CallToolResult) {
	q, refusal := c.question(req, t)
	if q == nil {
		return refusal, nil
	}
	reply, ok := req.Params.InputResponses[consentKey].(*mcp.ElicitResult)
	if !ok && req.ProtocolVersion() >= statelessVersion {
		return "", &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{consentKey: q}}
	}
	if !ok {
		ctx, cancel := c.whileOpen(ctx)
		defer cancel()
		var err error
		if reply, err = req.Session.Elicit(ctx, q); err != nil {
			return fmt.Sprintf("The user could not be asked about this call (%v).", err), nil
		}
	}
	if reply.Action != "accept" {
		return notAllowed, nil
	}
	if always, _ := reply.Content["always"].(bool); always {
		c.mu.Lock()
		c.always[t.name] = true
		c.mu.Unlock()
	}
	return "", nil
}
