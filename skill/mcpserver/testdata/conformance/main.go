//lint:file-ignore SA1019 the suite also checks what is deprecated for new clients

// Command conformance is a server that has, beside the tools of a dialect, the
// tools, prompts and resources that the protocol's conformance suite calls for. It
// answers through the same server as the product. The suite says what each of
// them has to do; see conformance.sh.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"textskill/skill"
	"textskill/skill/dialect"
	"textskill/skill/mcpserver"
)

func main() {
	dir := flag.String("C", ".", "the workspace")
	addr := flag.String("http", "", "serve streamable HTTP at this address, not stdio")
	stateless := flag.Bool("stateless", false, "serve without sessions")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, *dir, mcpserver.HTTP{Addr: *addr, NoToken: true, Stateless: *stateless}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, dir string, h mcpserver.HTTP) error {
	x, err := skill.New(skill.Config{Dir: dir})
	if err != nil {
		return err
	}
	defer x.Close()
	s, err := mcpserver.New(mcpserver.Config{
		Executor: x,
		Dialects: []*dialect.Dialect{dialect.Filesystem},
		Version:  "1",
		Options: &mcp.ServerOptions{
			Capabilities:       &mcp.ServerCapabilities{Logging: &mcp.LoggingCapabilities{}, Tools: &mcp.ToolCapabilities{ListChanged: true}},
			CompletionHandler:  complete,
			SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
			UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
		},
	})
	if err != nil {
		return err
	}
	addTools(s.SDK())
	addPrompts(s.SDK())
	addResources(s.SDK())
	if h.Addr == "" {
		return s.Stdio(ctx, os.Stdin, os.Stdout)
	}
	h.Ready = func(url string) { fmt.Println(url) }
	return s.HTTP(ctx, h)
}

func complete(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{}}}, nil
}
