package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"textskill/cmd/internal/usage"
	"textskill/skill"
)

func (c *cli) doctorCommand(o *options) *cobra.Command {
	var endpoint string
	var fence bool
	cmd := &cobra.Command{
		Use:   "doctor [flags]",
		Short: "Check the history and the sandbox",
		Long: "doctor shows where the history of the workspace is and why, how much it holds, which\n" +
			"records are damaged, which processes hold its locks, and what keeps commands inside the\n" +
			"workspace on this machine. It changes nothing. Of each agent with hooks it shows where they\n" +
			"are set up, when the last event came, and what went wrong.\n\n" +
			"With --endpoint it shows what endpoints of models have refused in the last seven days:\n" +
			"parameters, orders and tools; and their windows. --endpoint=forget forgets that.\n\n" +
			"With --fence it lists what commands may write and read with the other flags that are given,\n" +
			"and which variables they do not get.",
		Example: "  skill doctor\n  skill doctor -C ~/project\n  skill doctor --fence --allow-domain npm\n  skill doctor --endpoint",
		Args:    usage.Arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if endpoint != "" {
				return c.failed(c.endpoints(endpoint == "forget"))
			}
			return c.onHistory(o, func(x *skill.Executor) error {
				if fence {
					_, err := fmt.Fprintln(c.stdout, x.FenceReport().Message())
					return err
				}
				found, err := x.Inspect(cmd.Context())
				if err != nil {
					return err
				}
				health, err := x.Execute(cmd.Context(), &skill.Session{}, skill.Health{})
				if err != nil {
					return err
				}
				lines := append([]string{found.Message()}, c.hookReport(o)...)
				_, err = fmt.Fprintf(c.stdout, "%s\nthe fence of commands is %s\n%s\n", strings.Join(lines, "\n"), health.(skill.HealthReport).Fence, onPath(c.program(), c.getenv("PATH")))
				return err
			})
		},
	}
	cmd.Flags().Var(choice{&endpoint, "WHAT", []string{"show", "forget"}}, "endpoint", "show what endpoints of models were found to refuse, or forget it")
	cmd.Flags().Lookup("endpoint").NoOptDefVal = "show"
	cmd.Flags().BoolVar(&fence, "fence", false, "list what commands may write and read")
	o.obey(cmd, "--workspace", "--allow", "--state", "--network", "--allow-domain", "--deny-domain", "--allow-local", "--share-cache", "--fence-read", "--fence-write",
		"--pass-env", "--allow-config")
	return cmd
}

// onPath says which program PATH finds under a name: Debian's procps has another skill.
func onPath(name, path string) string {
	self, err := os.Executable()
	if err != nil {
		return err.Error()
	}
	mine, err := os.Stat(self)
	if err != nil {
		return err.Error()
	}
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, name)
		info, err := os.Stat(file)
		switch {
		case err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0:
		case os.SameFile(info, mine):
			return "PATH finds this program: " + file
		default:
			return "PATH finds another " + name + ", " + file + "; type " + self
		}
	}
	return "PATH finds no " + name + "; type " + self
}

// onHistory opens the workspace for what is about its history.
func (c *cli) onHistory(o *options, do func(x *skill.Executor) error) error {
	x, err := c.historian(o)
	if err != nil {
		return err
	}
	defer x.Close()
	return c.failed(do(x))
}

// historian opens the workspace for what needs a history that is there: it makes no folder for one.
func (c *cli) historian(o *options) (*skill.Executor, error) {
	dir, by := o.state, "--state"
	if dir == "" {
		dir, by = c.getenv("SKILL_STATE"), "SKILL_STATE"
	}
	if _, err := os.Stat(dir); dir != "" && errors.Is(err, fs.ErrNotExist) {
		return nil, c.failed(fmt.Errorf("the folder %s does not exist; %s has to name the folder that holds the history", dir, by))
	}
	return c.executor(o)
}
