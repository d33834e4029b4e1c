package mcpserver

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"textskill/parser/rawjson"
)

// codeBusy is the error code of a request beyond maxPending.
const codeBusy = -32000

var (
	errID    = errors.New("id must be a string or a whole number of at most 9007199254740992")
	errInUse = errors.New("id is in use by a request that has not been answered; choose another")
	errBusy  = fmt.Errorf("%d requests have not been answered; wait for some of them", maxPending)
)

// callID is the ID of a request. Two IDs are equal if the SDK takes them for the
// same.
type callID struct {
	number int64
	text   string // with a quote in front, so that no text is ""; "" for a number
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

// readID decodes an ID. ok is false if it is neither a string nor a whole number.
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

// route answers a line that is not a valid message, and passes all others to the SDK.
func (c *conn) route(line []byte) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return
	}
	if !json.Valid(line) {
		var v json.RawMessage
		c.refuse(nil, jsonrpc.CodeParseError, "the line is not JSON: "+json.Unmarshal(line, &v).Error())
		return
	}
	e, err := readEnvelope(line)
	if err != nil {
		c.refuse(e.id, jsonrpc.CodeInvalidRequest, err.Error())
		return
	}
	if e.method == nil || e.id == nil { // an answer or a notification
		c.pass(line, nil, c.notification(e))
		return
	}
	if _, ok := readID(e.id); !ok {
		c.refuse(nil, jsonrpc.CodeInvalidRequest, errID.Error())
		return
	}
	c.pass(line, &e, c.current)
}

// pass hands a message to the SDK, at the end of a session. e is the envelope of a request, else nil. A request
// is pending under the ID that the SDK reads, by which its answer is found: of bytes
// that are not UTF-8 the SDK may read another text than readID.
func (c *conn) pass(data []byte, e *envelope, to *end) {
	m, err := jsonrpc.DecodeMessage(data)
	if err != nil {
		var id []byte
		if e != nil {
			id = e.id
		}
		c.refuse(id, jsonrpc.CodeInvalidRequest, "the message is neither a request nor an answer to one")
		return
	}
	reads := e != nil && c.server.reads(*e)
	p := &pending{reads: reads, to: to}
	if r, ok := m.(*jsonrpc.Request); ok && e != nil {
		if r.Method == "initialize" {
			p.agreed = make(chan struct{})
			if p.to, err = c.greeted(); err != nil {
				c.refuse(e.id, jsonrpc.CodeInternalError, err.Error())
				return
			}
		}
		switch err := c.begin(callIDOf(r.ID), p); err {
		case nil:
		case errInUse:
			c.refuse(nil, jsonrpc.CodeInvalidRequest, err.Error())
			return
		default:
			c.refuse(e.id, codeBusy, err.Error())
			return
		}
	}
	switch {
	case p.agreed != nil:
		c.agree(m, p)
	case !reads || c.unread.tryReserve():
		to.deliver(m)
	default:
		go func() {
			c.unread.reserve(to.closed)
			to.deliver(m)
		}()
	}
}

// greeted returns the end of the session that an initialize begins: a new one if another initialize
// has begun the current one.
func (c *conn) greeted() (*end, error) {
	if !c.agreed() {
		return c.current, nil
	}
	return c.begun()
}

// agree hands an initialize to the SDK, and waits until it has answered: the SDK refuses what
// comes before that, and a client may send its next messages together with the first.
func (c *conn) agree(m jsonrpc.Message, p *pending) {
	p.to.deliver(m)
	select {
	case <-p.agreed:
	case <-p.to.closed:
	}
	switch {
	case p.to == c.current:
	case p.accepted:
		c.follow(p.to)
	default:
		p.to.Close()
	}
}

func (e *end) deliver(m jsonrpc.Message) {
	select {
	case e.forSDK <- m:
	case <-e.closed:
	}
}

// reads reports whether a message calls a tool that changes nothing.
func (s *Server) reads(e envelope) bool {
	if string(e.method) != `"tools/call"` || len(e.params) == 0 || e.params[0] != '{' {
		return false
	}
	for key, value := range rawjson.EachMember(e.params) {
		if string(key) == `"name"` && len(value) > 2 {
			return s.tools[string(value[1:len(value)-1])].reads
		}
	}
	return false
}

// agreed reports whether the version of the protocol has been negotiated.
func (c *conn) agreed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.version != ""
}

const rootsChanged = `"notifications/roots/list_changed"`

// notification does what a notification of a client requires before its next message
// is read, and returns the end of the session that it is for.
func (c *conn) notification(e envelope) *end {
	switch string(e.method) {
	case `"notifications/cancelled"`:
		var params struct {
			RequestID json.RawMessage `json:"requestId"`
		}
		if json.Unmarshal(e.params, &params) == nil {
			if id, ok := readID(params.RequestID); ok {
				return cmp.Or(c.cancel(id), c.current)
			}
		}
	case rootsChanged:
		c.current.session.forgetScope()
	}
	return c.current
}

// goValue matches what the SDK says of parameters that are not of their type.
var goValue = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`: unmarshaling .*: json: cannot unmarshal (?:.* into Go struct field \S+\.(\w+) of type (\w+)|.*)$`)
})

// wordedError returns an error of the SDK without the names of Go types, and with a code.
func wordedError(err error) error {
	e, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok {
		e = &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest}
	}
	message := err.Error()
	if m := goValue().FindStringSubmatch(message); m != nil {
		message = strings.TrimSuffix(message, m[0])
		if m[1] != "" {
			message += ": " + m[1] + " must be of type " + m[2]
		}
	}
	return &jsonrpc.Error{Code: e.Code, Message: message, Data: e.Data}
}

// refuse answers an invalid message. id is nil if the message has none, or the one
// of another request.
func (c *conn) refuse(id []byte, code int, problem string) {
	c.out.send(errorLine(id, code, problem))
}

// errorLine is the answer to an invalid message, as a line.
func errorLine(id []byte, code int, problem string) []byte {
	if id == nil {
		id = []byte("null")
	}
	text, _ := json.Marshal(problem) // a string can always be encoded
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`+"\n", id, code, text)
}
