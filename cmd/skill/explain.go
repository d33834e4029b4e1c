package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"textskill/llmfallback"
)

func (c *cli) explainCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain [flags] PROMPT",
		Short: "Show how a prompt in plain words is understood, and carry out nothing",
		Long: "explain prints the command that a prompt in plain words stands for, or why it stands for\n" +
			"none. With -v it prints the request in the prompt, its verb, and what each part of it is.\n" +
			"No language model is asked. The exit code is 1 if the prompt is not understood.",
		Example: "  skill explain 'move notes.md from Inbox to Archive'\n  skill explain -v 'delete a.txt if it is empty'",
		Args:    arguments(1, math.MaxInt, "a prompt: skill explain 'read a.txt'"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r := llmfallback.Read(strings.Join(args, " "))
			if o.verbose {
				fmt.Fprintf(c.stdout, "clause: %s\nverb: %s\n", r.Clause, r.Verb)
				for _, role := range r.Roles {
					fmt.Fprintf(c.stdout, "%s: %s\n", role.Name, role.Value)
				}
			}
			switch {
			case r.Answered:
				fmt.Fprintln(c.stdout, r.Command())
				return nil
			case r.Why == "":
				fmt.Fprintln(c.stderr, "skill: no request to read, list, check, create, write, append, delete, copy or move was found")
			default:
				fmt.Fprintln(c.stderr, "skill: not understood:", r.Why)
			}
			return exit(exitFailed)
		},
	}
	cmd.Flags().SetInterspersed(false)
	o.obey(cmd, "--verbose")
	return cmd
}
