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

	"textskill/skill"
)

func main() {
	skill.HelperMain()
	if err := skill.GuardSecrets(); err != nil {
		fmt.Fprintln(os.Stderr, "skill:", err)
		os.Exit(exitFailed)
	}
	ctx, stop := context.WithCancelCause(context.Background())
	go func() { // to wait until signals are watched takes a tenth of a start
		told := make(chan os.Signal, 1)
		signal.Notify(told, os.Interrupt, syscall.SIGTERM)
		stop(fmt.Errorf("%v signal received", <-told))
	}()
	c := &cli{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv, helper: ownProgram()}
	os.Exit(c.run(ctx, os.Args[1:]))
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
