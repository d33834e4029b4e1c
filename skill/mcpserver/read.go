package mcpserver

import (
	"fmt"
	"runtime"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// read reads lines until the input ends, and begins the calls that they make.
func (c *conn) read() {
	defer close(c.ended)
	var buf []byte
	for {
		line, err := readLine(c.in, buf)
		switch {
		case err == errLongLine:
			c.refuse(nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("a line is longer than %d bytes", maxLine))
			continue
		case err != nil:
			return
		}
		buf = line
		if call := c.route(line); call != nil {
			buf = nil // the call refers to it
			go c.runFast(call)
			// A short call ends before the next line is read, without waking a thread.
			runtime.Gosched()
		}
	}
}
