package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"textskill/cmd/internal/usage"
	"textskill/skill"
)

// ownProgram returns the program that commands run under: this one again. The name
// still leads to it after its file has been replaced.
func ownProgram() string {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe"
	}
	return ""
}

// cancelOnSignal waits for a signal that asks the program to end. It runs beside the
// start: os/signal starts threads first, which takes 0.16 ms of the 3.4 ms until skill
// mcp has answered initialize, and 0.10 of the 3.1 ms of a text command. It closes waiting
// once it waits.
func cancelOnSignal(cancel context.CancelCauseFunc, waiting chan<- struct{}) {
	received := make(chan os.Signal, 1)
	signal.Notify(received, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup has it ignored
		signal.Notify(received, syscall.SIGHUP)
	}
	close(waiting)
	cancel(stopSignal{<-received})
}

// A stopSignal is why the program ends: the signal that asked for it.
type stopSignal struct{ os.Signal }

func (s stopSignal) Error() string { return s.String() + " signal received" }

// takeInterrupts returns the interrupts from now on, which then do not end the program:
// cancelOnSignal has to wait by then.
func takeInterrupts(waiting <-chan struct{}) <-chan os.Signal {
	<-waiting
	received := make(chan os.Signal, 1)
	signal.Reset(os.Interrupt)
	signal.Notify(received, os.Interrupt)
	return received
}

// prepare gives root the subcommands that args may name: those whose name is anywhere
// in args. To build all of them, with their flags, takes 0.08 ms of a start.
func (c *cli) prepare(root *cobra.Command, o *options, args []string) {
	for _, arg := range args {
		switch arg {
		case "help", "completion", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd:
			c.addCommands(root, o)
			completeValues(root)
			return
		}
	}
	root.CompletionOptions.DisableDefaultCmd = true
	for _, sub := range c.subcommands() {
		if slices.Contains(args, sub.name) {
			c.add(root, sub, o)
		}
	}
}

func (c *cli) versionCommand(*options) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  skill version",
		Args:    usage.Arguments(0, 0, ""),
		RunE:    func(*cobra.Command, []string) error { return c.printVersion() },

		DisableFlagsInUseLine: true,
	}
}

func (c *cli) printVersion() error {
	_, err := fmt.Fprintln(c.stdout, c.program(), version())
	return err
}

// released is the version and commit of a released program; "" for others. .ci/release
// sets it.
var released string

// version returns that of the release, or the module's, with the commit if the program
// was built from a checkout.
func version() string {
	if released != "" {
		return released
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return info.Main.Version
}

func (c *cli) execCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "exec [flags] -- COMMAND [ARG]...",
		Short: "Run a command of yours in the sandbox, so that you can undo it",
		Long: `exec runs a command in the workspace with your terminal, and records what it changes there.
Then "skill undo" takes that back. In the sandbox, the command changes only the
workspace and has no network; --fence-write and --network allow more. With --fence off,
exec only records. exec ends with the exit code of the command.

An agent works in the sandbox if you give it the network, its configuration and its key:
--network --fence-write ~/.claude --pass-env ANTHROPIC_API_KEY. To record each of its
calls instead, use "skill setup HOST --hooks".`,
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
		c.say("it may not reach", strings.Join(done.Refused, ", ")+
			"; --network or --allow-domain HOST lets it")
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
