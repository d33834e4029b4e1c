package main

import "github.com/spf13/cobra"

func (c *cli) historyCommand(o *options) *cobra.Command {
	var limit int
	var run string
	cmd := &cobra.Command{
		Use:     "history [flags] [PATH]",
		Short:   "List the changes that can be undone, the newest first",
		Example: "  skill history\n  skill history -n 5 notes\n  skill --json history",
		Args:    arguments(0, 1, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			in := map[string]any{"limit": limit}
			if run != "" {
				in["run"] = run
			}
			if len(args) > 0 {
				in["path"] = args[0]
			}
			return c.journal(cmd.Context(), o, cmd.Name(), in)
		},
	}
	cmd.Flags().StringVar(&run, "run", "", "list only the changes of the expert's run `ID`; \"skill log\" lists runs")
	cmd.Flags().IntVarP(&limit, "limit", "n", 50, "list at most `N` changes")
	o.obey(cmd, "--workspace", "--allow", "--state", "--json")
	return cmd
}
