package mcpserver

import (
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// maxIdle is how many workers may wait for their turn to read; others end.
const maxIdle = 8

// moment is how long the next lines wait for a call that is executed.
const moment = 500 * time.Microsecond

// work waits for its turn, reads lines up to the next call, executes the call and goes on
// reading, unless it has passed its turn on meanwhile. A new worker is started only if none is
// waiting.
func (c *conn) work() {
	var line, reply []byte
	for c.waiting.Add(1) <= maxIdle {
		_, mine := <-c.turn
		c.waiting.Add(-1)
		if !mine {
			return
		}
		for mine {
			var call *fastCall
			if call, line = c.nextCall(line); call == nil {
				close(c.turn)
				close(c.ended)
				return
			}
			held := c.hold()
			start := time.Now()
			reply = c.runFast(call, reply)
			c.quick.Store(time.Since(start) < moment)
			mine = held > 0 && c.held.CompareAndSwap(held, 0)
		}
	}
	c.waiting.Add(-1)
}

// hold keeps the turn for a call that seems short, and returns the number of the hold: to wake
// another worker for each call takes a fifth as long as to write a small file. The turn is passed
// on at once, and the number is 0, if more than the call was read, or if the last call took longer
// than a moment; else the watch passes it on after a moment.
func (c *conn) hold() int64 {
	if c.in.Buffered() > 0 || !c.quick.Load() {
		c.passTurn()
		return 0
	}
	if c.watch == nil {
		c.watch = time.AfterFunc(moment, c.relieve)
	} else {
		c.watch.Reset(moment)
	}
	c.holds++
	held := c.holds
	c.held.Store(held)
	return held
}

// relieve passes on a turn that is held. The watch may find a later call than that for which it
// was set, which does no harm.
func (c *conn) relieve() {
	if held := c.held.Load(); held > 0 && c.held.CompareAndSwap(held, 0) {
		c.passTurn()
	}
}

// passTurn lets another worker read.
func (c *conn) passTurn() {
	if c.waiting.Load() == 0 {
		go c.work()
	}
	c.turn <- struct{}{}
}

// nextCall reads lines into buf up to one that is a fastCall, which refers to the
// line. It returns nil at the end of the input.
func (c *conn) nextCall(buf []byte) (*fastCall, []byte) {
	for {
		line, err := readLine(c.in, buf)
		switch {
		case err == errLongLine:
			c.refuse(nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("a line is longer than %d bytes", maxLine))
			continue
		case err != nil:
			return nil, nil
		}
		if call := c.route(line); call != nil {
			return call, line
		}
		buf = line
	}
}
