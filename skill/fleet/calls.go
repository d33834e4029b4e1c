package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"textskill/skill"
)

// A Holding is a workspace that a worker holds. [WorkerConfig].Held serves its tools to callers.
type Holding struct {
	Run      Run
	Todos    *skill.Snapshot // of the callers; nil if they have none
	Executor *skill.Executor

	// Commit stores the current files and the todos. While an expert works, Commit waits for
	// the end of the step: the fleet never stores half a step.
	Commit func(ctx context.Context, todos skill.Snapshot) error
}

// Calls serve the calls to one workspace.
type Calls interface {
	Idle() time.Duration // time since the last call; 0 during a call
	Close()              // returns after the last call
}

// callers are the calls that wait until their changes are stored. The zero value has no calls.
type callers struct {
	mu      sync.Mutex
	todos   *skill.Snapshot // to be stored; nil if they have not changed
	waiting []chan error
	wake    func() // called when a call begins to wait; may be nil
	over    error  // not nil after end; commit returns it
}

// commit waits until the files and todos are stored.
func (c *callers) commit(ctx context.Context, todos skill.Snapshot) error {
	stored := make(chan error, 1)
	c.mu.Lock()
	if c.over != nil {
		defer c.mu.Unlock()
		return c.over
	}
	c.todos, c.waiting = &todos, append(c.waiting, stored)
	if c.wake != nil {
		c.wake()
	}
	c.mu.Unlock()
	select {
	case err := <-stored:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-stored: // stored when ctx ended
		return err
	default:
		return context.Cause(ctx)
	}
}

// take adds the callers' todos to the next commit of h. After that commit, stored passes its
// error to the waiting calls.
func (c *callers) take(h *ownedRun) (stored func(error)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	waiting := c.waiting
	if c.todos != nil {
		h.ws.Todos, h.walk = c.todos, true
	}
	c.todos, c.waiting = nil, nil
	return func(err error) {
		for _, w := range waiting {
			w <- err
		}
	}
}

// end fails all waiting and all later calls.
func (c *callers) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = err
	for _, w := range c.waiting {
		w <- err
	}
	c.waiting = nil
}

var errNotStored = errors.New("the worker has released the workspace; its changes may not be stored")

// serveCalls serves calls to the workspace until release is called.
func (h *ownedRun) serveCalls() (calls Calls, release func(), err error) {
	if h.Held == nil {
		return nil, func() {}, nil
	}
	calls, err = h.Held(Holding{h.run, h.ws.Todos, h.x, h.callers.commit})
	if err != nil {
		return nil, nil, err
	}
	return calls, func() {
		h.callers.end(errNotStored)
		calls.Close()
	}, nil
}

// idleEvery is how often waitForCalls checks the idle time.
const idleEvery = time.Second

// waitForCalls stores the changes of calls until no call has come for the run's idle time.
func (h *ownedRun) waitForCalls(ctx, runCtx context.Context, calls Calls) error {
	if calls == nil {
		return fmt.Errorf("%w: this worker answers no calls", errUnfit)
	}
	wake := make(chan struct{}, 1)
	h.callers.mu.Lock()
	h.callers.wake = func() {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
	h.callers.wake() // a call may wait already
	h.callers.mu.Unlock()
	tick := time.NewTicker(idleEvery)
	defer tick.Stop()
	var cause error // of the end; nil for an idle workspace
	var closed chan struct{}
	end := func(err error) {
		if closed == nil {
			cause, closed = err, make(chan struct{})
			go func() {
				calls.Close()
				close(closed)
			}()
		}
	}
	endCtx := context.WithoutCancel(runCtx)
	stopped, cancelled := ctx.Done(), runCtx.Done()
	for {
		select {
		case <-wake:
			if err := h.storeCalls(endCtx); err != nil {
				return err
			}
		case <-tick.C:
			if h.run.Idle > 0 && calls.Idle() >= h.run.Idle {
				end(nil)
			}
		case <-stopped:
			stopped = nil
			end(errGivenBack)
		case <-cancelled:
			cancelled = nil
			if err := context.Cause(runCtx); errors.Is(err, ErrTaken) {
				return err
			}
			end(context.Cause(runCtx))
		case <-closed:
			h.walk = true
			if err := h.storeCalls(endCtx); err != nil {
				return err
			}
			if cause != nil {
				return cause
			}
			return h.end(endCtx, Completed, fmt.Sprintf("nobody called it for %v", h.run.Idle))
		}
	}
}

// storeCalls stores the changes of the waiting calls.
func (h *ownedRun) storeCalls(ctx context.Context) (err error) {
	stored := h.callers.take(h)
	defer func() { stored(err) }()
	manifest, err := h.snapshot(ctx)
	if err != nil {
		return err
	}
	h.ws.Manifest, h.run.Manifest = manifest, manifest
	began := time.Now()
	if err := h.commit(ctx); err != nil {
		return err
	}
	h.walk = false
	h.purge(ctx, began)
	return nil
}
