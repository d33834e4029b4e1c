package mcpserver

import (
	"errors"

	"textskill/parser/rawjson"
)

// envelope is a message. Its members are JSON as it was sent, nil if missing.
type envelope struct {
	id, method, params []byte
}

var (
	errNoObject  = errors.New("a message must be one JSON object")
	errVersion   = errors.New(`jsonrpc is not "2.0"`)
	errTwice     = errors.New("a member of the message is given twice")
	errMethod    = errors.New("method is not a string")
	errNoMessage = errors.New("the message has neither a method nor a result nor an error")
)

// readEnvelope reads a message, which must be valid JSON. Beside an error the ID is
// still that of the message, if it has a valid one.
func readEnvelope(data []byte) (e envelope, err error) {
	if data[0] != '{' {
		return e, errNoObject
	}
	var version, result, failure []byte
	members := map[string]*[]byte{`"jsonrpc"`: &version, `"id"`: &e.id, `"method"`: &e.method,
		`"params"`: &e.params, `"result"`: &result, `"error"`: &failure}
	for key, value := range rawjson.EachMember(data) {
		switch field := members[string(key)]; {
		case field == nil:
		case *field != nil:
			return envelope{}, errTwice
		default:
			*field = value
		}
	}
	switch {
	case string(version) != `"2.0"`:
		err = errVersion
	case e.method == nil && result == nil && failure == nil:
		err = errNoMessage
	case e.method != nil && e.method[0] != '"':
		err = errMethod
	}
	if _, ok := readID(e.id); !ok && (err != nil || e.method == nil) {
		e.id = nil
	}
	return e, err
}
