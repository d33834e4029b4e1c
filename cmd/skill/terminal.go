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

// askTerminal returns a function that asks a person at the terminal for a line, which
// can be edited; the arrows bring back earlier lines. An empty line, Ctrl-C and Ctrl-D
// are errLeft.
func askTerminal(ctx context.Context) func(question string) (string, error) {
	var history []string
	return func(question string) (string, error) {
		type reply struct {
			text string
			err  error
		}
		replies := make(chan reply, 1)
		l := liner.NewLiner() // it has the terminal only while it asks
		defer l.Close()
		l.SetCtrlCAborts(true)
		for _, text := range history {
			l.AppendHistory(text)
		}
		go func() {
			text, err := l.Prompt(question)
			replies <- reply{strings.TrimSpace(text), err}
		}()
		select {
		case r := <-replies:
			switch {
			case r.err == nil && r.text != "":
				history = append(history, r.text)
				return r.text, nil
			case r.err == nil, errors.Is(r.err, liner.ErrPromptAborted):
				return "", errLeft
			case !errors.Is(r.err, io.EOF):
				return "", r.err
			}
		case <-ctx.Done():
		}
		fmt.Println()
		return "", errLeft
	}
}

// editable reports whether a person can edit the lines read from in.
func editable(in io.Reader) bool {
	return in == os.Stdin && isTerminal(os.Stdin) && isTerminal(os.Stdout) && liner.TerminalSupported()
}
