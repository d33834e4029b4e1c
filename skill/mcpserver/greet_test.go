package mcpserver

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"textskill/skill/dialect"
)

// TestGreetingEqualsSDK sends the same first message to a server with our transport and to one
// with the SDK's, and compares the answers byte by byte, and those to the next messages.
func TestGreetingEqualsSDK(t *testing.T) {
	const params = `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`
	type test struct {
		id, params string
		plain      bool // the SDK is not waited for
	}
	with := func(old, new string, plain bool) test {
		return test{"1", strings.Replace(params, old, new, 1), plain}
	}
	tests := []test{
		{"1", params, true}, {`"<a>"`, params, true}, {`"\u0061"`, params, false}, {"1.0", params, false},
		{"1", ` { "clientInfo" : { } , "capabilities" : { "roots" : { } } , "protocolVersion" : "2025-03-26" } `, true},
		{"1", `{}`, false}, {"1", `null`, false}, {"1", `[]`, false}, {"1", ``, false},
		with(`{}`, `{"roots":{"listChanged":true},"sampling":{},"elicitation":{"form":{},"url":{}}}`, true),
		with(`{}`, `{"roots":{"listChanged":false,"listChanged":true},"roots":{},"sampling":{"tools":{},"context":{}}}`, true),
		with(`{}`, `{"roots":{"listChanged":1}}`, false), with(`{}`, `{"roots":true}`, false), with(`{}`, `{"roots":null}`, false),
		with(`{}`, `{"sampling":[]}`, false), with(`{}`, `{"elicitation":{"form":true}}`, false), with(`{}`, `{"experimental":{"a":{}}}`, false),
		with(`{}`, `{"Roots":1}`, false), with(`{}`, `[]`, false), with(`{}`, `null`, false),
		with(`"capabilities":{},`, ``, false), with(`"capabilities"`, `"capabilities":{},"_meta":{},"x"`, false), with(`{}`, `{},"capabilities":{}`, false),
		with(`protocolVersion`, `protocol\u0056ersion`, true), with(`protocolVersion`, `ProtocolVersion`, false),
		with(`"t"`, `"<é\u00e9`+"\xff"+`>","title":""`, false), with(`"t"`, `"<é\u00e9>","title":""`, true), with(`"t"`, `5`, false), with(`"t"`, `"t","icons":"x"`, false), with(`"t"`, `"t","more":[1]`, false),
		with(`2025-06-18`, `1999-01-01`, false), with(`2025-06-18`, ``, false), with(`2025-06-18`, `2025\u002d06-18`, false), with(`"2025-06-18"`, `5`, false),
	}
	for _, v := range mcp.SupportedProtocolVersions() {
		tests = append(tests, with("2025-06-18", v, v < statelessVersion))
	}
	for _, tt := range tests {
		for _, d := range []*dialect.Dialect{dialect.Filesystem, dialect.Workspace} {
			change := func(cfg *Config) {
				cfg.Dialects, cfg.Version = []*dialect.Dialect{d}, "<1.0>"
			}
			ours, oursDir := newServer(t, nil, change)
			sdks, sdksDir := newServer(t, nil, change)
			line := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"initialize","params":%s}`, tt.id, tt.params)
			if tt.params == "" {
				line = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"initialize"}`, tt.id)
			}
			e, err := readEnvelope([]byte(line))
			if err != nil {
				t.Fatal(err)
			}
			if got := ours.greeting(e) != nil; got != tt.plain {
				t.Errorf("%s: plain is %t", line, got)
			}
			a, b := connect(t, ours), connectSDK(t, sdks)
			for _, line := range []string{line, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, line} {
				a.send(line)
				b.send(line)
				got, want := strings.ReplaceAll(a.next(), oursDir, "WORK"), strings.ReplaceAll(b.next(), sdksDir, "WORK")
				if got, want = worded(got), worded(want); got != want {
					t.Errorf("%s\n got %s\nwant %s", line, got, want)
				}
			}
			if err := a.end(); err != nil {
				t.Error(err)
			}
		}
	}
}

// worded cuts the wording of an error, which is ours.
func worded(answer string) string {
	before, _, _ := strings.Cut(answer, `"error":`)
	return before
}

// TestOnlyPlainServersGreet leaves the answer to the SDK where its server may have more than ours.
func TestOnlyPlainServersGreet(t *testing.T) {
	e, err := readEnvelope([]byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{}}}`))
	if err != nil {
		t.Fatal(err)
	}
	s, _ := newServer(t, nil)
	with, _ := newServer(t, nil, func(cfg *Config) { cfg.Options = &mcp.ServerOptions{} })
	if s.greeting(e) == nil || with.greeting(e) != nil {
		t.Error("options are not regarded")
	}
	if s.SDK(); s.greeting(e) != nil {
		t.Error("what is added to the SDK's server is not regarded")
	}
}

// TestNextMessagesWaitForInitialize sends what follows initialize together with it, to a server
// that takes its time over initialize.
func TestNextMessagesWaitForInitialize(t *testing.T) {
	for _, params := range []string{
		`{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{}}`,
		`{"protocolVersion":"1999-01-01","capabilities":{"experimental":{}},"clientInfo":{"icons":[]}}`,
	} {
		s, _ := newServer(t, map[string]string{"a.txt": "alpha"})
		s.SDK().AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				if method == "initialize" {
					time.Sleep(20 * time.Millisecond)
				}
				return next(ctx, method, req)
			}
		})
		c := connect(t, s)
		c.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":`+params+"}\n"+
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
			`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"a.txt"}}}`)
		for _, want := range []string{`"serverInfo"`, `alpha`} {
			if got := c.next(); !strings.Contains(got, want) {
				t.Errorf("%s: %s has no %s", params, got, want)
			}
		}
	}
}
