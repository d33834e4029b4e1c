package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"textskill/internal/usage"
	"textskill/skill/dialect"
	"textskill/skill/fleet"
	"textskill/skill/fleet/toolcall"
	"textskill/skill/mcpserver"
)

// doorOptions are the flags of commands that call tools in a workspace.
type doorOptions struct {
	*options
	workspace string
	tools     []string
	start     bool
	dir       string
	tenant    string
	idle      time.Duration
}

func (d *doorOptions) add(f *pflag.FlagSet) {
	f.StringSliceVar(&d.tools, "tools", nil,
		"call the tools of `DIALECT`, or of several dialects separated by commas: "+
			strings.Join(dialect.Names(), ", ")+" (default "+dialect.Workspace.Name+")")
	f.BoolVar(&d.start, "start", false, "let a worker hold the workspace, if no worker does")
	f.StringVarP(&d.dir, "directory", "C", "", "with --start, copy the files of `DIR` to a new workspace")
	f.StringVar(&d.tenant, "tenant", "default", "with --start, hold the workspace for the tenant `NAME`")
	f.DurationVar(&d.idle, "idle", 10*time.Minute,
		"with --start, release the workspace after `TIME` without a call")
}

func (d *doorOptions) check(cmd *cobra.Command) error {
	for _, name := range d.tools {
		if dialect.Named(name) == nil {
			return fmt.Errorf("--tools %s is not a dialect; there are %s", name,
				strings.Join(dialect.Names(), ", "))
		}
	}
	if d.idle <= 0 {
		return fmt.Errorf("--idle %v: it must be more than 0", d.idle)
	}
	if !d.start {
		return usage.CheckUseless(cmd, "without --start", "directory", "tenant", "idle")
	}
	return nil
}

// checkStart checks the flags for the start of a workspace.
func (d *doorOptions) checkStart() error {
	return errors.Join(fleet.CheckName("tenant", d.tenant), checkFolder(d.dir))
}

// relay returns a relay to the workspace. With --start it makes a worker hold the workspace.
func (d *doorOptions) relay(p fleet.Plane, s settings) mcpserver.Relay {
	r := toolcall.Relay(p, d.workspace, d.tools)
	starting := make(chan bool, 1) // a lock: only one message starts the workspace
	return func(ctx context.Context, m mcpserver.Message) (mcpserver.Reply, error) {
		reply, err := r(ctx, m)
		if !errors.Is(err, toolcall.ErrNotHeld) {
			return reply, err
		}
		if !d.start {
			return reply, fmt.Errorf("%w; add --start to let a worker hold it", err)
		}
		select {
		case starting <- true:
		case <-ctx.Done():
			return reply, ctx.Err()
		}
		defer func() { <-starting }()
		run := ""
		for {
			reply, err := r(ctx, m)
			if !errors.Is(err, toolcall.ErrNotHeld) {
				return reply, err
			}
			notHeld := err
			if run, err = d.hold(ctx, p, s, run); err != nil {
				return reply, err
			}
			select {
			case <-time.After(startEvery):
			case <-ctx.Done():
				return reply, fmt.Errorf("%w: run %s waits for a worker", notHeld, run)
			}
		}
	}
}

// startEvery is how often relay tries again until a worker holds the workspace.
const startEvery = 100 * time.Millisecond

// hold returns the ID of the run that holds the workspace. If no run does, it submits a run for
// calls. run is the result of the last call of hold, or "".
func (d *doorOptions) hold(ctx context.Context, p fleet.Plane, s settings, run string) (string, error) {
	if run != "" {
		r, err := p.Run(ctx, run)
		if err != nil || !r.Status.Over() {
			return run, err
		}
		if r.Status != fleet.Completed {
			return run, fmt.Errorf("run %s of %s is %s: %s", run, d.workspace, r.Status, r.Reason)
		}
	}
	ws, err := p.Workspace(ctx, d.workspace)
	if err != nil {
		return "", err
	}
	if ws.Run != "" && ws.Run != run {
		if r, err := p.Run(ctx, ws.Run); err == nil && !r.Status.Over() {
			return r.ID, nil
		}
	}
	submission := fleet.Submission{Run: fleet.Run{Workspace: d.workspace, Tenant: d.tenant, Idle: d.idle}}
	switch {
	case ws.Revision == 0 && d.dir == "":
		return "", fmt.Errorf("there is no workspace %s; make it from a folder with -C DIR", d.workspace)
	case ws.Revision == 0:
		submission.Dir = d.dir
	}
	if submission.Owner, err = s.tenant(d.tenant); err != nil {
		return "", err
	}
	r, err := fleet.Submit(ctx, p, submission)
	return r.ID, err
}

const callLong = `call calls a tool in a workspace, on the worker that holds it, and prints the answer. The
worker stores the changes of the call before it answers. JSON is an object with the tool's
arguments; "-" reads it from standard input.

A worker holds a workspace while a run works in it. Then a call that changes something waits
for the end of the current step. The worker stores the call and the step together.`

func (c *cli) callCommand(o *options) *cobra.Command {
	d := doorOptions{options: o}
	cmd := &cobra.Command{
		Use:   "call [flags] WORKSPACE TOOL [JSON]",
		Short: "Call a tool of a workspace, on the worker that holds it",
		Long:  callLong,
		Example: `  skill-fleet call notes read '{"path":"todo.txt"}'
  skill-fleet call --start -C ~/notes notes list '{"path":"."}'`,
		Args: usage.Arguments(2, 3, "WORKSPACE and TOOL: the name of a workspace, and of one of its tools"),
		RunE: func(cmd *cobra.Command, args []string) error {
			d.workspace = args[0]
			if err := d.check(cmd); err != nil {
				return err
			}
			return c.failed(c.call(cmd.Context(), &d, args[1], append(args, "{}")[2]))
		},
	}
	d.add(cmd.Flags())
	return cmd
}

func (c *cli) call(ctx context.Context, d *doorOptions, tool, arguments string) error {
	data := []byte(arguments)
	if arguments == "-" {
		var err error
		if data, err = io.ReadAll(c.stdin); err != nil {
			return err
		}
	}
	if !json.Valid(data) {
		return fmt.Errorf("the arguments are not JSON: %.80q", data)
	}
	if err := errors.Join(fleet.CheckName("workspace", d.workspace), d.checkStart()); err != nil {
		return err
	}
	p, s, err := d.open(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	a, err := toolcall.Call(ctx, d.relay(p, s), tool, data)
	if err != nil {
		return err
	}
	out := c.stdout
	if a.Failed {
		out = c.stderr
	}
	fmt.Fprintln(out, strings.TrimSuffix(a.Text, "\n"))
	if a.Failed {
		return exit(exitFailed)
	}
	return nil
}

// held returns the function that serves calls to a workspace of a worker.
func (c *cli) held(cfg fleet.WorkerConfig) func(fleet.Holding) (fleet.Calls, error) {
	return func(h fleet.Holding) (fleet.Calls, error) {
		return toolcall.Open(toolcall.Config{
			Plane: cfg.Plane, Worker: cfg.Name, Workspace: h.Run.Workspace, Executor: h.Executor,
			Todos:   h.Todos,
			Version: version(), Log: c.stderr, Commit: h.Commit,
		})
	}
}
