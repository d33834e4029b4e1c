package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"textskill/skill"
	"textskill/skill/dialect"
	"textskill/skill/mcpserver"
)

// A server has the tools of this program and a Go function. A program would call
// [mcpserver.Server.Stdio] or [mcpserver.Server.HTTP] to serve them.
func ExampleNew() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	x, err := skill.New(skill.Config{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()
	type sum struct {
		A int `json:"a"`
		B int `json:"b"`
	}
	own, err := dialect.New("sums", "arithmetic", dialect.Func("add", "Add two numbers.",
		func(_ context.Context, in sum) (map[string]int, error) {
			return map[string]int{"sum": in.A + in.B}, nil
		}))
	if err != nil {
		log.Fatal(err)
	}
	server, err := mcpserver.New(mcpserver.Config{Executor: x,
		Dialects: []*dialect.Dialect{dialect.Workspace, own}, Name: "sums", Version: "1"})
	if err != nil {
		log.Fatal(err)
	}

	ctx := context.Background()
	here, there := mcp.NewInMemoryTransports()
	if _, err := server.SDK().Connect(ctx, there, nil); err != nil {
		log.Fatal(err)
	}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, nil).Connect(ctx, here, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	r, err := client.CallTool(ctx,
		&mcp.CallToolParams{Name: "add", Arguments: json.RawMessage(`{"a":1,"b":2}`)})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(client.InitializeResult().ServerInfo.Name, r.Content[0].(*mcp.TextContent).Text,
		r.StructuredContent)
	// Output: sums {"sum":3} map[sum:3]
}
