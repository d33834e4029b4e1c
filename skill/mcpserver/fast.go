package mcpserver

import (
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	rawjson "textskill/parser/json"
	"textskill/skill/dialect"
)

// maxIdle is how many workers wait for their turn to read.
const maxIdle = 8

// shortCall is a call that a worker carries out without the SDK, which would take
// longer for it than the call itself. Its answer is the SDK's to the byte. It is
// one that has a name and arguments and nothing else, and that comes when the
// version of the protocol is agreed on and the client's roots are known.
type shortCall struct {
	id        callID
	pending   *pending
	rawID     []byte
	tool      tool
	arguments []byte
	scope     *scope
}

// tool is a name and the dialect that knows it.
type tool struct {
	dialect *dialect.Dialect
	name    string
}

// work reads lines when it is its turn, until it has read a call. While it carries
// that out, another worker reads.
func (c *conn) work() {
	var line, reply []byte
	for c.waiting.Add(1) <= maxIdle {
		_, open := <-c.turn
		c.waiting.Add(-1)
		if !open {
			return
		}
		var call *shortCall
		if call, line = c.nextCall(line); call == nil {
			close(c.turn)
			close(c.ended)
			return
		}
		if c.waiting.Load() == 0 {
			go c.work()
		}
		c.turn <- struct{}{}
		reply = c.carryOut(call, reply)
	}
	c.waiting.Add(-1)
}

// nextCall reads lines into buf until one is a short call, which refers to the
// line. It returns nil at the end of the input.
func (c *conn) nextCall(buf []byte) (*shortCall, []byte) {
	for {
		line, err := readLine(c.in, buf)
		switch {
		case err == errLongLine:
			c.refuse(nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("a line is longer than %d bytes", maxLine))
			continue
		case err != nil:
			return nil, nil
		}
		if call := c.route(line); call != nil {
			return call, line
		}
		buf = line
	}
}

// short returns the call that a message is, if it is one for a worker. It is
// pending then.
func (c *conn) short(e envelope, id callID) *shortCall {
	if e.other || !plainID(e.id) || len(e.params) == 0 || e.params[0] != '{' {
		return nil
	}
	var name, arguments []byte
	for key, value := range rawjson.EachMember(e.params) {
		switch {
		case string(key) == `"name"` && name == nil:
			name = value
		case string(key) == `"arguments"` && arguments == nil:
			arguments = value
		default:
			return nil
		}
	}
	if len(name) < 2 || name[0] != '"' || arguments == nil {
		return nil
	}
	t, ok := c.server.tools[string(name[1:len(name)-1])]
	if !ok {
		return nil
	}
	c.mu.Lock()
	agreed := c.version != ""
	c.mu.Unlock()
	if !agreed {
		return nil
	}
	sc := c.session.known()
	if sc == nil {
		return nil
	}
	p := &pending{}
	if c.begin(id, p) != nil {
		c.session.leave(sc)
		return nil // for the message to be refused
	}
	return &shortCall{id: id, pending: p, rawID: e.id, tool: t, arguments: arguments, scope: sc}
}

// plainID tells whether the SDK would print an id as it was sent.
func plainID(raw []byte) bool {
	if raw[0] != '"' {
		return len(raw) <= 15 && string(raw) != "-0" && isDigits(raw)
	}
	for _, b := range raw[1 : len(raw)-1] {
		if b < ' ' || b >= utf8.RuneSelf || b == '\\' {
			return false
		}
	}
	return true
}

func isDigits(raw []byte) bool {
	for i, b := range raw {
		if (b < '0' || b > '9') && (b != '-' || i > 0) {
			return false
		}
	}
	return true
}

// carryOut carries out a call and answers it. The answer is built in buf, which is
// returned for the next.
func (c *conn) carryOut(call *shortCall, buf []byte) []byte {
	ctx, r := c.session.begin(context.Background())
	c.mayStop(call.pending, r)
	a := c.server.do(ctx, c.session, call.scope, call.tool, call.arguments)
	c.session.leave(call.scope)
	c.session.done(r)
	buf = appendReply(buf[:0], call.rawID, a)
	c.done(call.id)
	c.answer(call.pending, buf)
	if cap(buf) > keepLine {
		return nil
	}
	return buf
}

func appendReply(buf, id []byte, a answerText) []byte {
	buf = append(buf, `{"jsonrpc":"2.0","id":`...)
	buf = append(buf, id...)
	buf = append(buf, `,"result":{`...)
	buf = appendMeta(buf, a)
	buf = append(buf, `"content":[{"type":"text","text":`...)
	buf = rawjson.AppendHTMLString(buf, a.text)
	buf = append(buf, "}]"...)
	if a.failed {
		buf = append(buf, `,"isError":true`...)
	}
	return append(buf, "}}\n"...)
}

// appendMeta appends what is said beside the text, its members in order.
func appendMeta(buf []byte, a answerText) []byte {
	if a.undo == "" && a.notKept == "" {
		return buf
	}
	buf = append(buf, `"_meta":{`...)
	if a.notKept != "" {
		buf = rawjson.AppendHTMLString(append(buf, `"notKept":`...), a.notKept)
	}
	if a.undo != "" {
		if a.notKept != "" {
			buf = append(buf, ',')
		}
		buf = rawjson.AppendHTMLString(append(buf, `"undo":`...), a.undo)
	}
	return append(buf, "},"...)
}
