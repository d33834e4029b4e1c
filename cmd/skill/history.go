package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"textskill/cmd/internal/usage"
)

func (c *cli) historyCommand(o *options) *cobra.Command {
	var limit int
	var run string
	cmd := &cobra.Command{
		Use:     "history [flags] [PATH]",
		Short:   "List the changes that can be undone, the newest first",
		Example: "  skill history\n  skill history -n 5 notes\n  skill --json history",
		Args:    usage.Arguments(0, 1, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 1 {
				return fmt.Errorf("--limit is %d; it must be at least 1", limit)
			}
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
	cmd.Flags().StringVar(&run, "run", "",
		"list only the changes of the expert's run `ID`; \"skill log\" lists runs")
	cmd.Flags().IntVarP(&limit, "limit", "n", 50, "list at most `N` changes")
	o.obey(cmd, "--workspace", "--allow", "--state", "--json")
	return cmd
}

func (c *cli) diffCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "diff [flags] ID",
		Short:   "Show a change as a unified diff",
		Example: "  skill diff 12\n  skill --json diff 12",
		Args: usage.Arguments(1, 1, "ID: the number of a change; \""+c.program()+
			" history\" lists them"),
		ValidArgsFunction: c.completeChange(o),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.journal(cmd.Context(), o, cmd.Name(), map[string]any{"id": args[0]})
		},
	}
	o.obey(cmd, "--workspace", "--allow", "--state", "--json")
	return cmd
}

func (c *cli) restoreCommand(o *options) *cobra.Command {
	var to string
	var print bool
	cmd := &cobra.Command{
		Use:   "restore [flags] ID [PATH]",
		Short: "Restore a file as it was before a change",
		Long: `restore writes a file as it was before the change ID. --to writes that content to another
file, and --print prints it. PATH names the file, if the change is of several files.
restore leaves the other files alone.`,
		Example: "  skill restore 12\n  skill restore 12 --print\n  skill restore 12 --to notes/old.txt\n  skill restore 31 src/main.go",
		Args: usage.Arguments(1, 2, "ID: the number of a change; \""+c.program()+
			" history\" lists them"),
		ValidArgsFunction: c.completeChange(o),
		RunE: func(cmd *cobra.Command, args []string) error {
			in := map[string]any{"id": args[0]}
			if len(args) > 1 {
				in["path"] = args[1]
			}
			switch {
			case to != "" && print:
				return errors.New("--print shows the content and --to writes it; leave one of them out")
			case to != "":
				in["to"] = to
			case !print:
				in["back"] = true
			}
			o.allowConfig = true // a person typed it
			return c.journal(cmd.Context(), o, cmd.Name(), in)
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "write the content to `FILE`, in the workspace")
	cmd.Flags().BoolVar(&print, "print", false, "print the content instead of writing it")
	o.obey(cmd, "workspace", "--journal-changes", "--journal-age", "--journal-bytes", "--state", "--json")
	return cmd
}
