package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"textskill/internal/usage"
)

// ownProgram returns the program that commands run under: this one again. The name
// still leads to it after its file has been replaced.
func ownProgram() string {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe"
	}
	return ""
}

// cancelOnSignal has a signal that asks the program to end cancel its context.
func cancelOnSignal(cancel context.CancelCauseFunc) {
	received := make(chan os.Signal, 1)
	signal.Notify(received, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup has it ignored
		signal.Notify(received, syscall.SIGHUP)
	}
	go func() { cancel(stopSignal{<-received}) }()
}

// A stopSignal is why the program ends: the signal that asked for it.
type stopSignal struct{ os.Signal }

func (s stopSignal) Error() string { return s.String() + " signal received" }

// takeInterrupts returns the interrupts from now on, which then do not end the program.
func takeInterrupts() <-chan os.Signal {
	received := make(chan os.Signal, 1)
	signal.Reset(os.Interrupt)
	signal.Notify(received, os.Interrupt)
	return received
}

// prepare gives root the subcommands that args may name: those whose name is anywhere
// in args. To build all of them, with their flags and completions, takes 4 ms, half of a start.
func (c *cli) prepare(root *cobra.Command, set *configuration, args []string) {
	for _, arg := range args {
		switch arg {
		case "help", "completion", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd:
			c.addCommands(root, set)
			completeValues(root)
			return
		}
	}
	root.CompletionOptions.DisableDefaultCmd = true
	for _, sub := range c.subcommands() {
		if slices.Contains(args, sub.name) {
			c.add(root, sub, set)
		}
	}
}

func (c *console) versionCommand(*configuration) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  skill version",
		Args:    usage.Arguments(0, 0, ""),
		RunE:    func(*cobra.Command, []string) error { return c.printVersion() },

		DisableFlagsInUseLine: true,
	}
}

func (c *console) printVersion() error {
	_, err := fmt.Fprintln(c.stdout, c.shortName(), version())
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
