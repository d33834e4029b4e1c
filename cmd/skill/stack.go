package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"textskill/parser"
	rawjson "textskill/parser/json"
	"textskill/skill/dialect"
)

// stackCalls carries out the calls of a text, one after the other, and prints a
// line for each: the object that it is answered by.
func (p *prompter) stackCalls(ctx context.Context, text string) error {
	calls, err := parser.Calls(text, func(name string) bool { return dialect.Stack.Lookup(name) != nil })
	var none *parser.SyntaxError
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
		body := r.Body
		if p.o.json {
			body = addUndo(r)
		} else if why := r.NotKept(); why != "" && !strings.Contains(body, `"not_undoable":`) { // which says it
			p.warn(why)
		}
		if _, err := fmt.Fprintln(p.stdout, body); err != nil {
			return err
		}
		failed = failed || r.Err != nil
	}
	if failed {
		return exit(exitFailed)
	}
	return nil
}

// addUndo returns the object that answers a call, with what its change is taken back
// by, or why it cannot be.
func addUndo(r dialect.Reply) string {
	var has map[string]json.RawMessage
	if json.Unmarshal([]byte(r.Body), &has) != nil {
		return r.Body
	}
	body := strings.TrimSuffix(r.Body, "}")
	add := func(key, value, told string) {
		if value != "" && has[key] == nil && has[told] == nil {
			body += "," + fmt.Sprintf("%q:", key) + string(rawjson.Encode(value))
		}
	}
	add("undo", r.UndoID(), "undo")
	add("not_kept", r.NotKept(), "not_undoable")
	return body + "}"
}
