// Command skill carries out what AI agents ask of a workspace folder: text commands, JSON
// tool calls, and requests in plain words. "skill help" lists its subcommands.
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"textskill/internal/usage"
	"textskill/skill"
)

func main() {
	skill.HelperMain()
	if err := skill.GuardSecrets(); err != nil {
		fmt.Fprintln(os.Stderr, "skill:", err)
		os.Exit(exitFailed)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancelOnSignal(cancel)
	c := &cli{console: console{name: nameOf(os.Args[0]), stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv}, helper: ownProgram(), interrupts: takeInterrupts}
	os.Exit(c.run(ctx, os.Args[1:]))
}

// A console is what the program reads and writes, and the variables of its user.
type console struct {
	name           string // what people type for the program: see nameOf; "" means skill
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         environment
}

// cli is the program without the process: it may be run from a test.
type cli struct {
	console
	// takes over the signals of Ctrl-C; nil leaves them to the context
	interrupts func() <-chan os.Signal
	helper     string           // program that commands run under; may be ""
	agent      *scriptedAgent   // answers in place of a configured model; may be nil
	called     func(skill.Call) // receives each call of a tool; may be nil
	// the workspace is removed soon, so changes need not last through a power failure
	unlasting bool
	allowed   func(*cobra.Command) error // refuses a command line before it is carried out; may be nil
}

// Exit codes.
const (
	exitOK      = 0
	exitFailed  = 1 // an operation, or one call of several; or what it names is not there
	exitUsage   = 2 // the command line is wrong, wherever it is typed
	exitConfirm = 3 // nothing was done: the exact command has to be typed
	exitPartly  = 4 // an undo took back a part of the change, and the rest stays
)

type exit = usage.Exit
