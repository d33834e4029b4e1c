package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"textskill/internal/usage"
	"textskill/skill/fleet"
)

const submitLong = `submit sends a run to the workers and prints its ID. It copies the folder of -C. The run
works in the copy, which fetch brings back. With --workspace alone, the run works on the
files that an earlier run has left.

If you submit a run again with its ID, it is the same run; a different query, expert,
workspace or tenant is an error. submit does not send files named .env*, credentials of git,
or files that fleet.toml excludes for the tenant. If too many runs of the tenant wait,
submit exits with 4. Submit the run again later, with its ID.`

func (c *cli) submitCommand(o *options) *cobra.Command {
	s := fleet.Submission{}
	cmd := &cobra.Command{
		Use:   "submit [flags] EXPERT [QUERY]",
		Short: "Send a run to the workers",
		Long:  submitLong,
		Example: `  skill-fleet submit file-organizer "Organize files by type" -C ~/photos
  skill-fleet submit reviewer "Look again" --workspace service --urgent`,
		Args: usage.Arguments(1, 2, "EXPERT: the name of an expert in perstack.toml"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s.Expert = args[0]
			if len(args) > 1 {
				s.Query = args[1]
			}
			if err := checkSubmission(s); err != nil {
				return err
			}
			return c.failed(c.submit(cmd.Context(), o, s))
		},
	}
	f := cmd.Flags()
	f.StringVarP(&s.Dir, "directory", "C", "", "copy the files of `DIR`")
	f.StringVar(&s.Workspace, "workspace", "",
		"work in the workspace `NAME`; -C makes a new workspace")
	f.BoolVar(&s.Replace, "replace", false, "with -C, replace the files of an existing workspace")
	f.StringVar(&s.ID, "id", "", "give the run this `ID` (default a new, unique ID)")
	f.StringVar(&s.Tenant, "tenant", "default", "submit the run for the tenant `NAME`")
	f.BoolVar(&s.Urgent, "urgent", false, "begin the run before runs that are not urgent")
	f.StringVar(&s.Label, "label", "", "let only workers with `LABEL` carry the run out")
	f.StringVar(&s.Pin, "pin", "", "let only `WORKER` carry the run out, with files of up to 8 GiB")
	f.IntVar(&s.MaxSteps, "max-steps", 0, "stop after `N` steps (0: no limit)")
	return cmd
}

// checkSubmission checks a command line.
func checkSubmission(s fleet.Submission) error {
	switch {
	case s.Dir == "" && s.Workspace == "":
		return errors.New("the run needs files: name a folder with -C DIR, or a workspace with --workspace NAME")
	case s.Replace && (s.Dir == "" || s.Workspace == ""):
		return errors.New("--replace needs a folder with -C DIR and a workspace with --workspace NAME")
	case s.MaxSteps < 0:
		return fmt.Errorf("--max-steps %d: it must be at least 0", s.MaxSteps)
	case s.Query == "":
		return errors.New("missing QUERY: the task of the expert")
	}
	return nil
}

// checkFolder fails if dir is not a folder; "" is valid.
func checkFolder(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case dir == "":
		return nil
	case err != nil:
		return fmt.Errorf("-C: %w", err)
	case !info.IsDir():
		return fmt.Errorf("-C %s is not a folder", dir)
	}
	return nil
}

func (c *cli) submit(ctx context.Context, o *options, s fleet.Submission) error {
	if err := errors.Join(s.CheckNames(), checkFolder(s.Dir)); err != nil {
		return err
	}
	p, settings, err := o.open(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	if s.Owner, err = settings.tenant(s.Tenant); err != nil {
		return err
	}
	s.Trace = c.getenv("TRACEPARENT")
	r, err := fleet.Submit(ctx, p, s)
	if errors.Is(err, fleet.ErrQuota) {
		fmt.Fprintln(c.stderr, "skill-fleet:", err)
		return exit(exitQuota)
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(c.stdout, r.ID)
	return nil
}

func (c *cli) cancelCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:     "cancel [flags] ID",
		Short:   "End a run, and keep the files of its last finished step",
		Example: "  skill-fleet cancel 4kx2…",
		Args:    usage.Arguments(1, 1, "ID: the ID of a run; \"skill-fleet runs\" lists them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := fleet.CheckName("run", args[0]); err != nil {
				return c.failed(err)
			}
			p, _, err := o.open(cmd.Context())
			if err != nil {
				return c.failed(err)
			}
			defer p.Close()
			r, err := fleet.EndRun(cmd.Context(), p, args[0])
			if err == nil && r.Status.Over() && r.Status != fleet.Cancelled {
				err = fmt.Errorf("run %s is over already: %s", r.ID, r.Status)
			}
			return c.failed(err)
		},
	}
}

func (c *cli) fetchCommand(o *options) *cobra.Command {
	dir := ""
	cmd := &cobra.Command{
		Use:     "fetch [flags] ID",
		Short:   "Copy the files of a run here, as of its last finished step",
		Example: "  skill-fleet fetch 4kx2… -C ~/organized",
		Args:    usage.Arguments(1, 1, "ID: the ID of a run; \"skill-fleet runs\" lists them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.failed(c.fetch(cmd.Context(), o, args[0], dir))
		},
	}
	cmd.Flags().StringVarP(&dir, "directory", "C", "",
		"write the files to `DIR`, which must be empty or new (default the ID)")
	return cmd
}

func (c *cli) fetch(ctx context.Context, o *options, id, dir string) error {
	if err := fleet.CheckName("run", id); err != nil {
		return err
	}
	p, s, err := o.open(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	r, err := p.Run(ctx, id)
	if err != nil {
		return err
	}
	owner, err := s.tenant(r.Tenant)
	if err != nil {
		return err
	}
	dir = cmp.Or(dir, id)
	if r, err = fleet.Fetch(ctx, p, id, dir, owner); err == nil {
		fmt.Fprintf(c.stdout, "%s has the files after step %d; the run is %s\n", dir, r.Step, r.Status)
	}
	return err
}
