package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"textskill/cmd/internal/usage"
	"textskill/parser"
	rawjson "textskill/parser/json"
	"textskill/skill"
	"textskill/skill/agent"
	"textskill/skill/dialect"
)

func (c *cli) undoCommand(o *options) *cobra.Command {
	var since, run string
	var step int
	var force bool
	cmd := &cobra.Command{
		Use:   "undo [flags] [ID]",
		Short: "Undo the last change, a change by its ID, or all changes of a run",
		Long: `undo takes back the last change, or the change ID. Type it again to take back the change
before. An undo is a change too: to redo, undo the ID of the undo.

undo refuses if another program has changed the file since. --force first saves the file as
it is, and then takes the change back. --force also skips what cannot be undone.

--run takes back all changes of a run, and nothing else. --step N takes back only the
changes after step N. Then "skill run --resume-from" continues the conversation from
there; with --files it does both.`,
		Example:           "  skill undo\n  skill undo 12\n  skill undo --since 12\n  skill --dry-run undo\n  skill undo --run c3b5wj… --step 2",
		Args:              usage.Arguments(0, 1, ""),
		ValidArgsFunction: c.completeChange(o),
		RunE: func(cmd *cobra.Command, args []string) error {
			in := map[string]any{"force": force}
			o.allowConfig = true // a person typed it
			if run != "" || cmd.Flags().Changed("step") {
				if since != "" || len(args) > 0 {
					return errors.New("--run undoes the changes of a run; leave the ID and --since out")
				}
				if run == "" {
					return errors.New("--step needs --run: the run whose step it is")
				}
				if !cmd.Flags().Changed("step") {
					step = -1
				}
				return c.failed(c.undoRun(cmd.Context(), o, run, step, in))
			}
			if since != "" && len(args) > 0 {
				return fmt.Errorf("--since undoes a change and all after it; leave out the ID %.20s, or --since", args[0])
			}
			if since != "" {
				in["since"] = since
			}
			if len(args) > 0 {
				in["id"] = args[0]
			}
			return c.journal(cmd.Context(), o, cmd.Name(), in)
		},
	}
	cmd.Flags().StringVar(&since, "since", "", "undo the change `ID` and all after it")
	cmd.RegisterFlagCompletionFunc("since", c.completeChange(o))
	cmd.Flags().StringVar(&run, "run", "",
		"undo the changes of the expert's run `ID`; \"skill log\" lists runs")
	cmd.Flags().IntVar(&step, "step", 0, "with --run, undo only the changes after step `N`")
	cmd.Flags().BoolVar(&force, "force", false,
		"undo even if a file has changed since, and save its current version; skip what cannot be undone")
	o.obey(cmd, "workspace", "--journal-changes", "--journal-age", "--journal-bytes", "--state", "--json")
	return cmd
}

// undoRun undoes what a run changed after a step, -1 for all, and says how to go on.
func (c *cli) undoRun(ctx context.Context, o *options, run string, step int, in map[string]any) error {
	if err := c.historyAbove(o, "undo --run "+shellWord(run), nil); err != nil {
		return err
	}
	x, err := c.historian(o)
	if err != nil {
		return err
	}
	defer x.Close()
	release, err := agent.Records{Executor: x}.Hold(ctx, run)
	if err != nil {
		return err
	}
	defer release()
	records, _, err := agent.Records{Executor: x}.Confirmed(run)
	if err != nil {
		return err
	}
	at, err := records.AtStep(ctx, run, max(step, 0))
	undo := skill.Undo{Run: run}
	if err == nil {
		undo, err = at.UndoAfter()
	}
	if err != nil && step >= 0 {
		return err
	}
	if in["run"] = run; undo.After != nil {
		in["after"] = undo.After
	}
	reply := dialect.Undo.Do(ctx, x, &skill.Session{},
		parser.ToolCall{Name: "undo", Arguments: rawjson.Encode(in)})
	if done, ok := reply.Result.(skill.Reverted); ok && len(done.Changes) == 0 {
		if _, err := records.Find(ctx, run); err != nil {
			return err
		}
	}
	o.sayForce(reply, in, step)
	err = (&prompter{cli: c, o: o, x: x}).print(reply)
	if done, ok := reply.Result.(skill.Reverted); ok &&
		err == nil && !o.json && len(done.Changes) > 0 &&
		done.Changes[0].Applied {
		c.sayf("\"%s\" makes all of it again", o.again("undo", "--since", done.Changes[0].ID))
		if step > 0 {
			c.sayf("\"%s\" continues the conversation from there",
				o.again("run", at.Expert.Key, "--continue-run", run, "--resume-from", at.ID))
		}
	}
	return err
}

// sayForce has an undo that was refused say what to type to go on anyway.
func (o *options) sayForce(reply dialect.Reply, in map[string]any, step int) {
	failure, ok := errors.AsType[*dialect.Failure](reply.Err)
	refused, one := errors.AsType[*skill.UndoError](reply.Err)
	if partly, several := errors.AsType[*skill.PartlyUndoneError](reply.Err); several {
		ok = ok && partly.Force()
	} else {
		ok = ok && one && refused.Force
	}
	if one && refused.Before != "" {
		defer func() {
			failure, _ := errors.AsType[*dialect.Failure](reply.Err)
			before := `"` + o.again("undo", refused.Before) + `" undoes the change before it`
			failure.Hint = strings.Join(slices.DeleteFunc([]string{failure.Hint, before},
				func(s string) bool { return s == "" }), "; ")
		}()
		if failure, ok := errors.AsType[*dialect.Failure](reply.Err); ok {
			failure.Hint = ""
		}
	}
	if !ok {
		return
	}
	words := []string{"--force"}
	for _, flag := range []string{"since", "run"} {
		if id, ok := in[flag].(string); ok {
			words = append(words, "--"+flag, id)
		}
	}
	if step >= 0 {
		words = append(words, "--step", strconv.Itoa(step))
	}
	if id, ok := in["id"].(string); ok {
		words = append(words, id)
	}
	failure.Hint = `"` + o.again("undo", words...) +
		`" goes on anyway: what it replaces is saved first, and what cannot be undone is skipped`
}

// historyAbove is an error that says what to type where the current folder has no history, but one above
// it has. Opening the history here would begin one.
func (c *cli) historyAbove(o *options, tool string, in map[string]any) error {
	here, err := os.Getwd()
	if err != nil || o.workspace != "" || skill.HasHistory(here, c.historyDir(o)) {
		return nil
	}
	above := c.nearest(o, filepath.Dir(here))
	if !skill.HasHistory(above, c.historyDir(o)) {
		return nil
	}
	if id, ok := in["id"].(string); ok {
		tool += " " + shellWord(id)
	}
	return fmt.Errorf("no change is recorded for this folder, but for one above; type: %s %s -C %s",
		c.program(), tool, shellWord(above))
}

// journal carries out a call of the undo dialect and prints the answer.
func (c *cli) journal(ctx context.Context, o *options, tool string, in map[string]any) error {
	if err := c.historyAbove(o, tool, in); err != nil {
		return c.failed(err)
	}
	x, err := c.historian(o)
	if err != nil {
		return err
	}
	defer x.Close()
	reply := dialect.Undo.Do(ctx, x, &skill.Session{},
		parser.ToolCall{Name: tool, Arguments: rawjson.Encode(in)})
	o.sayForce(reply, in, -1)
	run, _ := in["run"].(string)
	if list, ok := reply.Result.(skill.Changes); ok && len(list.List) == 0 && run != "" {
		if _, err := (agent.Records{Executor: x}).Find(ctx, run); err != nil {
			return c.failed(err)
		}
	}
	return c.paged(func(c *cli) error { return (&prompter{cli: c, o: o, x: x}).print(reply) })
}
