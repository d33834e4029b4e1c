//lint:file-ignore SA1019 log levels are deprecated for new clients; those of today set them

package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	rawjson "textskill/parser/json"
)

// Methods as they stand in a message.
var (
	methodCall       = []byte(`"tools/call"`)
	methodInitialize = []byte(`"initialize"`)
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

// checkParams says what is wrong with the params of a request, "" if nothing is.
// The SDK would say it in the words of Go. The arguments of a call are the tool's
// business.
func checkParams(method, params []byte) string {
	if bytes.Equal(method, methodCall) {
		return checkCall(params)
	}
	form := paramForms[string(method)]
	if form == nil || params == nil {
		return ""
	}
	err := json.Unmarshal(params, form())
	name := string(method[1 : len(method)-1])
	switch wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); {
	case ok && wrong.Field != "":
		return fmt.Sprintf("%s wants something else than %s for params.%s", name, article(wrong.Value), wrong.Field)
	case err != nil:
		return name + " wants params, an object"
	}
	return ""
}

func article(kind string) string {
	if strings.HasPrefix(kind, "a") || strings.HasPrefix(kind, "o") {
		return "an " + kind
	}
	return "a " + kind
}

// paramForms are what the params of a method are read into.
var paramForms = map[string]func() any{
	`"initialize"`:            func() any { return new(mcp.InitializeParams) },
	`"ping"`:                  func() any { return new(mcp.PingParams) },
	`"tools/list"`:            func() any { return new(mcp.ListToolsParams) },
	`"logging/setLevel"`:      func() any { return new(mcp.SetLoggingLevelParams) },
	`"resources/list"`:        func() any { return new(mcp.ListResourcesParams) },
	`"resources/read"`:        func() any { return new(mcp.ReadResourceParams) },
	`"resources/subscribe"`:   func() any { return new(mcp.SubscribeParams) },
	`"resources/unsubscribe"`: func() any { return new(mcp.UnsubscribeParams) },
	`"prompts/list"`:          func() any { return new(mcp.ListPromptsParams) },
	`"prompts/get"`:           func() any { return new(mcp.GetPromptParams) },
	`"completion/complete"`:   func() any { return new(mcp.CompleteParams) },
}

// checkCall is checkParams for tools/call.
func checkCall(params []byte) string {
	if params == nil || params[0] != '{' {
		return "tools/call wants params, an object with the name of a tool"
	}
	for key, value := range rawjson.EachMember(params) {
		switch string(key) {
		case `"name"`:
			if value[0] != '"' {
				return "tools/call wants a name that is a text"
			}
		case `"_meta"`:
			if value[0] != '{' && value[0] != 'n' {
				return "tools/call wants a _meta that is an object"
			}
		}
	}
	return ""
}
