package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"textskill/internal/usage"
	"textskill/parser"
	"textskill/parser/rawjson"
	"textskill/skill"
	"textskill/skill/agent"
	"textskill/skill/dialect"
)

// changeOptions are the flags of commands about recorded changes.
type changeOptions struct {
	workspaceOptions
	json bool
}

// addReading adds the flags of a command that changes nothing.
func (o *changeOptions) addReading(f *pflag.FlagSet) {
	o.addPlace(f)
	only(f, o.addUndo, "state")
	addJSON(f, &o.json)
}

// addWriting adds the flags of a command that changes files.
func (o *changeOptions) addWriting(f *pflag.FlagSet) {
	o.addWorkspace(f)
	only(f, o.addUndo, keptFlags...)
	addJSON(f, &o.json)
}

// historyOptions are the flags of skill history.
type historyOptions struct {
	changeOptions
	run   string
	limit int
}

func (c *cli) historyCommand(*configuration) *cobra.Command {
	var o historyOptions
	cmd := &cobra.Command{
		Use:     "history [flags] [PATH]",
		Short:   "List the changes that can be undone, the newest first",
		Example: "  skill history\n  skill history -n 5 notes\n  skill --json history",
		Args:    usage.Arguments(0, 1, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.limit < 1 {
				return fmt.Errorf("--limit is %d; it must be at least 1", o.limit)
			}
			in := map[string]any{"limit": o.limit}
			if o.run != "" {
				in["run"] = o.run
			}
			if len(args) > 0 {
				in["path"] = args[0]
			}
			return c.journal(cmd.Context(), &o.changeOptions, cmd.Name(), in)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.run, "run", "", "list only the changes of the expert's run `ID`; \"skill log\" lists runs")
	f.IntVarP(&o.limit, "limit", "n", 50, "list at most `N` changes")
	o.addReading(f)
	return cmd
}

// journal carries out a call of the undo dialect and prints the answer.
func (c *cli) journal(ctx context.Context, o *changeOptions, tool string, in map[string]any) error {
	w := &o.workspaceOptions
	if err := c.historyAbove(w, in); err != nil {
		return c.failed(err)
	}
	x, err := c.historian(w)
	if err != nil {
		return err
	}
	defer x.Close()
	do := func() dialect.Reply {
		return dialect.Undo.Do(ctx, x, &skill.Session{},
			parser.ToolCall{Name: tool, Arguments: rawjson.Encode(in)})
	}
	reply := do()
	if refused, ok := errors.AsType[*skill.UndoError](reply.Err); ok && refused.Grade != "" && !o.json &&
		c.asks(ctx, refused.Error()+"\nTake it back all the same?") {
		in["perhaps"] = true
		reply = do()
	}
	c.sayForce(o, reply, in, -1)
	c.sayWord(w, reply)
	run, _ := in["run"].(string)
	list, listed := reply.Result.(skill.Changes)
	if listed && len(list.List) == 0 && run != "" {
		err := c.noSession(w, x.Dir(), tool, run)
		if err == nil {
			_, err = (agent.Records{Executor: x}).Find(ctx, run)
		}
		if err != nil {
			return c.failed(err)
		}
	}
	if listed && !o.json {
		c.saySession(w, x.Dir(), tool, sessionsOf(list)...)
		c.saySilent(w, x.Dir())
	}
	if tool == "history" && !o.json {
		c.sayMissed(ctx, w, x.Dir())
		c.sayTrials(w, x)
	}
	return c.paged(func(c *console) error { return (&printer{console: c, json: o.json, dir: x.Dir()}).print(reply) })
}

// sayWord says after the refusal of a word that is no ID what lists trials, or the changes of a file.
func (c *console) sayWord(w *workspaceOptions, reply dialect.Reply) {
	failure, failed := errors.AsType[*dialect.Failure](reply.Err)
	unknown, ok := errors.AsType[*skill.UndoError](reply.Err)
	if !failed || !ok || unknown.ID == "" {
		return
	}
	word := unknown.ID
	switch first := word[0]; {
	case '0' <= first && first <= '9':
	case first == 't' && len(word) > 1 && strings.Trim(word[1:], "0123456789") == "":
		failure.Hint = fmt.Sprintf(`"%s" lists the trials`, c.again(w, "try", "--list"))
	default:
		failure.Hint = fmt.Sprintf(`an ID is a number: "%s" lists the changes of a file`,
			c.again(w, "history", word))
	}
}

// historyAbove makes w the workspace above the current folder, if only that has a history and both are of
// the same repository; the paths of in count from it then. In a folder of another project that would take
// back a change of another project, so there it is an error that says how to list these changes.
func (c *console) historyAbove(w *workspaceOptions, in map[string]any) error {
	here, err := os.Getwd()
	if err != nil || w.Dir != "" || skill.HasHistory(here, c.getenv.historyDir(w)) {
		return nil
	}
	above := c.getenv.nearest(w, filepath.Dir(here))
	if !skill.HasHistory(above, c.getenv.historyDir(w)) {
		return nil
	}
	if _, err := os.Lstat(filepath.Join(above, ".git")); err != nil {
		return fmt.Errorf("no change is recorded for this folder, but for one above; type: %s history -C %s",
			c.program(), shellWord(above))
	}
	for _, key := range []string{"path", "to"} {
		if name, ok := in[key].(string); ok && !filepath.IsAbs(name) {
			in[key] = filepath.Join(here, name)
		}
	}
	w.Dir = above
	return nil
}
