package dialect

import (
	"context"
	"fmt"
	"strings"
	"time"

	"textskill/parser/rawjson"
	"textskill/skill"
)

type traceKey struct{}

// WithTrace returns a context in which calls are reported with the traceparent of their client.
func WithTrace(ctx context.Context, traceparent string) context.Context {
	return context.WithValue(ctx, traceKey{}, traceparent)
}

// report gives the call to [skill.Config].Called, if that is set.
func (in *call) report(ctx context.Context, began time.Time, r *Reply) {
	called := in.x.Called()
	if called == nil {
		return
	}
	c := skill.Call{Dialect: in.dialect.Name, Tool: in.sent, Arguments: in.bounded(), Began: began,
		Took: time.Since(began), Undo: r.UndoID()}
	c.Trace, _ = ctx.Value(traceKey{}).(string)
	if in.tool != nil {
		c.Tool = in.tool.Name
	}
	if r.Err != nil {
		c.Failure = r.Err.Error()
	}
	called(c)
}

// maxArgument is how many bytes of an argument a record of a call has.
const maxArgument = 512

// bounded returns the arguments of a call without content: its length stands for it, and a
// long argument is cut.
func (in *call) bounded() map[string]any {
	short := make(map[string]any, len(in.values))
	for name, value := range in.values {
		text, isText := value.(string)
		if !isText {
			text = string(rawjson.Encode(value))
		}
		var p *Param
		if in.tool != nil {
			p = in.tool.param(name)
		}
		switch {
		case p != nil && p.Content:
			value = fmt.Sprintf("[%d bytes]", len(text))
		case len(text) > maxArgument:
			// no part of a secret is left, which nobody would know for one
			n := strings.LastIndexAny(text[:maxArgument], " \t\n\"'=,;&") + 1
			value = text[:n] + fmt.Sprintf("… [%d bytes]", len(text))
		}
		short[name] = value
	}
	return short
}
