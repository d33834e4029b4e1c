package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
)

// The events that wait for one flush at most.
const (
	maxHeld = 128 // events
	maxOpen = 64  // descriptors of folders and files, before the next call: ulimit -n may be 256
)

// emit completes an event, records it and passes it to the caller. While changes are not on the
// disk, the results of calls wait for that, and all events for the results before them.
func (t *task) emit(ctx context.Context, e Event) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	e.ID, e.ExpertKey, e.RunID, e.StepNumber = newID(), t.expert.Key, t.id, cmp.Or(e.StepNumber, t.cp.StepNumber)
	waits := t.waits()
	if waits && e.ToolResult != nil {
		e.Timestamp = t.store.now()
	} else if err := t.write(ctx, &e); err != nil {
		return err
	}
	if waits {
		t.held = append(t.held, e)
		return nil
	}
	return t.pass(e)
}

// waits reports whether changes are not on the disk, or events are held for such.
func (r *run) waits() bool { return len(r.held) > 0 || r.unflushed.Len() > 0 }

// write records an event.
func (t *task) write(ctx context.Context, e *Event) error {
	err := t.store.event(ctx, e)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return unrecorded(err)
	}
	return nil
}

func unrecorded(err error) error { return fmt.Errorf("the run cannot be recorded: %w", err) }

// pass passes an event to the caller, who hears no more after the first refusal.
func (r *run) pass(e Event) error {
	if !r.yield(e, nil) {
		r.yield = func(Event, error) bool { return false }
		return errEnough
	}
	return nil
}

// settle waits until what the calls so far have changed, and that they had begun, is on the
// disk. Then it records their results, so that a result which a power cut leaves is that of
// a change which it left, and passes the events that were held to the caller, up to the first
// that cannot be recorded.
func (t *task) settle(ctx context.Context) error {
	flushed := make(chan error, 1)
	go func() { flushed <- t.unflushed.Flush() }()
	err := errors.Join(t.store.flush(), <-flushed)
	held := t.held
	t.held = nil
	if err != nil {
		return unrecorded(err)
	}
	for i := range held {
		if held[i].ToolResult == nil {
			continue
		}
		if err = t.write(context.WithoutCancel(ctx), &held[i]); err != nil {
			held = held[:i]
			break
		}
	}
	for _, e := range held {
		if stopped := t.pass(e); stopped != nil {
			return cmp.Or(err, stopped)
		}
	}
	return err
}
