package mcpserver

import "sync"

const maxPending = 4096 // unanswered requests of one client

// requests are the unanswered requests of one client.
type requests struct {
	mu      sync.Mutex
	pending map[callID]*pending
}

// pending is a request that has not been answered.
type pending struct {
	cancelled bool          // no answer is sent
	reads     bool          // room for the answer is reserved
	agreed    chan struct{} // of initialize, closed when the SDK has answered; nil for all others
	accepted  bool          // of initialize: the SDK agreed
	to        *end          // of the session that answers
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
	p.to.pending++
	return nil
}

// cancel drops the answer to a pending request, and returns the end of the session that stops it.
// It returns nil if the request has been answered.
func (q *requests) cancel(id callID) *end {
	q.mu.Lock()
	defer q.mu.Unlock()
	p := q.pending[id]
	if p == nil || p.agreed != nil {
		return nil
	}
	p.cancelled = true
	return p.to
}
