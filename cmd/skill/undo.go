package main

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"textskill/parser"
	"textskill/skill"
	"textskill/skill/dialect"
)

func (c *cli) undoCommand(o *options) *cobra.Command {
	var since string
	var force bool
	cmd := &cobra.Command{
		Use:   "undo [flags] [ID]",
		Short: "Undo the last change, one change, or all changes since one",
		Long: "undo takes back the last change, or the one with the given ID. Called again, it takes\n" +
			"back the one before. An undo is a change too: undo it by its own ID to redo what it\n" +
			"took back.\n\n" +
			"A change is not undone if something else has changed one of its files since. With\n" +
			"--force it is, and the current version is saved first, as a change of its own.",
		Example: "  skill undo\n  skill undo 12\n  skill undo --since 12\n  skill --dry-run undo",
		Args:    arguments(0, 1, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			in := map[string]any{"force": force}
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
	cmd.Flags().BoolVar(&force, "force", false, "undo even if a file was changed since; the current version is saved first")
	o.obey(cmd, "workspace", "--journal-changes", "--journal-age", "--journal-bytes", "--state", "--json")
	return cmd
}

// journal carries out a call of the undo dialect and prints the answer.
func (c *cli) journal(ctx context.Context, o *options, tool string, in map[string]any) error {
	x, err := c.executor(o)
	if err != nil {
		return err
	}
	defer x.Close()
	arguments, err := json.Marshal(in)
	if err != nil {
		return err
	}
	s := &skill.Session{}
	p := &prompter{cli: c, o: o, x: x, s: s}
	return p.print(dialect.Undo.Do(ctx, x, s, parser.ToolCall{Name: tool, Arguments: arguments}))
}
