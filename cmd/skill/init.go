package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"textskill/internal/usage"
	"textskill/skill/agent"
	"textskill/skill/agent/provider"
)

// firstProject is the perstack.toml of a folder that had none.
const firstProject = `# The experts of this folder. Give one a query: PROGRAM run helper "QUERY"

[experts.helper]
description = "Works on the files of this folder"
instruction = """
You help in this folder. Read what a question is about before you answer it or change
something, and say at the end what you changed.
"""

# Another expert has a name and an instruction of its own:
#
# [experts.reviewer]
# instruction = "You look for mistakes in what you are given, and change nothing."
`

func (c *console) initCommand(*configuration) *cobra.Command {
	var o workspaceOptions
	cmd := &cobra.Command{
		Use:   "init [flags]",
		Short: "Write a perstack.toml, the file that defines experts",
		Long: `init writes a small perstack.toml that defines one agent, the expert helper. Then it prints
what to type next. It never changes a perstack.toml that exists.`,
		Example: "  skill init\n  skill init -C ~/project",
		Args:    usage.Arguments(0, 0, "-C DIR names the folder"),
		RunE:    func(*cobra.Command, []string) error { return c.failed(c.init(o.Dir)) },
	}
	only(cmd.Flags(), o.addPlace, "workspace")
	return cmd
}

// init is skill init.
func (c *console) init(dir string) error {
	file := filepath.Join(dir, agent.ProjectFile)
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already and stays as it is; %s start lists its experts", file,
			c.program())
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(strings.ReplaceAll(firstProject, "PROGRAM", c.program()))
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	in := ""
	if dir != "" {
		in = " -C " + shellWord(dir)
	}
	fmt.Fprintln(c.stdout, "wrote", file)
	if !c.hasModel() {
		fmt.Fprintln(c.stdout, "set a model: OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY, "+
			"or OPENAI_BASE_URL for one of your own; and SKILL_MODEL")
	}
	fmt.Fprintf(c.stdout, "type: %s run helper \"what is in this folder?\"%s\n", c.program(), in)
	return nil
}

// hasModel reports whether the environment names a model, and a provider or an endpoint for it.
func (c *console) hasModel() bool {
	given := func(name string) bool { return c.getenv(name) != "" }
	return given("SKILL_MODEL") && slices.ContainsFunc(provider.All, func(p provider.Provider) bool {
		return given(p.BaseURL) || slices.ContainsFunc(p.Keys, given)
	})
}
