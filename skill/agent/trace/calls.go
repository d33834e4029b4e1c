package trace

import (
	"errors"
	"sync"
	"time"

	"textskill/skill"
)

// Calls reports the calls of an MCP server: a span for each, which is a trace by itself. It
// is safe for concurrent use.
type Calls struct {
	to      *collector
	mu      sync.Mutex
	spans   []span
	lost    int
	failed  error // of the last sending that failed; nil once one has not
	stop    chan struct{}
	stopped chan struct{}
}

// maxSpans is how many spans wait to be sent.
const maxSpans = 4096

// NewCalls returns Calls that send to the collector which the variables name; nil if they
// name none. The caller closes them.
func NewCalls(getenv func(string) string) (*Calls, error) {
	to, err := newCollector(getenv)
	if to == nil || err != nil {
		return nil, err
	}
	c := &Calls{to: to, stop: make(chan struct{}), stopped: make(chan struct{})}
	go c.work()
	return c, nil
}

// Add adds a call that was answered. It does not wait for the collector: of a collector that
// is not reached the oldest spans are lost.
func (c *Calls) Add(call skill.Call) {
	s := span{TraceID: id(16), SpanID: id(8), Name: "tools/call " + call.Tool, Kind: server,
		Start: nanoseconds(call.Began), End: nanoseconds(call.Began.Add(call.Took)),
		Attributes: []attribute{text("mcp.method.name", "tools/call"), text("gen_ai.operation.name", "execute_tool"), text("gen_ai.tool.name", call.Tool), text("gen_ai.tool.type", "function")}}
	if call.Failure != "" {
		s.Status = &status{Code: 2}
		s.Attributes = append(s.Attributes, text("error.type", "tool_error"))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.spans = append(c.spans, s); len(c.spans) > maxSpans {
		c.spans = c.spans[1:]
		c.lost++
	}
}

// work sends what was added from time to time, until Close.
func (c *Calls) work() {
	defer close(c.stopped)
	tick := time.NewTicker(sendEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			c.flush()
		case <-c.stop:
			c.flush()
			return
		}
	}
}

func (c *Calls) flush() {
	c.mu.Lock()
	spans := c.spans
	c.spans = nil
	c.mu.Unlock()
	if len(spans) == 0 {
		return
	}
	err := c.to.post("mcpserver", spans)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed = err; err != nil { // the next sending takes them along
		c.spans = append(spans, c.spans...)
		over := max(len(c.spans)-maxSpans, 0)
		c.spans, c.lost = c.spans[over:], c.lost+over
	}
}

// Close sends what is left. Its error is that spans could not be sent.
func (c *Calls) Close() error {
	close(c.stop)
	<-c.stopped
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lost > 0 {
		return errors.Join(c.failed, errors.New("spans were lost, because the collector did not take them in time"))
	}
	return c.failed
}
