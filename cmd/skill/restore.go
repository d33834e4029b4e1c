package main

import (
	"errors"

	"github.com/spf13/cobra"

	"textskill/internal/usage"
)

// restoreOptions are the flags of skill restore.
type restoreOptions struct {
	changeOptions
	to    string
	print bool
}

func (c *cli) restoreCommand(*configuration) *cobra.Command {
	var o restoreOptions
	cmd := &cobra.Command{
		Use:   "restore [flags] ID [PATH]",
		Short: "Restore a file as it was before a change",
		Long: `restore writes a file as it was before the change ID. --to writes that content to another
file, and --print prints it. PATH names the file, if the change is of several files.
restore leaves the other files alone.`,
		Example: "  skill restore 12\n  skill restore 12 --print\n  skill restore 12 --to notes/old.txt\n  skill restore 31 src/main.go",
		Args: usage.Arguments(1, 2, "ID: the number of a change; \""+c.program()+
			" history\" lists them"),
		ValidArgsFunction: c.completeChange(&o.workspaceOptions),
		RunE: func(cmd *cobra.Command, args []string) error {
			in := map[string]any{"id": args[0]}
			if len(args) > 1 {
				in["path"] = args[1]
			}
			switch {
			case o.to != "" && o.print:
				return errors.New("--print shows the content and --to writes it; leave one of them out")
			case o.to != "":
				in["to"] = o.to
			case !o.print:
				in["back"] = true
			}
			o.AllowConfig = true // a person typed it
			return c.journal(cmd.Context(), &o.changeOptions, cmd.Name(), in)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.to, "to", "", "write the content to `FILE`, in the workspace")
	f.BoolVar(&o.print, "print", false, "print the content instead of writing it")
	o.addWriting(f)
	return cmd
}
