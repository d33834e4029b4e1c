// Command skill carries out what agents ask of a workspace: text commands,
// tool_calls envelopes, and prompts in plain words. "skill --help" tells how.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"textskill/operation"
)

func main() {
	operation.HelperMain()
	if err := operation.GuardSecrets(); err != nil {
		fmt.Fprintln(os.Stderr, "skill:", err)
		os.Exit(exitFailed)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c := &cli{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv, helper: ownProgram()}
	code := c.run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// ownProgram is what commands run under: this program once more. By this name it
// is found also when its file has been replaced.
func ownProgram() string {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe"
	}
	return ""
}

// cli is the program without the process: it may be run from a test.
type cli struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	helper         string         // program that commands run under; may be ""
	agent          *scriptedAgent // answers in place of a configured model; may be nil
}

// Exit codes.
const (
	exitOK      = 0
	exitFailed  = 1 // an operation, or one call of several
	exitUsage   = 2
	exitConfirm = 3 // nothing was done: the exact command has to be typed
)

// An exit ends the program with a code. What had to be said has been said.
type exit int

func (exit) Error() string { return "" }
