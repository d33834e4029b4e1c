package main

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"textskill/cmd/internal/usage"
	"textskill/skill"
)

func (c *cli) execCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "exec [flags] -- COMMAND [ARG]...",
		Short: "Run a command of yours in the fence, so that it can be undone",
		Long: "exec runs a command in the workspace with your terminal, and records what it changes there:\n" +
			"\"skill undo\" takes it back. The fence keeps its changes inside the workspace, and\n" +
			"the network away; --network and --fence-write open it. With --fence off it is only\n" +
			"recorded. The exit code is the command's.\n\n" +
			"An agent's own program runs in the fence if it gets the network, its configuration\n" +
			"and its key: --network --fence-write ~/.claude --pass-env ANTHROPIC_API_KEY. To have\n" +
			"each of its calls recorded instead, use \"skill setup HOST --hooks\".",
		Example: "  skill exec -- make test\n  skill exec --fence off -- npm install\n" +
			"  skill exec --allow-domain npm -- npm ci",
		Args: usage.Arguments(1, 1<<20, "a command: exec -- COMMAND"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.exec(cmd, o, args)
		},
	}
	cmd.Flags().SetInterspersed(false)
	o.obey(cmd, "workspace", "undo", "sandbox", "network")
	return cmd
}

// exec runs a command of a person, and says how to take back what it changed.
func (c *cli) exec(cmd *cobra.Command, o *options, args []string) error {
	x, err := c.executor(o)
	if err != nil {
		return err
	}
	defer x.Close()
	if o.fence == string(skill.FenceOff) && c.interrupts != nil {
		c.interrupts() // Ctrl-C is the command's
	}
	ctx := skill.WithLabel(cmd.Context(), "", "exec")
	done, err := x.Attach(ctx, args[0], args[1:], []*os.File{os.Stdin, os.Stdout, os.Stderr})
	if err != nil {
		return c.failed(err)
	}
	if done.Undo != "" {
		c.sayf("change %s; \"%s\" takes it back", done.Undo, o.again("undo", done.Undo))
	}
	if why := done.CannotUndo(); why != "" {
		c.say("undo leaves:", why)
	}
	if len(done.Refused) > 0 {
		c.say("it may not reach", strings.Join(done.Refused, ", ")+"; --network or --allow-domain HOST lets it")
	}
	switch {
	case done.TimedOut || done.Cancelled || done.Lost:
		c.say(done.Message())
		return exit(cmp.Or(max(done.ExitCode, 0), exitFailed))
	case done.Signal != "":
		fmt.Fprintln(c.stderr, done.Message())
		return exit(128 - min(done.ExitCode, 0))
	case done.ExitCode != 0:
		return exit(done.ExitCode)
	}
	return nil
}
