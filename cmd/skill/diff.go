package main

import "github.com/spf13/cobra"

func (c *cli) diffCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "diff [flags] ID",
		Short:             "Show a change as a unified diff",
		Example:           "  skill diff 12\n  skill --json diff 12",
		Args:              arguments(1, 1, "ID: the number of a change; \"skill history\" lists them"),
		ValidArgsFunction: c.completeChange(o),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.journal(cmd.Context(), o, cmd.Name(), map[string]any{"id": args[0]})
		},
	}
	o.obey(cmd, "--workspace", "--allow", "--state", "--json")
	return cmd
}
