package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"textskill/internal/usage"
	"textskill/skill"
)

// tryOptions are the flags of skill try.
type tryOptions struct {
	workspaceOptions
	diff, json, list bool
}

func (c *cli) tryCommand(*configuration) *cobra.Command {
	var o tryOptions
	cmd := &cobra.Command{
		Use:   "try [flags] -- COMMAND [ARG]...",
		Short: "Run a command on a view of the workspace, and see what it would change",
		Long: `try runs a command as exec does, but on a copy-on-write view of the workspace, in which
nothing changes. It prints the output of the command and each path that it changes,
with the lines added and removed. "skill keep t7" then makes these changes as one,
and "skill drop t7" forgets them. try ends with the exit code of the command.

The command has caches and a /tmp of its own. A trial ends after a day.`,
		Example: "  skill try -- sh -c 'rm -rf build*'\n  skill try --diff -- go fix ./...\n  skill try --list",
		Args: func(cmd *cobra.Command, args []string) error {
			if o.list {
				return usage.Arguments(0, 0, "")(cmd, args)
			}
			return usage.Arguments(1, 1<<20, "a command: try -- COMMAND")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.list {
				return c.listTrials(&o)
			}
			return c.try(cmd, &o, args)
		},
	}
	f := cmd.Flags()
	f.SetInterspersed(false)
	f.BoolVar(&o.diff, "diff", false, "print each change as a diff")
	f.BoolVar(&o.list, "list", false, "list the trials")
	addJSON(f, &o.json)
	o.addPlace(f)
	only(f, o.addUndo, "state")
	only(f, o.addWorkspace, "dry-run")
	o.addSandbox(f)
	o.addNetwork(f)
	return cmd
}

// try runs a command on a view of the workspace, and says what it changes there. With --dry-run it
// forgets that.
func (c *cli) try(cmd *cobra.Command, o *tryOptions, args []string) error {
	x, err := c.executor(&o.workspaceOptions)
	if err != nil {
		return err
	}
	defer x.Close()
	streams := c.attached(&o.workspaceOptions)
	if o.json { // the answer is the only output
		streams[1] = os.Stderr
	}
	done, t, err := x.Try(cmd.Context(), x.Dir(), skill.Exec{Command: args[0], Args: args[1:]}, streams)
	if err != nil {
		return c.cannotRun(args, err)
	}
	if err := c.showTrial(x, t, o, o.DryRun || len(t.Changes) == 0); err != nil {
		return err
	}
	switch files := filesOf(t); {
	case o.DryRun:
		c.sayf("would change %s; nothing was changed", files)
	case len(t.Changes) == 0:
		c.sayf("the command changes nothing in the workspace")
	default:
		c.sayf("trial %s: %s; \"%s\" makes these changes, \"%s\" forgets them", t.ID, files,
			c.again(&o.workspaceOptions, "keep", t.ID), c.again(&o.workspaceOptions, "drop", t.ID))
	}
	beside := len(o.FenceWrite) + len(o.Allow) + len(o.AllowDomains) + len(o.AllowLocal)
	if !o.DryRun && (o.Network || o.Fence == skill.FenceOff || beside > 0) {
		c.say("what it did outside the workspace is not part of the trial")
	}
	return c.sayEnd(done)
}

// A trialAnswer is a trial in an answer of JSON.
type trialAnswer struct {
	ID      string            `json:"id"`
	Command string            `json:"command"`
	Began   time.Time         `json:"began"`
	Killed  bool              `json:"keep_killed,omitempty"` // or a keep stopped halfway: some changes are made
	Exit    int               `json:"exit_code"`
	Changes []skill.TrialDiff `json:"changes"`
}

func answerOf(x *skill.Executor, t *skill.Trial, diff bool) trialAnswer {
	a := trialAnswer{t.ID, t.Command, t.Began, t.Begun != "", t.Exit, []skill.TrialDiff{}}
	for _, change := range t.Changes {
		d := x.DiffTrial(t, change)
		if !diff {
			d.Diff = ""
		}
		a.Changes = append(a.Changes, d)
	}
	return a
}

// showTrial prints a line for each path that a trial changes, or its diff. It drops the trial before the first
// write, because an output that was closed ends the program.
func (c *cli) showTrial(x *skill.Executor, t *skill.Trial, o *tryOptions, drops bool) error {
	a := answerOf(x, t, o.diff)
	if drops {
		t.Drop()
	}
	if o.json {
		return c.printJSON(a)
	}
	var text strings.Builder
	for _, d := range a.Changes {
		text.WriteString(d.String() + d.Diff)
	}
	_, err := c.stdout.Write([]byte(text.String()))
	return err
}

// listTrials prints the trials of the workspace.
func (c *cli) listTrials(o *tryOptions) error {
	x, err := c.historian(&o.workspaceOptions)
	if err != nil {
		return err
	}
	defer x.Close()
	list, err := x.Trials()
	if err != nil {
		return c.failed(err)
	}
	answers, text := []trialAnswer{}, ""
	for _, t := range list {
		if o.json {
			answers = append(answers, answerOf(x, t, o.diff))
			continue
		}
		text += t.ID + "  " + t.Began.Local().Format(time.DateTime) + "  " + t.Command + " (" + filesOf(t)
		if t.Begun != "" {
			text += ", some made by a keep that stopped halfway"
		}
		text += ")\n"
	}
	if o.json {
		return c.printJSON(answers)
	}
	_, err = c.stdout.Write([]byte(text))
	return err
}

// sayTrials names the trials that were neither kept nor dropped.
func (c *cli) sayTrials(w *workspaceOptions, x *skill.Executor) {
	list, _ := x.Trials() // or there is no place for any
	for _, t := range list {
		if t.Begun != "" {
			c.sayf("a keep of trial %s stopped halfway: %s (%s); \"%s\" makes the rest of its changes",
				t.ID, t.Command, filesOf(t), c.again(w, "keep", t.ID))
			continue
		}
		c.sayf("trial %s is not kept: %s (%s); \"%s\" makes its changes", t.ID, t.Command, filesOf(t), c.again(w, "keep", t.ID))
	}
}

// printJSON prints a value as one line.
func (c *cli) printJSON(value any) error { return json.NewEncoder(c.stdout).Encode(value) }

// keepOptions are the flags of skill keep and skill drop.
type keepOptions struct {
	workspaceOptions
	force bool
}

func (c *cli) keepCommand(*configuration) *cobra.Command {
	var o keepOptions
	cmd := &cobra.Command{
		Use:   "keep [flags] TRIAL",
		Short: "Make the changes of a trial, as one change that undo takes back",
		Long: `keep makes the changes of a trial of "skill try". If others changed a text of the trial
since it began, keep merges both by lines. If both changed the same lines, or others
changed what cannot be merged, keep names the path and makes nothing. --force takes the
trial's lines there, and makes the other changes all the same.`,
		Example: "  skill keep t7",
		Args:    usage.Arguments(1, 1, c.missingTrial()),
		RunE: func(cmd *cobra.Command, args []string) error {
			x, t, err := c.openTrial(&o.workspaceOptions, args[0])
			if err != nil {
				return err
			}
			defer x.Close()
			begun := t.Begun != ""
			done, err := x.ByTool("", "keep").Keep(cmd.Context(), t, o.force)
			if config, ok := errors.AsType[*skill.TrialConfigError](err); ok {
				c.say(config)
				c.sayf("to make them all the same: %s", c.again(&o.workspaceOptions, "keep", "--allow-config", t.ID))
				return exit(exitConfirm)
			}
			if conflict, ok := errors.AsType[*skill.TrialConflictError](err); ok {
				c.say(conflict)
				if conflict.Link != "" {
					c.sayf("put the folder back first, or forget the trial: %s", c.again(&o.workspaceOptions, "drop", t.ID))
					return exit(exitFailed)
				}
				c.sayf("to make them all the same: %s; or try the command again",
					c.again(&o.workspaceOptions, "keep", "--force", t.ID))
				return exit(exitFailed)
			}
			if err != nil {
				return c.failed(err)
			}
			c.sayf("made %s", filesOf(t))
			if begun {
				c.sayf("a keep of %s stopped halfway before; what it had made is another change: \"%s\" lists both",
					t.ID, c.again(&o.workspaceOptions, "history"))
			}
			if done.Undo != "" {
				c.sayf("change %s; \"%s\" takes it back", done.Undo, c.again(&o.workspaceOptions, "undo", done.Undo))
			}
			if why := done.CannotUndo(); why != "" {
				c.say("undo leaves:", why)
			}
			if note := done.GitNote(); note != "" {
				c.say(note)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.force, "force", false, "make the changes even where others changed the same paths since")
	o.addPlace(f)
	only(f, o.addWorkspace, "allow-config", "no-sync")
	only(f, o.addUndo, append([]string{"no-journal"}, keptFlags...)...)
	return cmd
}

func (c *cli) dropCommand(*configuration) *cobra.Command {
	var o keepOptions
	cmd := &cobra.Command{
		Use:     "drop [flags] TRIAL",
		Short:   "Forget a trial",
		Long:    `drop forgets a trial of "skill try", whose changes were never made.`,
		Example: "  skill drop t7",
		Args:    usage.Arguments(1, 1, c.missingTrial()),
		RunE: func(cmd *cobra.Command, args []string) error {
			x, t, err := c.openTrial(&o.workspaceOptions, args[0])
			if err != nil {
				return err
			}
			defer x.Close()
			if t.Begun != "" {
				c.sayf("a keep of %s stopped halfway: \"%s\" lists what it had made", t.ID,
					c.again(&o.workspaceOptions, "history"))
			}
			if err := t.Drop(); err != nil {
				return c.failed(err)
			}
			c.sayf("%s is forgotten", t.ID)
			return nil
		},
	}
	o.addPlace(cmd.Flags())
	only(cmd.Flags(), o.addUndo, "state")
	return cmd
}

// missingTrial says what a command without a trial lacks.
func (c *console) missingTrial() string {
	return "TRIAL: the name of a trial; \"" + c.program() + " try --list\" lists them"
}

// openTrial opens a workspace and a trial of it. The caller closes the Executor.
func (c *cli) openTrial(w *workspaceOptions, id string) (*skill.Executor, *skill.Trial, error) {
	x, err := c.historian(w)
	if err != nil {
		return nil, nil, err
	}
	t, err := x.Trial(id)
	if err != nil {
		x.Close()
		return nil, nil, c.failed(err)
	}
	return x, t, nil
}

// filesOf says how many files a trial changes.
func filesOf(t *skill.Trial) string {
	if len(t.Changes) == 1 {
		return "1 file"
	}
	return fmt.Sprintf("%d files", len(t.Changes))
}
