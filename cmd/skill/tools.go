package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	rawjson "textskill/parser/json"
	"textskill/skill/dialect"
)

func (c *cli) toolsCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tools [flags]",
		Short: "List the tools of a dialect, with --json as OpenAI tool definitions",
		Long: "tools lists the tools of all dialects, or of the one that --tools names: name, arguments\n" +
			"and what each does. With --json it prints the definitions of one dialect's tools, as a\n" +
			"request to an OpenAI-compatible endpoint holds them (default filesystem).",
		Example: "  skill tools\n  skill tools --tools filesystem --json > tools.json",
		Args:    arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			chosen, err := o.dialect()
			if err != nil {
				return err
			}
			if o.json {
				return c.printDefinitions(cmp.Or(chosen, dialect.Filesystem))
			}
			if chosen != nil {
				return c.printTools([]*dialect.Dialect{chosen})
			}
			return c.printTools(dialect.All)
		},
	}
	o.obey(cmd, "--tools", "--json", "--max-text")
	return cmd
}

func (c *cli) printTools(list []*dialect.Dialect) error {
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
	names := make([]string, len(t.Params))
	for i, p := range t.Params {
		names[i] = p.Name
		if !p.Required {
			names[i] = "[" + p.Name + "]"
		}
	}
	return strings.Join(names, " ")
}

// definition is a tool as the field "tools" of a chat completion request holds it.
type definition struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

func (c *cli) printDefinitions(d *dialect.Dialect) error {
	list := make([]definition, len(d.Tools))
	for i, t := range d.Tools {
		list[i].Type = "function"
		list[i].Function.Name = t.Name
		list[i].Function.Description = t.Doc
		list[i].Function.Parameters = t.Schema()
	}
	_, err := fmt.Fprintf(c.stdout, "%s\n", rawjson.Encode(list))
	return err
}
