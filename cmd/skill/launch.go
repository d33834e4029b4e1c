package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"textskill/skill/mcpserver"
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
// start: os/signal starts threads first, which takes a tenth of a start.
func cancelOnSignal(cancel context.CancelCauseFunc) {
	received := make(chan os.Signal, 1)
	signal.Notify(received, os.Interrupt, syscall.SIGTERM)
	cancel(fmt.Errorf("%v signal received", <-received))
}

// prepare gives root the subcommands that args may name: those whose name is anywhere
// in args. To build them all, with their flags, takes 4 to 9 % of a start.
func (c *cli) prepare(root *cobra.Command, o *options, args []string) {
	if slices.Contains(args, "mcp") {
		go mcpserver.Warm() // beside the reading of the flags
	}
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
			root.AddCommand(sub.build(o))
		}
	}
}
