package mcpserver

import (
	"bytes"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	rawjson "textskill/parser/json"
)

// greet answers a plain initialize before the SDK does, which takes 0.4 ms of the 4 ms from
// the start of the program for its first message. The SDK handles it all the same, and its
// answer, which says the same, is dropped. No other line is read before.
func (c *conn) greet(e envelope, id callID) bool {
	answer := c.server.greeting(e)
	if answer == nil {
		return false
	}
	forSDK, err := id.sdk()
	p := &pending{agreed: make(chan struct{}), greeted: true}
	if err != nil || c.begin(id, p) != nil {
		return false
	}
	c.out.send(answer)
	c.agree(&jsonrpc.Request{ID: forSDK, Method: "initialize", Params: bytes.Clone(e.params)}, p)
	return true
}

// agree hands an initialize to the SDK, and waits until it has answered: the SDK refuses what
// comes before that, and a client may send its next messages together with the first.
func (c *conn) agree(m jsonrpc.Message, p *pending) {
	c.deliver(m)
	select {
	case <-p.agreed:
	case <-c.closed:
	}
}

// greeting returns the answer to a plain initialize as the SDK prints it, but for characters such
// as U+2028, which need no escape; else nil.
func (s *Server) greeting(e envelope) []byte {
	if !s.plain.Load() || e.other || string(e.method) != `"initialize"` || !plainID(e.id) {
		return nil
	}
	version := plainVersion(e.params)
	if version == nil {
		return nil
	}
	b := append([]byte(`{"jsonrpc":"2.0","id":`), e.id...)
	b = append(b, `,"result":{"capabilities":{"logging":{},`...)
	if s.hasResources() {
		b = append(b, `"resources":{},`...)
	}
	b = append(b, `"tools":{}},"instructions":`...)
	b = append(b, rawjson.Encode(s.instructions())...)
	b = append(append(b, `,"protocolVersion":`...), version...)
	b = append(b, `,"serverInfo":{"name":"`+serverName+`","title":"`+serverTitle+`","version":`...)
	return append(append(b, rawjson.Encode(s.cfg.Version)...), "}}}\n"...)
}

// plainVersion returns the version that the parameters of initialize ask for, as it was sent,
// if it is one to agree on and the SDK reads all of the parameters without an error; else nil.
func plainVersion(params []byte) []byte {
	m, twice, ok := rawjson.Members(params)
	version, capabilities, client := m["protocolVersion"], m["capabilities"], m["clientInfo"]
	text := func(value []byte) bool { return value[0] == '"' }
	truth := func(value []byte) bool { return string(value) == "true" || string(value) == "false" }
	empty := func(value []byte) bool { return string(value) == "{}" }
	capability := func(value []byte) bool {
		return plain(value, truth, `"listChanged"`) || plain(value, empty, `"form"`, `"url"`, `"context"`, `"tools"`)
	}
	agreed := func(v string) bool { return v < statelessVersion && string(version) == `"`+v+`"` }
	if !ok || twice != "" || len(m) != 3 || !slices.ContainsFunc(mcp.SupportedProtocolVersions(), agreed) ||
		!plain(capabilities, capability, `"roots"`, `"sampling"`, `"elicitation"`) || !plain(client, text, `"name"`, `"title"`, `"version"`) {
		return nil
	}
	return version
}

// plain reports whether a value is an object whose members have such keys, and such values.
func plain(object []byte, value func([]byte) bool, keys ...string) bool {
	if len(object) == 0 || object[0] != '{' {
		return false
	}
	for k, v := range rawjson.EachMember(object) {
		if !slices.Contains(keys, string(k)) || !value(v) {
			return false
		}
	}
	return true
}
