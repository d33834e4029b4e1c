package mcpserver

import (
	"errors"

	rawjson "textskill/parser/json"
)

// envelope is a message with its members as they were sent; nil where one is missing.
type envelope struct {
	id, method, params []byte
	other              bool // it has further members
}

var (
	errNoObject  = errors.New("the message is no JSON object")
	errVersion   = errors.New(`jsonrpc is not "2.0"`)
	errTwice     = errors.New("a member of the message is given twice")
	errMethod    = errors.New("method is no text")
	errNoMessage = errors.New("the message has neither a method nor a result nor an error")
)

// readEnvelope reads a message, which is valid JSON. With an error the id is that
// of the message if it can be told.
func readEnvelope(data []byte) (e envelope, err error) {
	if data[0] != '{' {
		return e, errNoObject
	}
	var version []byte
	answer := false
	for key, value := range rawjson.EachMember(data) {
		var field *[]byte
		switch string(key) {
		case `"jsonrpc"`:
			field = &version
		case `"id"`:
			field = &e.id
		case `"method"`:
			field = &e.method
		case `"params"`:
			field = &e.params
		case `"result"`, `"error"`:
			answer = true
			continue
		default:
			e.other = true
			continue
		}
		if *field != nil {
			return envelope{}, errTwice
		}
		*field = value
	}
	if _, ok := readID(e.id); !ok && e.id != nil && e.method == nil {
		e.id = nil
	}
	switch {
	case string(version) != `"2.0"`:
		err = errVersion
	case e.method == nil && !answer:
		err = errNoMessage
	case e.method != nil && e.method[0] != '"':
		err = errMethod
	}
	if _, ok := readID(e.id); !ok && err != nil {
		e.id = nil
	}
	return e, err
}
