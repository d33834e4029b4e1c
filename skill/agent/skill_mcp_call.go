package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A delivery says how far the request of a call has come.
type delivery struct{ sent, refused atomic.Bool }

type deliveryKey struct{}

// note records the request of a call, and whether its answer says that there is no such session.
// Over SSE a session is an address of its own.
func (d *delivery) note(r *http.Request, endpoint string, answer *http.Response) {
	d.sent.Store(true)
	if r.Method == http.MethodPost {
		session := r.Header.Get("Mcp-Session-Id") != "" || r.URL.String() != endpoint
		d.refused.Store(session && answer != nil && answer.StatusCode == http.StatusNotFound)
	}
}

// lost reports whether an error says that the connection has ended.
func lost(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, mcp.ErrConnectionClosed) || errors.Is(err, errLongMessage)
}

// call runs a call. Errors are outcomes for the model. A call that was not carried out because the
// session at an endpoint has ended is made once more, in a new session.
func (v *server) call(ctx context.Context, name string, c ToolCall) outcome {
	inner, cancel := context.WithTimeout(ctx, v.timeout)
	defer cancel()
	p := &mcp.CallToolParams{Name: name, Arguments: c.Args}
	if v.trace != nil {
		if parent := v.trace(c.ID); parent != "" {
			p.Meta = mcp.Meta{"traceparent": parent}
		}
	}
	failure := func(err error) outcome {
		return textOutcome(fmt.Sprintf("Error calling tool %s: %v", c.ToolName, err), true)
	}
	var d delivery
	session := v.current()
	r, err := session.CallTool(context.WithValue(inner, deliveryKey{}, &d), p)
	if err != nil && v.process == nil && inner.Err() == nil && (d.refused.Load() || lost(err)) {
		again, failed := v.reopen(session, err)
		switch {
		case failed != nil:
			return failure(failed)
		case d.sent.Load() && !d.refused.Load():
			return failure(fmt.Errorf("%w; a new session was opened: the call may have happened", plainError(err)))
		}
		r, err = again.CallTool(inner, p)
	}
	switch {
	case err != nil && inner.Err() != nil && ctx.Err() == nil:
		return failure(fmt.Errorf("no answer within %s", v.timeout))
	case v.process != nil && lost(err):
		return failure(v.restart(session, err))
	case err != nil:
		return failure(plainError(err))
	}
	return serverOutcome(c, r)
}

// reopen returns a session in place of one at an endpoint that has ended, and has its tools listed
// again. Several calls may find that it has ended.
func (v *server) reopen(ended *mcp.ClientSession, err error) (*mcp.ClientSession, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.session != ended {
		return v.session, nil
	}
	if failed := v.open(); failed != nil {
		return nil, fmt.Errorf("%w; a new session could not be opened: %w", plainError(err), plainError(failed))
	}
	v.changed.Store(true)
	go ended.Close() // which may tell the server, and ends with the run
	return v.session, nil
}

// restart starts a program that has ended once more, but not the call that it was answering,
// and says so. A program that only answered too much is started as often as it did. Several calls
// may find that it has ended.
func (v *server) restart(ended *mcp.ClientSession, err error) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	const again = "; it was started again, without what it had in memory: the call may have happened"
	if v.session != ended {
		return errors.New("the server has ended" + again)
	}
	tooLong := errors.Is(err, errLongMessage)
	if tooLong {
		err = fmt.Errorf("%w; ask for less at once", errLongMessage)
	} else {
		err = fmt.Errorf("%w%s", v.exitError(err), v.lastStderr())
	}
	if v.restarted && !tooLong {
		return err
	}
	v.restarted = v.restarted || !tooLong
	v.process.Close()
	if failed := v.open(); failed != nil {
		return fmt.Errorf("%w; it could not be started again: %w", err, plainError(failed))
	}
	if tooLong {
		return fmt.Errorf("%w; the server was started again, without what it had in memory", err)
	}
	return errors.New(err.Error() + again)
}
