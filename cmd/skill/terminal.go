package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/peterh/liner"
)

// A lineEditor asks a person at the terminal for lines, which can be edited; the arrows
// bring back earlier ones. Only while it asks is the terminal in its mode.
type lineEditor struct {
	state         *liner.State // nil before the first line; it holds what was typed ahead
	before, while liner.ModeApplier
}

// errAborted says that the person gave up a line with Ctrl-C.
var errAborted = liner.ErrPromptAborted

// line asks for a line and returns it without white space around it. Errors are io.EOF for
// Ctrl-D, errAborted, the cause of ctx, and the terminal's.
func (e *lineEditor) line(ctx context.Context, question string) (string, error) {
	if err := e.begin(); err != nil {
		return "", err
	}
	defer e.before.ApplyMode()
	type reply struct {
		text string
		err  error
	}
	replies := make(chan reply, 1)
	go func() { // it ends with the line, at the latest with the program
		text, err := e.state.Prompt(question)
		replies <- reply{strings.TrimSpace(text), err}
	}()
	select {
	case r := <-replies:
		if r.err == nil && r.text != "" {
			e.state.AppendHistory(r.text)
		}
		return r.text, r.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// begin puts the terminal into the mode for editing.
func (e *lineEditor) begin() (err error) {
	if e.state != nil {
		return e.while.ApplyMode()
	}
	if e.before, err = liner.TerminalMode(); err != nil {
		return err
	}
	e.state = liner.NewLiner() // which sets the mode
	e.state.SetCtrlCAborts(true)
	e.while, err = liner.TerminalMode()
	return err
}

// askTerminal returns a function that asks a person at the terminal for a line. An empty
// line and Ctrl-D are errLeft, Ctrl-C is errInterrupted.
func askTerminal(ctx context.Context) func(question string) (string, error) {
	e := &lineEditor{}
	return func(question string) (string, error) {
		text, err := e.line(ctx, question)
		switch {
		case err == nil && text != "":
			return text, nil
		case err == nil:
			return "", errLeft
		case errors.Is(err, errAborted):
			return "", errInterrupted
		case !errors.Is(err, io.EOF) && ctx.Err() == nil:
			return "", err
		}
		fmt.Println()
		return "", errLeft
	}
}

// editable reports whether a person can edit the lines read from in.
func editable(in io.Reader) bool {
	return in == os.Stdin && isTerminal(os.Stdin) && isTerminal(os.Stdout) && liner.TerminalSupported()
}
