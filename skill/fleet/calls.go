package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"textskill/skill"
)

// A Holding is a workspace that a worker holds, for what answers calls to it.
type Holding struct {
	Run      Run
	Todos    *skill.Snapshot // of the callers; nil if they have none
	Executor *skill.Executor

	// Commit returns when the files as they are, and the todos, are stored. While an expert
	// works they are stored with its step, so that no stored file is of half a step.
	Commit func(ctx context.Context, todos skill.Snapshot) error
}

// Calls answer the calls to a workspace, from its holder's side.
type Calls interface {
	Idle() time.Duration // since the last call; 0 while there is one
	Close()              // returns after the last call
}

// callers are calls whose changes are not stored yet. The zero callers has none.
type callers struct {
	mu      sync.Mutex
	todos   *skill.Snapshot // nil if they are as they were stored
	waiting []chan error
	wake    func() // is called when one begins to wait; may be nil
	over    error  // why none may wait any more
}

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
	case err := <-stored: // at the same time
		return err
	default:
		return context.Cause(ctx)
	}
}

// take has what is stored from now on hold what the callers changed. The caller says what
// became of that.
func (c *callers) take(h *held) (stored func(error)) {
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

// end lets no caller wait any more.
func (c *callers) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = err
	for _, w := range c.waiting {
		w <- err
	}
	c.waiting = nil
}

var errNotStored = errors.New("the worker gave the workspace up before that")

// serveCalls lets others make calls, until release is called.
func (h *held) serveCalls() (calls Calls, release func(), err error) {
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

// idleEvery is how often it is looked for a workspace that nobody calls.
const idleEvery = time.Second

// onlyHold keeps the workspace for calls until there have been none for long enough.
func (h *held) onlyHold(ctx, own context.Context, calls Calls) error {
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
	h.callers.wake() // one may wait already
	h.callers.mu.Unlock()
	tick := time.NewTicker(idleEvery)
	defer tick.Stop()
	var why error // the end of the work; nil for an idle workspace
	var closed chan struct{}
	end := func(err error) {
		if closed == nil {
			why, closed = err, make(chan struct{})
			go func() {
				calls.Close()
				close(closed)
			}()
		}
	}
	last := context.WithoutCancel(own)
	given, cancelled := ctx.Done(), own.Done()
	for {
		select {
		case <-wake:
			if err := h.storeCalls(last); err != nil {
				return err
			}
		case <-tick.C:
			if h.run.Idle > 0 && calls.Idle() >= h.run.Idle {
				end(nil)
			}
		case <-given:
			given = nil
			end(errGivenBack)
		case <-cancelled:
			cancelled = nil
			if err := context.Cause(own); errors.Is(err, ErrTaken) {
				return err
			}
			end(context.Cause(own))
		case <-closed:
			h.walk = true
			if err := h.storeCalls(last); err != nil {
				return err
			}
			if why != nil {
				return why
			}
			return h.end(last, Completed, fmt.Sprintf("nobody called it for %v", h.run.Idle))
		}
	}
}

// storeCalls stores what callers changed.
func (h *held) storeCalls(ctx context.Context) (err error) {
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
	if h.steps++; h.steps >= purgeEvery {
		h.steps = 0
		h.purge(ctx, began)
	}
	return nil
}
