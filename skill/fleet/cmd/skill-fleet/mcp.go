package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"textskill/internal/usage"
	"textskill/skill/fleet"
	"textskill/skill/mcpserver"
)

const mcpLong = `mcp serves the tools of a workspace to clients that speak the Model Context Protocol. It
uses standard input and output, or with --http streamable HTTP at /mcp. It reaches the
worker that holds the workspace, also after the workspace has moved. You can run several
such servers behind a balancer, because no server keeps a client's state. All clients of a
workspace share one list of todos.

HTTP needs a bearer token. mcp reads it from --http-token-file, which all servers share, or
makes one for this start. While no worker holds the workspace, mcp answers with 503.`

type mcpOptions struct {
	doorOptions
	http      string
	tokenFile string
	hosts     []string
}

func (c *cli) mcpCommand(o *options) *cobra.Command {
	m := mcpOptions{doorOptions: doorOptions{options: o}}
	cmd := &cobra.Command{
		Use:   "mcp [flags] --workspace NAME",
		Short: "Serve the tools of a workspace to MCP clients",
		Long:  mcpLong,
		Example: `  skill-fleet mcp --workspace notes --start
  skill-fleet mcp --workspace notes --http 0.0.0.0:3900 --http-token-file /run/secrets/mcp`,
		Args: usage.Arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := m.check(cmd); err != nil {
				return err
			}
			if m.http == "" {
				if err := usage.CheckUseless(cmd, "without --http", "http-token-file", "http-host"); err != nil {
					return err
				}
			}
			if m.workspace == "" {
				return errors.New("missing --workspace NAME")
			}
			return c.failed(c.mcp(cmd.Context(), &m))
		},
	}
	m.add(cmd.Flags())
	f := cmd.Flags()
	f.StringVar(&m.workspace, "workspace", "", "serve the workspace `NAME`")
	f.StringVar(&m.http, "http", "", "serve streamable HTTP at `ADDR`, like 127.0.0.1:3900 or unix:PATH")
	f.StringVar(&m.tokenFile, "http-token-file", "", "with --http, require the bearer token in `FILE`")
	f.StringSliceVar(&m.hosts, "http-host", nil,
		"with --http, also accept requests for the host `NAME`; may be repeated")
	return cmd
}

// serving returns the configuration of HTTP. For a new token it returns a note to print.
func (m *mcpOptions) serving() (h mcpserver.HTTP, note string, err error) {
	h = mcpserver.HTTP{Addr: m.http, Hosts: m.hosts}
	switch {
	case m.http == "" || strings.HasPrefix(m.http, "unix:"):
	case m.tokenFile == "":
		h.Token = rand.Text()
		note = "clients need the header \"Authorization: Bearer " + h.Token + "\" until this server ends"
	default:
		var data []byte
		data, err = os.ReadFile(m.tokenFile)
		if h.Token = strings.TrimSpace(strings.TrimPrefix(string(data), "\ufeff")); err == nil && h.Token == "" {
			err = errors.New(m.tokenFile + " is empty")
		}
		if err != nil {
			err = fmt.Errorf("--http-token-file: %w", err)
		}
	}
	if wrong := h.Check(); m.http != "" && wrong != nil {
		err = errors.Join(err, fmt.Errorf("--http: %w", wrong))
	}
	return h, note, err
}

func (c *cli) mcp(ctx context.Context, m *mcpOptions) error {
	h, note, err := m.serving()
	if err := errors.Join(err, fleet.CheckName("workspace", m.workspace), m.checkStart()); err != nil {
		return err
	}
	p, s, err := m.open(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	r := m.relay(p, s)
	if c.getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(50)) // saves memory: the server mostly waits
	}
	if m.http == "" {
		return r.Stdio(ctx, c.stdin, c.stdout)
	}
	h.Ready = func(url string) {
		fmt.Fprintln(c.stderr, "skill-fleet: serving MCP at", url)
		if note != "" {
			fmt.Fprintln(c.stderr, "skill-fleet:", note)
		}
	}
	return r.HTTP(ctx, h)
}
