package main

import (
	"cmp"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"textskill/internal/usage"
	"textskill/parser/wire"
	"textskill/skill/dialect"
)

// toolsOptions are the flags of skill tools.
type toolsOptions struct {
	dialectOptions
	json bool
}

func (c *console) toolsCommand(*configuration) *cobra.Command {
	var o toolsOptions
	cmd := &cobra.Command{
		Use:   "tools [flags]",
		Short: "List the tools, or print their definitions",
		Long: "tools lists each tool with its arguments and its effect. It lists all dialects (sets of\n" +
			"tools), or the dialect of --tools. With --wire it prints one dialect (default filesystem)\n" +
			"as the field \"tools\" of a request to a model. WIRE is one of\n" +
			strings.Join(definingWires(), ", ") + ".\n--json alone means --wire openai.",
		Example: "  skill tools\n  skill tools --tools filesystem --wire anthropic > tools.json",
		Args:    usage.Arguments(0, 0, "--tools NAME lists one dialect"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			chosen, err := o.dialect()
			if err != nil {
				return err
			}
			if o.wire != "" || o.json {
				return c.printDefinitions(cmp.Or(chosen, dialect.Filesystem),
					cmp.Or(o.wire, wire.OpenAI.Name))
			}
			if chosen != nil {
				return c.printTools([]*dialect.Dialect{chosen})
			}
			return c.printTools(dialect.All)
		},
	}
	o.addDialect(cmd.Flags())
	addJSON(cmd.Flags(), &o.json)
	addMaxText(cmd.Flags(), &o.maxText)
	return cmd
}

func (c *console) printTools(list []*dialect.Dialect) error {
	w := tabwriter.NewWriter(c.stdout, 0, 4, 2, ' ', 0)
	for i, d := range list {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s: %s\n", d.Name, d.Doc)
		for _, t := range d.Tools {
			fmt.Fprintf(w, "  %s\t%s\t%s\n", t.Name, argumentList(t), t.Doc)
		}
	}
	return w.Flush()
}

// argumentList names the arguments of a tool, those that may be left out in brackets.
func argumentList(t dialect.Tool) string {
	var names []string
	for _, p := range t.Params() {
		switch {
		case p.Hidden:
		case p.Required:
			names = append(names, p.Name)
		default:
			names = append(names, "["+p.Name+"]")
		}
	}
	return strings.Join(names, " ")
}

// definingWires are the wires that definitions are printed for.
func definingWires() []string { return wire.Names((*wire.Wire).Defines) }

func (c *console) printDefinitions(d *dialect.Dialect, name string) error {
	w := wire.Named(name)
	if !w.Defines() {
		return fmt.Errorf("--wire %s has no form of its own for definitions; there are %s", name,
			strings.Join(definingWires(), ", "))
	}
	_, err := fmt.Fprintf(c.stdout, "%s\n", d.Definitions(w))
	return err
}
