package trace

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"textskill/skill"
)

// Calls reports the calls of an MCP server: a span for each, in the trace that its client sent
// with it, or in a trace of its own. It is safe for concurrent use.
type Calls struct{ *reporter }

// NewCalls returns Calls that send to the collector which the variables name; nil if they
// name none. The caller closes them.
func NewCalls(getenv func(string) string) (*Calls, error) {
	r, err := newReporter(getenv, "mcpserver")
	if r == nil || err != nil {
		return nil, err
	}
	return &Calls{r}, nil
}

// Add adds a call that was answered. It does not wait for the collector: of a collector that
// is not reached spans are lost.
func (c *Calls) Add(call skill.Call) {
	_, s := c.tracer.Start(remote(call.Trace), "tools/call "+call.Tool,
		trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(call.Began))
	c.end(s, call.Began.Add(call.Took), call.Failure != "", "tool_error",
		attribute.String("mcp.method.name", "tools/call"),
		attribute.String("gen_ai.operation.name", "execute_tool"),
		attribute.String("gen_ai.tool.name", call.Tool), attribute.String("gen_ai.tool.type", "function"))
}
