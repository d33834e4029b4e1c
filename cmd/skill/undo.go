package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"textskill/internal/usage"
	"textskill/parser"
	"textskill/parser/rawjson"
	"textskill/skill"
	"textskill/skill/agent"
	"textskill/skill/dialect"
)

// undoOptions are the flags of skill undo.
type undoOptions struct {
	changeOptions
	since, run     string
	step           int // -1 if none is named
	force, perhaps bool
}

func (c *cli) undoCommand(*configuration) *cobra.Command {
	var o undoOptions
	cmd := &cobra.Command{
		Use:   "undo [flags] [ID]",
		Short: "Undo the last change, a change by its ID, or all changes of a run",
		Long: `undo takes back the last change, or the change ID. Type it again to take back the change
before. An undo is a change too: to redo, undo the ID of the undo.

undo takes what the change made, and leaves the rest. These words go further:

  it refuses because ...                            type
  the same lines were changed since                 --force (keeps all other lines)
  the file is no text, or is missing                --force (saves it first)
  a saved version is missing                        --force (skips that file)
  another command ran at the same time              --perhaps
  nobody told the end of the command (Esc, a kill)  --perhaps
  nothing tells who made the file                   --perhaps
  a program has the file open                       --perhaps, or close it
  a program has the database open                   close it, or --force
  calls of an agent were missed since               --perhaps

The exit code is 4 if some files of the change stayed, and 1 if all did.

--run takes back all changes of a run, and nothing else. --step N takes back only the
changes after step N. Then "skill run --resume-from" continues the conversation from
there; with --files it does both.`,
		Example:           "  skill undo\n  skill undo 12\n  skill undo --since 12\n  skill --dry-run undo\n  skill undo --perhaps 12\n  skill undo --run c3b5wj… --step 2",
		Args:              usage.Arguments(0, 1, ""),
		ValidArgsFunction: c.completeChange(&o.workspaceOptions),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.AllowConfig = true // a person typed it
			if !cmd.Flags().Changed("step") {
				o.step = -1
			}
			if err := o.check(args); err != nil {
				return err
			}
			in := map[string]any{"force": o.force, "perhaps": o.perhaps}
			if o.run != "" {
				return c.failed(c.undoRun(cmd.Context(), &o, in))
			}
			if o.since != "" {
				in["since"] = o.since
			}
			if len(args) > 0 {
				in["id"] = args[0]
			}
			return c.journal(cmd.Context(), &o.changeOptions, cmd.Name(), in)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.since, "since", "", "undo the change `ID` and all after it")
	cmd.RegisterFlagCompletionFunc("since", c.completeChange(&o.workspaceOptions))
	f.StringVar(&o.run, "run", "",
		"undo the changes of the expert's run `ID`; \"skill log\" lists runs")
	f.IntVar(&o.step, "step", 0, "with --run, undo only the changes after step `N`")
	f.BoolVar(&o.force, "force", false,
		"undo even if a file has changed since, and save its current version; skip what cannot be undone")
	f.BoolVar(&o.perhaps, "perhaps", false, "undo what others may have changed, too")
	o.addWriting(f)
	return cmd
}

// check refuses flags that contradict each other.
func (o *undoOptions) check(args []string) error {
	switch ofRun := o.run != "" || o.step >= 0; {
	case ofRun && (o.since != "" || len(args) > 0):
		return errors.New("--run undoes the changes of a run; leave the ID and --since out")
	case ofRun && o.run == "":
		return errors.New("--step needs --run: the run whose step it is")
	case o.since != "" && len(args) > 0:
		return fmt.Errorf("--since undoes a change and all after it; leave out the ID %.20s, or --since", args[0])
	}
	return nil
}

// undoRun undoes what a run changed after a step, -1 for all, and says how to go on.
func (c *cli) undoRun(ctx context.Context, o *undoOptions, in map[string]any) error {
	if err := c.historyAbove(&o.workspaceOptions, in); err != nil {
		return err
	}
	x, err := c.historian(&o.workspaceOptions)
	if err != nil {
		return err
	}
	defer x.Close()
	release, err := agent.Records{Executor: x}.Hold(ctx, o.run)
	if err != nil {
		return err
	}
	defer release()
	at, undo, err := undoAfter(ctx, x, o.run, o.step)
	if err != nil {
		return err
	}
	if in["run"] = o.run; undo.After != nil {
		in["after"] = undo.After
	}
	reply := dialect.Undo.Do(ctx, x, &skill.Session{},
		parser.ToolCall{Name: "undo", Arguments: rawjson.Encode(in)})
	done, ok := reply.Result.(skill.Reverted)
	if ok && len(done.Changes) == 0 {
		if err := c.noSession(&o.workspaceOptions, x.Dir(), "undo", o.run); err != nil {
			return err
		}
		if _, err := (agent.Records{Executor: x}).Find(ctx, o.run); err != nil {
			of, herr := x.Execute(ctx, &skill.Session{}, skill.History{Run: o.run, Limit: 1})
			if list, ok := of.(skill.Changes); herr != nil || !ok || len(list.List) == 0 { // a session of another agent
				return err
			}
		}
	}
	c.sayForce(&o.changeOptions, reply, in, o.step)
	err = (&printer{console: &c.console, json: o.json, dir: x.Dir()}).print(reply)
	if ok && err == nil && !o.json {
		c.sayRunUndone(o, at, done)
		c.saySession(&o.workspaceOptions, x.Dir(), "undo", o.run)
		c.sayWorktrees(x.Dir(), done)
	}
	return err
}

// undoAfter returns what undoes the changes of a run after a step, and the checkpoint there. A
// step of -1 means all changes, for which no checkpoint is needed.
func undoAfter(ctx context.Context, x *skill.Executor, run string, step int) (at agent.Checkpoint,
	undo skill.Undo, err error) {
	records, _, err := agent.Records{Executor: x}.Confirmed(run)
	if err != nil {
		return at, undo, err
	}
	at, err = records.AtStep(ctx, run, max(step, 0))
	undo = skill.Undo{Run: run}
	if err == nil {
		undo, err = at.UndoAfter()
	}
	if step < 0 {
		err = nil
	}
	return at, undo, err
}

// sayRunUndone says how to redo what was undone of a run, and how to continue the run from there.
func (c *console) sayRunUndone(o *undoOptions, at agent.Checkpoint, done skill.Reverted) {
	if len(done.Changes) == 0 || !done.Changes[0].Applied {
		return
	}
	c.sayf("\"%s\" makes all of it again", c.again(&o.workspaceOptions, "undo", "--since", done.Changes[0].ID))
	if o.step > 0 {
		c.sayf("\"%s\" continues the conversation from there", c.again(&o.workspaceOptions, "run",
			at.Expert.Key, "--continue-run", o.run, "--resume-from", at.ID))
	}
}

// sayForce has an undo that was refused say what to type to go on anyway.
func (c *console) sayForce(o *changeOptions, reply dialect.Reply, in map[string]any, step int) {
	w := &o.workspaceOptions
	if done, ok := reply.Result.(skill.Reverted); ok {
		for _, u := range done.Changes {
			if !u.Applied {
				continue
			}
			isDoubt := func(e *skill.UndoError) bool { return e.Grade != "" }
			if slices.ContainsFunc(u.Kept, isDoubt) {
				c.sayf("\"%s\" takes these files back too", c.again(w, "undo", "--perhaps", u.Of))
			}
			if slices.ContainsFunc(u.Kept, func(e *skill.UndoError) bool { return e.Force && !isDoubt(e) }) {
				c.sayf("\"%s\" takes open databases back too", c.again(w, "undo", "--force", u.Of))
			}
		}
	}
	failure, failed := errors.AsType[*dialect.Failure](reply.Err)
	if !failed {
		return
	}
	refused, one := errors.AsType[*skill.UndoError](reply.Err)
	helps := one && refused.Force
	perhaps := one && refused.Grade != ""
	if partly, several := errors.AsType[*skill.PartlyUndoneError](reply.Err); several {
		helps, perhaps = partly.Force(), partly.Perhaps()
	}
	var hints []string
	if perhaps {
		if one && in["run"] == nil && in["since"] == nil {
			in["id"] = refused.ID
		}
		command := c.again(w, "undo", further("--perhaps", in, step)...)
		if !o.json {
			fmt.Fprintln(c.stderr, command)
		}
		hints = append(hints, `"`+command+`" takes back what others may have changed, too`)
	}
	if helps {
		hints = append(hints, `"`+c.again(w, "undo", further("--force", in, step)...)+
			`" goes on anyway: what it replaces is saved first, and what cannot be undone is skipped`)
	}
	if one && refused.Before != "" {
		hints = append(hints, `"`+c.again(w, "undo", refused.Before)+`" undoes the change before it`)
	}
	if hints != nil {
		failure.Hint = strings.Join(hints, "; ")
	}
}

// further returns the arguments of an undo that goes further by a flag.
func further(flag string, in map[string]any, step int) []string {
	words := []string{flag}
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
	return words
}
