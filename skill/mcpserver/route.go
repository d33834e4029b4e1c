package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	rawjson "textskill/parser/json"
)

// batchVersion is the one version of the protocol that has batches.
const batchVersion = "2025-03-26"

// codeBusy is the error code of a request too many.
const codeBusy = -32000

var (
	errID    = errors.New("id is neither a text nor a whole number")
	errInUse = errors.New("the id is in use by a request that has not been answered")
	errBusy  = fmt.Errorf("more than %d requests have not been answered; wait for some of them", maxPending)
)

// callID is the id of a request. Two ids are equal where the SDK takes them for
// the same.
type callID struct {
	number int64
	text   string // with a quote before it, to differ from a number; "" of a number
}

func callIDOf(id jsonrpc.ID) callID {
	switch v := id.Raw().(type) {
	case int64:
		return callID{number: v}
	case string:
		return callID{text: `"` + v}
	}
	return callID{}
}

// readID reads an id as it was sent. ok is false for what is neither a text nor a
// whole number.
func readID(raw []byte) (id callID, ok bool) {
	if text, ok := rawjson.String(raw); ok {
		return callID{text: `"` + text}, true
	}
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return callID{number: n}, n == int64(float64(n)) // the SDK reads numbers as float64
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	n := int64(f)
	return callID{number: n}, err == nil && float64(n) == f
}

// route sends a line on to the SDK, answers one that cannot be handled, or returns
// the call that it makes, for the worker to carry out. It keeps nothing of line
// that it does not return.
func (c *conn) route(line []byte) *shortCall {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return nil
	}
	if !json.Valid(line) {
		var v json.RawMessage
		c.refuse(nil, nil, jsonrpc.CodeParseError, "the line is no JSON: "+json.Unmarshal(line, &v).Error())
		return nil
	}
	if line[0] == '[' {
		c.routeBatch(line)
		return nil
	}
	return c.message(line, nil)
}

// message is route for one message, which came in a batch unless that is nil.
func (c *conn) message(data []byte, b *batch) *shortCall {
	e, err := readEnvelope(data)
	if err != nil {
		c.refuse(b, e.id, jsonrpc.CodeInvalidRequest, err.Error())
		return nil
	}
	switch {
	case e.method == nil:
		c.pass(data, nil, b)
		return nil
	case e.id == nil:
		c.notification(e)
		c.pass(data, nil, b)
		return nil
	}
	id, ok := readID(e.id)
	if !ok {
		c.refuse(b, nil, jsonrpc.CodeInvalidRequest, errID.Error())
		return nil
	}
	first := bytes.Equal(e.method, methodInitialize)
	if !first {
		if problem := checkParams(e.method, e.params); problem != "" {
			c.refuse(b, e.id, jsonrpc.CodeInvalidParams, problem)
			return nil
		}
	}
	if bytes.Equal(e.method, methodCall) {
		if call := c.short(e, id, b); call != nil {
			return call
		}
	}
	p := &pending{first: first, batch: b}
	if first {
		p.params = bytes.Clone(e.params)
	}
	switch err := c.begin(id, p); err {
	case nil:
		c.pass(data, &e, b)
	case errInUse:
		c.refuse(b, nil, jsonrpc.CodeInvalidRequest, err.Error())
	default:
		c.refuse(b, e.id, codeBusy, err.Error())
	}
	return nil
}

// pass hands a message to the SDK. e is its envelope if it is a request, which is
// pending.
func (c *conn) pass(data []byte, e *envelope, b *batch) {
	m, err := jsonrpc.DecodeMessage(bytes.Clone(data))
	if err != nil {
		var id []byte
		if e != nil {
			id = e.id
			known, _ := readID(id)
			c.done(known)
			c.sent()
		}
		c.refuse(b, id, jsonrpc.CodeInvalidRequest, "the message is neither a request nor an answer to one")
		return
	}
	if e != nil && b != nil {
		b.expect()
	}
	select {
	case c.forSDK <- m:
	case <-c.closed:
	}
}

// notification does what has to be done before the next line is read.
func (c *conn) notification(e envelope) {
	switch string(e.method) {
	case `"notifications/cancelled"`:
		var params struct {
			RequestID json.RawMessage `json:"requestId"`
		}
		if json.Unmarshal(e.params, &params) == nil {
			if id, ok := readID(params.RequestID); ok {
				c.cancel(id)
			}
		}
	case `"notifications/roots/list_changed"`:
		c.session.forgetScope()
	}
}

// refuse answers a message that cannot be handled. id is nil where it has none, or
// that of another request.
func (c *conn) refuse(b *batch, id []byte, code int, problem string) {
	line := errorLine(id, code, problem)
	if b == nil {
		c.out.send(line)
		return
	}
	b.expect()
	b.answer(c.out, line, false)
}

// errorLine is an answer that says what is wrong with a message.
func errorLine(id []byte, code int, problem string) []byte {
	if id == nil {
		id = []byte("null")
	}
	text, _ := json.Marshal(problem) // a text always has a JSON form
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`+"\n", id, code, text)
}

// routeBatch routes the messages of an array.
func (c *conn) routeBatch(line []byte) {
	c.mu.Lock()
	version := c.version
	c.mu.Unlock()
	if version != batchVersion {
		c.refuse(nil, nil, jsonrpc.CodeInvalidRequest, "batches are not part of this version of the protocol; send one message per line")
		return
	}
	b := &batch{open: 1} // not complete before all have been routed
	empty := true
	for item := range rawjson.EachElement(line) {
		empty = false
		c.message(item, b)
	}
	if empty {
		c.refuse(nil, nil, jsonrpc.CodeInvalidRequest, "the batch is empty")
		return
	}
	b.answer(c.out, nil, true)
}

// batch collects the answers to the messages of one array.
type batch struct {
	mu      sync.Mutex
	open    int // requests without an answer
	answers [][]byte
}

// expect counts one more request.
func (b *batch) expect() {
	b.mu.Lock()
	b.open++
	b.mu.Unlock()
}

// answer counts an answer and keeps it, unless without is set. With the last one
// all are sent, if there are any.
func (b *batch) answer(out *lineWriter, line []byte, without bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !without {
		b.answers = append(b.answers, bytes.TrimSpace(line))
	}
	if b.open--; b.open > 0 || len(b.answers) == 0 {
		return nil
	}
	all := append([]byte{'['}, bytes.Join(b.answers, []byte{','})...)
	return out.send(append(all, ']', '\n'))
}
