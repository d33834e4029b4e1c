package main

import (
	"github.com/spf13/cobra"

	"textskill/internal/usage"
)

func (c *cli) diffCommand(*configuration) *cobra.Command {
	var o changeOptions
	cmd := &cobra.Command{
		Use:     "diff [flags] ID",
		Short:   "Show a change as a unified diff",
		Example: "  skill diff 12\n  skill --json diff 12",
		Args: usage.Arguments(1, 1, "ID: the number of a change; \""+c.program()+
			" history\" lists them"),
		ValidArgsFunction: c.completeChange(&o.workspaceOptions),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.journal(cmd.Context(), &o, cmd.Name(), map[string]any{"id": args[0]})
		},
	}
	o.addReading(cmd.Flags())
	return cmd
}
