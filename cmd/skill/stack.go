package main

import (
	"context"
	"errors"
	"fmt"

	"textskill/dialect"
	"textskill/parser"
)

// stackCalls carries out the calls of a text, one after the other, and prints a
// line for each: the object that it is answered by.
func (p *prompter) stackCalls(ctx context.Context, text string) error {
	calls, err := parser.Calls(text, func(name string) bool { return dialect.Stack.Lookup(name) != nil })
	var none *parser.NoCallsError
	switch {
	case errors.As(err, &none) && none.Name != "":
		unknown := dialect.Stack.Do(ctx, p.x, p.s, parser.ToolCall{Name: none.Name})
		return p.print("", dialect.Reply{Err: &dialect.Failure{Message: unknown.Err.Error()}})
	case err != nil:
		return p.print("", dialect.Reply{Err: &dialect.Failure{Message: err.Error(), Cause: err}})
	}
	failed := false
	for _, call := range calls {
		r := dialect.Stack.Do(ctx, p.x, p.s, call)
		if _, err := fmt.Fprintln(p.stdout, r.Body); err != nil {
			return err
		}
		failed = failed || r.Err != nil
	}
	if failed {
		return exit(exitFailed)
	}
	return nil
}
