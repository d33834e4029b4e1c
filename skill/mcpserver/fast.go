package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	rawjson "textskill/parser/json"
	"textskill/skill/dialect"
)

// maxIdle is how many workers may wait for their turn to read; others end.
const maxIdle = 8

// moment is how long the next lines wait for a call that is executed.
const moment = 500 * time.Microsecond

// fastCall is a call that a worker executes without the SDK, with the same answer to
// the byte. A read of 2 KB takes 18 µs and 9 KB of memory, through the SDK 100 µs
// and 185 KB. Such a call has a name, arguments and nothing else, comes after the
// version of the protocol has been negotiated and the client's roots are known, and is
// neither refused nor asked about.
type fastCall struct {
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
	effect  dialect.Effect
	reads   bool // a call changes nothing
}

// work waits for its turn, reads lines up to the next call, executes the call and goes on
// reading, unless it has passed its turn on meanwhile. A new worker is started only if none is
// waiting.
func (c *conn) work() {
	var line, reply []byte
	for c.waiting.Add(1) <= maxIdle {
		_, mine := <-c.turn
		c.waiting.Add(-1)
		if !mine {
			return
		}
		for mine {
			var call *fastCall
			if call, line = c.nextCall(line); call == nil {
				close(c.turn)
				close(c.ended)
				return
			}
			held := c.hold()
			start := time.Now()
			reply = c.runFast(call, reply)
			c.quick.Store(time.Since(start) < moment)
			mine = held > 0 && c.held.CompareAndSwap(held, 0)
		}
	}
	c.waiting.Add(-1)
}

// hold keeps the turn for a call that seems short, and returns the number of the hold: to wake
// another worker for each call takes a fifth as long as to write a small file. The turn is passed
// on at once, and the number is 0, if more than the call was read, or if the last call took longer
// than a moment; else the watch passes it on after a moment.
func (c *conn) hold() int64 {
	if c.in.Buffered() > 0 || !c.quick.Load() {
		c.passTurn()
		return 0
	}
	if c.watch == nil {
		c.watch = time.AfterFunc(moment, c.relieve)
	} else {
		c.watch.Reset(moment)
	}
	c.holds++
	held := c.holds
	c.held.Store(held)
	return held
}

// relieve passes on a turn that is held. The watch may find a later call than that for which it
// was set, which does no harm.
func (c *conn) relieve() {
	if held := c.held.Load(); held > 0 && c.held.CompareAndSwap(held, 0) {
		c.passTurn()
	}
}

// passTurn lets another worker read.
func (c *conn) passTurn() {
	if c.waiting.Load() == 0 {
		go c.work()
	}
	c.turn <- struct{}{}
}

// nextCall reads lines into buf up to one that is a fastCall, which refers to the
// line. It returns nil at the end of the input.
func (c *conn) nextCall(buf []byte) (*fastCall, []byte) {
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

// fast returns the call that a message of a client makes and makes it pending, or nil
// if the SDK has to handle the message. The version of the protocol must have been
// negotiated.
func (q *requests) fast(c *session, e envelope, id callID) *fastCall {
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
	if refusal, ask := c.check(t); ask || refusal != "" {
		return nil
	}
	sc := c.enterKnown()
	if sc == nil {
		return nil
	}
	p := &pending{}
	if q.begin(id, p) != nil {
		c.leave(sc)
		return nil // the caller refuses it
	}
	return &fastCall{id: id, pending: p, rawID: e.id, tool: t, arguments: arguments, scope: sc}
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
	buf = c.run(c.session, call, buf)
	c.done(call.id)
	c.answer(call.pending, buf)
	call.release(c.session)
	if cap(buf) > keepLine {
		return nil
	}
	return buf
}

// release must follow run, when the answer has been written.
func (call *fastCall) release(c *session) {
	if call.tool.reads {
		c.unread.release()
	}
}

// run executes a call and returns the answer, a line that is built in buf. The call
// stays pending.
func (q *requests) run(c *session, call *fastCall, buf []byte) []byte {
	ctx, r := c.begin(context.Background())
	q.setRunning(call.pending, r)
	if call.tool.reads {
		c.unread.reserve(ctx.Done())
	}
	a := c.server.do(ctx, c, call.scope, call.tool, call.arguments)
	c.leave(call.scope)
	c.done(r)
	return appendReply(buf[:0], call.rawID, a)
}

func appendReply(buf, id []byte, a answerText) []byte {
	buf = append(buf, `{"jsonrpc":"2.0","id":`...)
	buf = append(buf, id...)
	if a.blocks != nil {
		r, _ := json.Marshal(result(a)) // texts and bytes can always be encoded
		return append(append(append(buf, `,"result":`...), r...), "}\n"...)
	}
	buf = append(buf, `,"result":{`...)
	buf = appendMeta(buf, a)
	buf = append(buf, `"content":[{"type":"text","text":`...)
	buf = rawjson.AppendHTMLString(buf, a.text)
	buf = append(buf, "}]"...)
	if a.structured != nil {
		escaped := bytes.NewBuffer(append(buf, `,"structuredContent":`...))
		json.HTMLEscape(escaped, a.structured)
		buf = escaped.Bytes()
	}
	if a.failed {
		buf = append(buf, `,"isError":true`...)
	}
	return append(buf, "}}\n"...)
}

// appendMeta appends the _meta of an answer, its members sorted as the SDK has them.
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
