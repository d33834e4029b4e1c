package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"textskill/internal/usage"
	"textskill/skill/agent"
	"textskill/skill/fleet"
)

// runsOptions are the flags of skill-fleet runs.
type runsOptions struct {
	*options
	tenant string
	follow string
	json   bool
}

func (c *cli) runsCommand(o *options) *cobra.Command {
	r := runsOptions{options: o}
	cmd := &cobra.Command{
		Use:   "runs [flags]",
		Short: "List the runs, or follow one",
		Long: `runs lists the runs, the latest first. With --follow it prints the past events of a run, and
then new events until the run ends. It exits with 0 if the run was completed, with 3 if the
run stopped at a limit or waits for an answer, and with 1 if it failed or was cancelled.`,
		Example: "  skill-fleet runs --tenant research\n  skill-fleet runs --follow 4kx2…",
		Args:    usage.Arguments(0, 0, "--follow ID follows a run"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if r.follow != "" {
				if err := usage.CheckUseless(cmd, "with --follow", "tenant"); err != nil {
					return err
				}
				if err := fleet.CheckName("run", r.follow); err != nil {
					return c.failed(err)
				}
			}
			if err := fleet.CheckName("tenant", cmp.Or(r.tenant, "-")); err != nil {
				return c.failed(err)
			}
			p, _, err := o.open(cmd.Context())
			if err != nil {
				return c.failed(err)
			}
			defer p.Close()
			if r.follow != "" {
				return c.failed(c.follow(cmd.Context(), p, r))
			}
			return c.failed(c.list(cmd.Context(), p, r))
		},
	}
	f := cmd.Flags()
	f.StringVar(&r.tenant, "tenant", "", "list the runs of the tenant `NAME` only")
	f.StringVar(&r.follow, "follow", "", "print the events of the run `ID` until it ends")
	f.BoolVar(&r.json, "json", false, "print lines of JSON")
	return cmd
}

// list prints the runs.
func (c *cli) list(ctx context.Context, p fleet.Plane, o runsOptions) error {
	runs, err := fleet.Runs(ctx, p, o.tenant)
	if err != nil {
		return err
	}
	slices.SortFunc(runs, func(a, b fleet.Run) int {
		return cmp.Or(b.Submitted.Compare(a.Submitted), cmp.Compare(a.ID, b.ID))
	})
	if o.json {
		lines := json.NewEncoder(c.stdout)
		for _, r := range runs {
			if err := lines.Encode(r); err != nil {
				return err
			}
		}
		return nil
	}
	w := tabwriter.NewWriter(c.stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tSTATUS\tWORKER\tSTEP\tEPOCH\tTENANT\tEXPERT\tAGE")
	for _, r := range runs {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%s\t%s\t%s\n", r.ID, r.Status, cmp.Or(r.Worker, "-"), r.Step,
			r.Epoch, r.Tenant, cmp.Or(r.Expert, "-"), age(r.Submitted))
	}
	return w.Flush()
}

// age returns the time since t in one or two units.
func age(t time.Time) string {
	switch d := time.Since(t); {
	case d < time.Minute:
		return d.Truncate(time.Second).String()
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%dm", int(d.Hours()), int(d.Minutes())%60)
	default:
		return fmt.Sprintf("%dd", int(d.Hours()/24))
	}
}

// follow prints the events of a run until its end.
func (c *cli) follow(ctx context.Context, p fleet.Plane, o runsOptions) error {
	printer := &eventPrinter{c: c, seen: map[string]bool{}}
	live := func(e fleet.Event) {
		if e.Kind == fleet.Agent {
			var a agent.Event
			if json.Unmarshal(e.Agent, &a) == nil {
				printer.agent(e, a)
			}
		}
	}
	if o.json {
		live = nil
	}
	for e, err := range fleet.Follow(ctx, p, o.follow, live) {
		if err != nil {
			return err
		}
		if o.json {
			if err := json.NewEncoder(c.stdout).Encode(e); err != nil {
				return err
			}
			continue
		}
		if e.Kind != fleet.Agent {
			printer.line(e, e.Text)
			continue
		}
		a, err := fleet.AgentEvent(ctx, p, o.follow, e)
		if err != nil {
			return err
		}
		printer.agent(e, a)
	}
	r, err := p.Run(ctx, o.follow)
	switch {
	case err != nil:
		return err
	case r.Status == fleet.Completed:
		return nil
	case r.Status == fleet.Stopped:
		return exit(exitStopped)
	}
	return exit(exitFailed)
}

// An eventPrinter prints each event once, in a line. It is safe for concurrent use.
type eventPrinter struct {
	c    *cli
	mu   sync.Mutex
	seen map[string]bool // IDs of experts' events
}

func (p *eventPrinter) agent(e fleet.Event, a agent.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seen[a.ID] {
		return
	}
	p.seen[a.ID] = true
	text := string(a.Type)
	switch {
	case a.Text != nil:
		text += ": " + *a.Text
	case a.Error != nil:
		text += ": " + a.Error.Message
	case a.ToolCall != nil && a.ToolResult == nil:
		text += " " + a.ToolCall.ToolName + " " + string(a.ToolCall.Args)
	case a.ToolCall == nil && a.Checkpoint == nil:
		return // a detail of a call
	case a.Type == agent.ContinueToNextStep:
		return
	}
	p.print(e, text)
}

func (p *eventPrinter) line(e fleet.Event, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.print(e, string(e.Kind)+": "+text)
}

// maxLine is how many characters of an event the printer prints.
const maxLine = 300

func (p *eventPrinter) print(e fleet.Event, text string) {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
	if runes := []rune(text); len(runes) > maxLine {
		text = string(runes[:maxLine]) + "…"
	}
	fmt.Fprintf(p.c.stdout, "%s  step %-3d %s\n", e.Time.Local().Format(time.TimeOnly), e.Step, text)
}
