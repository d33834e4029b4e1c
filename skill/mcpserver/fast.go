package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"textskill/parser/rawjson"
	"textskill/skill/dialect"
)

// The SDK takes 0.3 ms of processor time to decode and answer a call as hosts send it; a read of
// 2 KB takes 0.02 ms. This file answers such a call without the SDK, with the same bytes:
//
//   - It has a name, arguments and _meta, and nothing else.
//   - The version of the protocol is agreed: by initialize, or, from statelessVersion on, because
//     the SDK has answered a call with the same version, client and capabilities in its _meta.
//   - The roots of the client are known, and the call needs no consent.

// A fastCall is a call that a worker executes.
type fastCall struct {
	callParams
	id      callID
	pending *pending
	rawID   []byte
	tool    tool
	scope   *scope
}

// tool is a name and the dialect that knows it.
type tool struct {
	dialect *dialect.Dialect
	name    string
	reads   bool // a call changes nothing
}

// callParams are the parameters of tools/call, as they were sent.
type callParams struct {
	name, arguments []byte
	token           []byte // for notifications of progress; nil for none
	trace           string // traceparent; "" for none
	meta            []byte // _meta, nil for none
	client          []byte // the members of _meta that name the version, the client and its capabilities
	stateless       bool   // the version is statelessVersion or later
	unusual         bool   // the SDK has to read the parameters
}

// The members of _meta that the protocol defines begin with metaPrefix.
const (
	metaPrefix  = `"io.modelcontextprotocol/`
	metaVersion = metaPrefix + `protocolVersion"`
)

// readParams reads parameters, which must be valid JSON.
func readParams(params []byte) (p callParams) {
	if len(params) == 0 || params[0] != '{' {
		p.unusual = true
		return p
	}
	for key, value := range rawjson.EachMember(params) {
		switch {
		case string(key) == `"name"` && p.name == nil:
			p.name = value
		case string(key) == `"arguments"` && p.arguments == nil:
			p.arguments = value
		case string(key) == `"_meta"` && p.meta == nil && value[0] == '{':
			p.meta = value
			p.readMeta(value)
		default:
			p.unusual = true
		}
	}
	p.unusual = p.unusual || len(p.name) < 2 || p.name[0] != '"' || p.arguments == nil
	return p
}

func (p *callParams) readMeta(meta []byte) {
	for key, value := range rawjson.EachMember(meta) {
		text, isText := rawjson.String(value)
		switch name := string(key); {
		case name == `"progressToken"` && p.token == nil && plainID(value):
			p.token = value
		case name == `"traceparent"` && p.trace == "" && isText:
			p.trace = text
		case name == `"progressToken"`, name == `"traceparent"`, strings.Contains(name, `\`):
			p.unusual = true
		case strings.HasPrefix(name, metaPrefix):
			p.client = append(append(p.client, key...), value...)
			p.stateless = p.stateless || name == metaVersion && text >= statelessVersion
		}
	}
}

// fast returns the call that a message makes and makes it pending, or nil if the SDK has to
// answer it. The caller has checked that the version is agreed.
func (c *conn) fast(e envelope, p callParams, id callID) *fastCall {
	if e.other || p.unusual || !plainID(e.id) {
		return nil
	}
	t, ok := c.server.tools[string(p.name[1:len(p.name)-1])]
	if !ok {
		return nil
	}
	if refusal, ask := c.session.check(t, p.arguments); ask || refusal != "" {
		return nil
	}
	sc := c.session.enterKnown()
	if sc == nil {
		return nil
	}
	call := &fastCall{callParams: p, id: id, pending: &pending{}, rawID: e.id, tool: t, scope: sc}
	if c.begin(id, call.pending) != nil {
		c.session.leave(sc)
		return nil // the caller refuses it
	}
	return call
}

// plainID reports whether the SDK would print an ID as it was sent.
func plainID(raw []byte) bool {
	if raw[0] != '"' {
		_, err := strconv.ParseInt(string(raw), 10, 64)
		return err == nil && len(raw) <= 15 && string(raw) != "-0"
	}
	for _, b := range raw[1 : len(raw)-1] {
		if b < ' ' || b >= utf8.RuneSelf || b == '\\' {
			return false
		}
	}
	return true
}

// runFast executes a call and answers it. The answer is built in buf, which is
// returned for the next one.
func (c *conn) runFast(call *fastCall, buf []byte) []byte {
	buf = c.run(call, buf)
	c.done(call.id)
	c.answer(call.pending, buf)
	if call.tool.reads {
		c.session.unread.release()
	}
	if cap(buf) > keepLine {
		return nil
	}
	return buf
}

// run executes a call and returns the answer, a line that is built in buf. The call
// stays pending.
func (c *conn) run(call *fastCall, buf []byte) []byte {
	ctx, r := c.session.begin(context.Background())
	c.setRunning(call.pending, r)
	if call.tool.reads {
		c.session.unread.reserve(ctx.Done())
	}
	if call.trace != "" {
		ctx = dialect.WithTrace(ctx, call.trace)
	}
	if c.server.cfg.Caller != nil {
		ctx = c.server.cfg.Caller(ctx, call.meta)
	}
	quiet := func() {}
	if call.token != nil {
		ctx, quiet = c.server.progress(ctx, json.RawMessage(call.token), c.notify)
	}
	a := c.server.do(ctx, c.session, call.scope, call.tool, call.arguments)
	quiet()
	c.session.leave(call.scope)
	c.session.done(r)
	return c.server.appendReply(buf[:0], call, a)
}

// notify sends the progress of a call to the client.
func (c *conn) notify(p *mcp.ProgressNotificationParams) {
	if line, err := progressLine(p); err == nil {
		c.out.send(append(line, '\n'))
	}
}

func (s *Server) appendReply(buf []byte, call *fastCall, a answerText) []byte {
	buf = append(buf, `{"jsonrpc":"2.0","id":`...)
	buf = append(buf, call.rawID...)
	buf = append(buf, `,"result":{`...)
	buf = s.appendMeta(buf, call, a)
	if a.blocks == nil && a.news == "" {
		buf = append(buf, `"content":[{"type":"text","text":`...)
		buf = appendText(buf, a.text)
		buf = append(buf, "}]"...)
	} else {
		content, _ := json.Marshal(result(a).Content) // texts and bytes can always be encoded
		buf = append(append(buf, `"content":`...), content...)
	}
	if a.structured != nil {
		escaped := bytes.NewBuffer(append(buf, `,"structuredContent":`...))
		json.HTMLEscape(escaped, a.structured)
		buf = escaped.Bytes()
	}
	if a.failed {
		buf = append(buf, `,"isError":true`...)
	}
	if call.stateless {
		buf = append(buf, `,"resultType":"complete"`...)
	}
	return append(buf, "}}\n"...)
}

// appendText appends a text as the SDK encodes it.
func appendText(buf []byte, s string) []byte {
	text, _ := json.Marshal(s) // a string can always be encoded
	return append(buf, text...)
}

// appendMeta appends the _meta of an answer, its members sorted as the SDK has them.
func (s *Server) appendMeta(buf []byte, call *fastCall, a answerText) []byte {
	if !call.stateless && a.notKept == "" && a.undo == "" {
		return buf
	}
	buf = append(buf, `"_meta":{`...)
	if call.stateless {
		buf = append(append(append(buf, metaPrefix+`serverInfo":`...), s.info...), ',')
	}
	if a.notKept != "" {
		buf = append(appendText(append(buf, `"notKept":`...), a.notKept), ',')
	}
	if a.undo != "" {
		buf = append(appendText(append(buf, `"undo":`...), a.undo), ',')
	}
	buf[len(buf)-1] = '}'
	return append(buf, ',')
}
