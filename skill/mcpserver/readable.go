package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxAnswer is how many bytes of one answer are sent. Clients that are made with the protocol's
// TypeScript SDK close the connection when a line has more than 10 MiB.
const maxAnswer = 10 << 20

// readable answers calls with an error in place of what clients do not read.
func (s *Server) readable(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		r, err := next(ctx, method, req)
		if err != nil || !mayBeLong(r) {
			return r, err
		}
		data, err := json.Marshal(r)
		if err != nil || len(data) <= maxAnswer-1<<10 { // the rest is for its ID
			return r, err
		}
		problem := fmt.Sprintf("the answer has %d bytes, and clients read at most %d bytes: ask for less of it",
			len(data), maxAnswer)
		called, ok := r.(*mcp.CallToolResult)
		if !ok {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: problem}
		}
		if p, ok := req.GetParams().(*mcp.CallToolParamsRaw); ok && !called.IsError && !s.tools[p.Name].reads {
			problem = "the call was carried out, but " + problem
		}
		return &mcp.CallToolResult{Meta: called.Meta, IsError: true,
			Content: []mcp.Content{&mcp.TextContent{Text: problem}}}, nil
	}
}

// mayBeLong reports whether a result may have more than maxAnswer bytes as JSON, in which a byte of
// text has at most six.
func mayBeLong(r mcp.Result) bool {
	n := 0
	count := func(c *mcp.ResourceContents) { n += 6*len(c.Text) + len(c.Blob)*4/3 }
	switch r := r.(type) {
	case *mcp.CallToolResult:
		raw, ok := r.StructuredContent.(json.RawMessage)
		if !ok && r.StructuredContent != nil {
			return true // of a tool that is not ours
		}
		n = 6 * len(raw)
		for _, c := range r.Content {
			switch c := c.(type) {
			case *mcp.TextContent:
				n += 6 * len(c.Text)
			case *mcp.ImageContent:
				n += len(c.Data) * 4 / 3
			case *mcp.EmbeddedResource:
				count(c.Resource)
			}
		}
	case *mcp.ReadResourceResult:
		for _, c := range r.Contents {
			count(c)
		}
	}
	return n > maxAnswer/2
}
