package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"textskill/internal/usage"
	"textskill/skill"
)

func (c *cli) execCommand(*configuration) *cobra.Command {
	var o workspaceOptions
	cmd := &cobra.Command{
		Use:   "exec [flags] -- COMMAND [ARG]...",
		Short: "Run a command of yours in the sandbox, so that you can undo it",
		Long: `exec runs a command in the workspace with your terminal, and records what it changes there.
Then "skill undo" takes that back. In the sandbox, the command changes only the
workspace and has no network; --fence-write and --network allow more. With --fence off,
exec only records. exec ends with the exit code of the command. The changes of a
server or a watcher are recorded until it waits for requests or for changes of files.

An agent works in the sandbox if you give it the network, its configuration and its key:
--network --fence-write ~/.claude --pass-env ANTHROPIC_API_KEY. To record each of its
calls instead, use "skill setup HOST --hooks".`,
		Example: "  skill exec -- make test\n  skill exec --fence off -- npm install\n" +
			"  skill exec --allow-domain npm -- npm ci",
		Args: usage.Arguments(1, 1<<20, "a command: exec -- COMMAND"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.DryRun {
				return c.try(cmd, &tryOptions{workspaceOptions: o, diff: true}, args)
			}
			return c.exec(cmd, &o, args)
		},
	}
	cmd.Flags().SetInterspersed(false)
	o.addWorkspace(cmd.Flags())
	o.addUndo(cmd.Flags())
	o.addSandbox(cmd.Flags())
	o.addNetwork(cmd.Flags())
	return cmd
}

// exec runs a command of a person, and says how to take back what it changed.
func (c *cli) exec(cmd *cobra.Command, o *workspaceOptions, args []string) error {
	x, err := c.executor(o)
	if err != nil {
		return err
	}
	defer x.Close()
	done, err := x.ByTool("", "exec").Attach(cmd.Context(), args[0], args[1:], c.attached(o))
	if err != nil {
		return c.cannotRun(args, err)
	}
	if done.Undo != "" {
		c.sayf("change %s; \"%s\" takes it back", done.Undo, c.again(o, "undo", done.Undo))
	}
	if !done.Served.IsZero() {
		c.sayf("it served from %s on, and what was written since is not recorded",
			done.Served.Local().Format(time.TimeOnly))
	}
	if why := done.CannotUndo(); why != "" {
		c.say("undo leaves:", why)
	}
	if len(done.NotSeen) > 0 {
		c.say("not looked at:", strings.Join(done.NotSeen, ", "))
	}
	if note := done.GitNote(); note != "" {
		c.say(note)
	}
	return c.sayEnd(done)
}

// attached returns the streams of a command in the place of this program.
func (c *cli) attached(o *workspaceOptions) []*os.File {
	if o.Fence == skill.FenceOff && c.interrupts != nil {
		c.interrupts() // Ctrl-C is the command's
	}
	return []*os.File{os.Stdin, os.Stdout, os.Stderr}
}

// cannotRun returns the error of a command that was not run.
func (c *cli) cannotRun(args []string, err error) error {
	if errors.Is(err, syscall.ENOENT) && strings.ContainsAny(args[0], " \t\n;|&<>()$`*?=") {
		shell := shellLine("sh", []string{"-c", strings.Join(args, " ")})
		err = fmt.Errorf("%w\na shell reads such a line: %s", err, shell)
	}
	return c.failed(err)
}

// sayEnd says what a command missed and how it ended, and ends as it did.
func (c *cli) sayEnd(done skill.Executed) error {
	if len(done.Refused) > 0 {
		flags := ""
		if len(done.Allowable()) > 0 {
			flags = "; --network or --allow-domain HOST lets it"
		}
		c.say("it may not reach", strings.Join(done.Refused, ", ")+flags)
	}
	for _, hint := range done.Hints {
		c.say(hint)
	}
	switch {
	case done.TimedOut || done.Cancelled || done.Lost:
		c.say(done.Message())
	case done.Signal != "":
		fmt.Fprintln(c.stderr, done.Message())
	}
	if status := done.Status(); status != 0 {
		return exit(status)
	}
	return nil
}
