package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"textskill/skill"
	"textskill/skill/dialect"
)

const completionLong = `completion prints a script for SHELL. With it, the tab key completes commands, flags, files,
changes and experts. "PROGRAM help completion SHELL" says where the script goes.`

// needsShell is completion without one of its subcommands, a shell each.
func needsShell(cmd *cobra.Command, words []string) error {
	var shells []string
	for _, sub := range cmd.Commands() {
		shells = append(shells, sub.Name())
	}
	list := strings.Join(shells, ", ")
	if len(words) == 0 {
		return errors.New("missing a shell: " + list)
	}
	return fmt.Errorf("no completion for the shell %q; there is one for %s", words[0], list)
}

// bashWords is what the completion of bash calls of the package bash-completion, for a bash
// without that package.
const bashWords = `declare -F _get_comp_words_by_ref >/dev/null || _get_comp_words_by_ref() {
    words=("${COMP_WORDS[@]}") cword=$COMP_CWORD
    cur=${words[cword]} prev=${words[cword-1]}
}
`

// withBashWords lets the completion of bash work without the package bash-completion.
func withBashWords(completion *cobra.Command) {
	for _, sub := range completion.Commands() {
		if print := sub.RunE; sub.Name() == "bash" {
			sub.RunE = func(cmd *cobra.Command, args []string) error {
				if _, err := fmt.Fprint(cmd.OutOrStdout(), bashWords); err != nil {
					return err
				}
				return print(cmd, args)
			}
		}
	}
}

// completeOperation lets shells complete the operation of a text command, and after it
// the names of files.
func completeOperation(_ *cobra.Command, args []string, _ string) (list []cobra.Completion,
	_ cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	for _, t := range dialect.Achilles.Tools {
		list = append(list, cobra.CompletionWithDesc(t.Name, t.Doc))
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

// completeChange lets shells complete the ID of a change, and after it the names of files.
func (c *cli) completeChange(w *workspaceOptions) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) (list []cobra.Completion,
		_ cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		x, err := c.executor(w)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		defer x.Close()
		for _, e := range changesOf(cmd.Context(), x).List {
			list = append(list, cobra.CompletionWithDesc(e.ID, string(e.Kind)+" "+e.Path))
		}
		return list, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// completeExpert lets shells complete the name of an expert of perstack.toml.
func (r *projectOptions) completeExpert(_ *cobra.Command, args []string, _ string) (list []cobra.Completion,
	_ cobra.ShellCompDirective) {
	p, _, err := r.project("")
	if len(args) > 0 || err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for _, name := range slices.Sorted(maps.Keys(p.Experts)) {
		list = append(list, cobra.CompletionWithDesc(name, p.Experts[name].Description))
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

// changesOf returns the latest changes, or nothing if they cannot be read.
func changesOf(ctx context.Context, x *skill.Executor) skill.Changes {
	r, _ := x.Execute(ctx, &skill.Session{}, skill.History{Limit: 50})
	changes, _ := r.(skill.Changes)
	return changes
}
