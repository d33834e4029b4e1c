package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"textskill/cmd/internal/usage"
	"textskill/skill/fleet/jetstream"
)

// devOptions are the flags of skill-fleet dev.
type devOptions struct {
	worker workerSettings
	dir    string
	port   int
}

func (c *cli) devCommand(o *options) *cobra.Command {
	var d devOptions
	cmd := &cobra.Command{
		Use:   "dev [flags]",
		Short: "Run a whole fleet in this process: a server and a worker",
		Long: `dev starts a NATS server on this machine and a worker, to try things out. What it has
accepted stays in the folder of --dir, and it goes on with that when it is started again.`,
		Example: "  skill-fleet dev --slots 8",
		Args:    usage.Arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.failed(c.dev(cmd.Context(), *o, d))
		},
	}
	f := cmd.Flags()
	addWorker(f, &d.worker)
	f.StringVar(&d.dir, "dir", "", "keep the server's state in `DIR` (default below XDG_STATE_HOME)")
	f.IntVar(&d.port, "port", 4222, "let the server listen on `PORT` of 127.0.0.1 (0: a free one)")
	return cmd
}

func (c *cli) dev(ctx context.Context, o options, d devOptions) error {
	s, err := o.settings()
	if err != nil {
		return err
	}
	s.Worker = d.worker.or(s.Worker)
	state, err := c.stateDir()
	if d.dir == "" {
		if err != nil {
			return err
		}
		d.dir = filepath.Join(state, "dev")
	}
	if s.Worker.Root == "" {
		s.Worker.Root = filepath.Join(d.dir, "workspaces")
	}
	if _, err := c.workerConfig(&s); err != nil { // before anything is started
		return err
	}
	var server *jetstream.Server
	if err = os.MkdirAll(d.dir, 0o700); err == nil {
		server, err = jetstream.StartServer(jetstream.ServerOptions{Dir: filepath.Join(d.dir, "nats"), Port: d.port, Errors: c.stderr})
	}
	if err != nil {
		return fmt.Errorf("%w; choose another port with --port, another folder with --dir", err)
	}
	defer server.Shutdown()
	o.nats, o.creds = server.URL(), ""
	flag := ""
	if o.nats != defaultNATS {
		flag = "--nats " + o.nats + " "
	}
	fmt.Fprintf(c.stdout, `The fleet is ready. In another terminal:
  skill-fleet %[1]ssubmit EXPERT "QUERY" -C DIR
  skill-fleet %[1]sruns --follow ID
  skill-fleet %[1]sfetch ID
`, flag)
	return c.work(ctx, &o, s)
}
