package mcpserver

import (
	"errors"
	"sync"
)

const maxPending = 4096 // unanswered requests of one client

var errCancelled = errors.New("the client cancelled the call")

// requests are the unanswered requests of one client.
type requests struct {
	mu      sync.Mutex
	pending map[callID]*pending
}

// pending is a request that has not been answered.
type pending struct {
	running   *running // the call that is executed without the SDK; nil if the SDK does
	cancelled bool     // no answer is sent
	reads     bool     // room for the answer is reserved
	client    []byte   // of callParams, if the SDK answers a call

	agreed chan struct{} // of initialize, closed when the SDK has answered; nil for all others
}

// begin makes a request pending. It fails if one with the same ID is, or too many
// are.
func (q *requests) begin(id callID, p *pending) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.pending[id] != nil:
		return errInUse
	case len(q.pending) >= maxPending:
		return errBusy
	}
	q.pending[id] = p
	return nil
}

// cancel stops a pending request, whose answer is then not sent. It does nothing if
// the request has been answered.
func (q *requests) cancel(id callID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if p := q.pending[id]; p != nil && p.agreed == nil {
		p.cancelled = true
		if p.running != nil {
			p.running.stop(errCancelled)
		}
	}
}

// setRunning makes it possible to cancel a call, and cancels one whose cancellation
// has come before.
func (q *requests) setRunning(p *pending, r *running) {
	q.mu.Lock()
	defer q.mu.Unlock()
	p.running = r
	if p.cancelled {
		r.stop(errCancelled)
	}
}
