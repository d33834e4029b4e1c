package main

import "github.com/spf13/cobra"

func (c *cli) diffCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:     "diff [flags] ID",
		Short:   "Show what a change did, as a unified diff",
		Example: "  skill diff 12\n  skill --json diff 12",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.journal(cmd.Context(), o, cmd.Name(), map[string]any{"id": args[0]})
		},
	}
}
