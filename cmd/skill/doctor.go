package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"textskill/cmd/internal/usage"
	"textskill/skill"
)

const doctorLong = `doctor shows where the history of the workspace is, how large it is, and what is damaged.
It shows what sandboxes commands on this machine, and which hosts they reach. It shows
which agents have hooks, and when the last event came. It changes nothing.

With --fix it mends these, and says so:

  an agent's configuration that starts a skill which has moved
  hooks that call a skill which has moved
  a history that other users of this machine can read

With --endpoint it shows what endpoints of models have refused in the last seven days,
and how much text they take. --endpoint=forget forgets that.

With --fence it lists what commands can read and write, and which variables they do not
get. Give it the flags of your commands, such as --allow-domain.`

func (c *cli) doctorCommand(o *options) *cobra.Command {
	var endpoint string
	var fence, fix bool
	cmd := &cobra.Command{
		Use:     "doctor [flags]",
		Short:   "Check the history and the sandbox",
		Long:    doctorLong,
		Example: "  skill doctor\n  skill doctor --fix\n  skill doctor -C ~/project\n  skill doctor --fence --allow-domain npm\n  skill doctor --endpoint",
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
				return c.examine(cmd.Context(), o, x, fix)
			})
		},
	}
	cmd.Flags().Var(choice{&endpoint, "WHAT", []string{"show", "forget"}}, "endpoint", "show what endpoints of models were found to refuse, or forget it")
	cmd.Flags().Lookup("endpoint").NoOptDefVal = "show"
	cmd.Flags().BoolVar(&fix, "fix", false, "mend what can be mended")
	cmd.Flags().BoolVar(&fence, "fence", false, "list what commands may write and read")
	o.obey(cmd, "--workspace", "--allow", "--state", "--network", "--allow-domain", "--deny-domain", "--allow-local", "--share-cache", "--fence-read", "--fence-write",
		"--pass-env", "--allow-config")
	return cmd
}

// examine prints how the workspace and the machine are, and mends what it can with fix.
func (c *cli) examine(ctx context.Context, o *options, x *skill.Executor, fix bool) error {
	found, err := x.Inspect(ctx)
	if err != nil {
		return err
	}
	health, err := x.Execute(ctx, &skill.Session{}, skill.Health{})
	if err != nil {
		return err
	}
	var dirs []string
	for _, r := range found.List {
		dirs = append(dirs, filepath.Join(r.Place.Path, r.Place.Key))
	}
	lines, failed := c.treat(c.faults(o, dirs), fix)
	lines = slices.Concat([]string{found.Message()}, c.hookReport(o), lines, []string{
		fmt.Sprintf("the fence of commands is %s", health.(skill.HealthReport).Fence), o.reach(), onPath(c.program(), c.getenv("PATH")),
	})
	_, err = fmt.Fprintln(c.stdout, strings.Join(lines, "\n"))
	return errors.Join(err, failed)
}

// reach says which hosts tools and commands may connect to.
func (n *networkFlags) reach() string {
	text := "tools and commands may reach "
	switch {
	case n.network && n.private:
		return text + "every address"
	case n.network:
		text += "every public address"
	case len(n.allowed) > 0:
		text += strings.Join(n.allowed, ", ")
	case len(n.local) == 0:
		return text + "no host: --allow-domain HOST or --network lets them"
	default:
		text += "no host"
	}
	if len(n.denied) > 0 {
		text += ", but not " + strings.Join(n.denied, ", ")
	}
	for _, port := range n.local {
		text += fmt.Sprintf(", and port %d of this machine", port)
	}
	return text
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
