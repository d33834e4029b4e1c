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
		Short: "Take back the last change, a change, or everything since one",
		Long: "undo takes back the last change that is in effect, or the one that is named. Called\n" +
			"again, it takes back the one before. An undo is a change, too: undo it by its ID, and\n" +
			"what it took back is there again.\n\n" +
			"Where something else has changed a file since, it is refused; with --force what is\n" +
			"there is kept as a change of its own.",
		Example: "  skill undo\n  skill undo 12\n  skill undo --since 12\n  skill --dry-run undo",
		Args:    cobra.MaximumNArgs(1),
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
	cmd.Flags().StringVar(&since, "since", "", "take back the change `ID` and all that came after it")
	cmd.Flags().BoolVar(&force, "force", false, "also where something else has changed a file since")
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
	return p.print(tool, dialect.Undo.Do(ctx, x, s, parser.ToolCall{Name: tool, Arguments: arguments}))
}
