package main

import (
	"cmp"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"textskill/internal/usage"
	"textskill/llmfallback"
)

// explainOptions are the flags of skill explain.
type explainOptions struct{ json, verbose bool }

func (c *console) explainCommand(*configuration) *cobra.Command {
	var o explainOptions
	cmd := &cobra.Command{
		Use:   "explain [flags] PROMPT",
		Short: "Print the command that plain words stand for, and do not run it",
		Long: `explain prints the command that a prompt in plain words stands for. If it understands only
a part of the prompt, it prints that part. With -v or --json it also prints the rule of the
grammar and the role of each part. It asks no language model. The exit code is 1 if explain
does not understand the prompt.`,
		Example: "  skill explain 'move notes.md from Inbox to Archive'\n  skill explain -v 'delete a.txt if it is empty'",
		Args:    usage.Arguments(1, math.MaxInt, "a prompt: "+c.program()+" explain 'read a.txt'"),
		RunE: func(cmd *cobra.Command, args []string) error {
			text := joined(args, "")
			r := llmfallback.Read(text)
			if o.json {
				return c.printReading(r)
			}
			if o.verbose {
				if r.Answered {
					fmt.Fprintln(c.stdout, "rule:", r.Rule)
				}
				for _, role := range r.Roles {
					fmt.Fprintf(c.stdout, "%s: %s\n", role.Name, role.Value)
				}
			}
			switch {
			case r.Answered:
				fmt.Fprintln(c.stdout, r.Command())
				return nil
			default:
				c.say(cmp.Or(c.understood(&workspaceOptions{}, text),
					"the prompt asks for no read, list, check, create, write, append, delete, copy or move; try: read a.txt"))
			}
			return exit(exitFailed)
		},
	}
	cmd.Flags().SetInterspersed(false)
	addVerbose(cmd.Flags(), &o.verbose)
	addJSON(cmd.Flags(), &o.json)
	return cmd
}

// printReading prints a reading as one line of JSON.
func (c *console) printReading(r llmfallback.Reading) error {
	line := struct {
		OK      bool               `json:"ok"`
		Command string             `json:"command,omitempty"`
		Rule    string             `json:"rule,omitempty"`
		Roles   []llmfallback.Role `json:"roles,omitempty"`
		Why     string             `json:"why,omitempty"`
		Near    string             `json:"near,omitempty"`
	}{r.Answered, "", r.Rule, r.Roles, r.Why, ""}
	if !r.Answered && r.Nearest.Operation != "" {
		line.Near = r.Nearest.Command()
	}
	if r.Answered {
		line.Command = r.Command()
	}
	c.printJSON(line)
	if !r.Answered {
		return exit(exitFailed)
	}
	return nil
}
