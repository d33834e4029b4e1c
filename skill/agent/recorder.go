package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"textskill/skill"
)

// The events that wait for one flush at most.
const (
	maxHeld = 128 // events
	maxOpen = 64  // descriptors of folders and files, before the next call: ulimit -n may be 256
)

// A recorder records the events of a run, and passes each to the caller once it counts: when
// what it tells is on the disk. An event that comes while changes are not there is held, and
// the result of a call is recorded only then; [recorder.before] decides when that is.
type recorder struct {
	store     *store
	unflushed skill.Unflushed // changes of calls that are not on the disk
	held      []Event         // of these calls and of later ones
	yield     func(Event, error) bool
}

// A next is what follows the events so far.
type next int

const (
	callInside  next = iota // a call that changes the workspace alone
	callOutside             // one that reads what lies outside
	actOutside              // one that may change it
	userAsked               // the user sees what was done, and decides
	callsEnded              // the last call of an answer was made
)

// before waits for the disk, where the events so far must count before what is next.
func (r *recorder) before(ctx context.Context, n next) error {
	full := len(r.held) > maxHeld || r.unflushed.Open() > maxOpen
	if n == actOutside || r.waits() && (n != callInside || full) {
		return r.settle(ctx)
	}
	return nil
}

// emit completes an event of the task and records it.
func (t *task) emit(ctx context.Context, e Event) error {
	e.ID, e.ExpertKey, e.RunID, e.StepNumber = newID(), t.expert.Key, t.id,
		cmp.Or(e.StepNumber, t.cp.StepNumber)
	return t.recorder.event(ctx, e)
}

// event records an event and passes it to the caller, or holds it.
func (r *recorder) event(ctx context.Context, e Event) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	waits := r.waits()
	if waits && e.ToolResult != nil {
		e.Timestamp = r.store.now()
	} else if err := r.write(ctx, &e); err != nil {
		return err
	}
	if waits {
		r.held = append(r.held, e)
		return nil
	}
	return r.pass(e)
}

// waits reports whether changes are not on the disk, or events are held for such.
func (r *recorder) waits() bool { return len(r.held) > 0 || r.unflushed.Len() > 0 }

// write records an event.
func (r *recorder) write(ctx context.Context, e *Event) error {
	err := r.store.event(ctx, e)
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
func (r *recorder) pass(e Event) error {
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
func (r *recorder) settle(ctx context.Context) error {
	flushed := make(chan error, 1)
	go func() { flushed <- r.unflushed.Flush() }()
	err := errors.Join(r.store.flush(), <-flushed)
	held := r.held
	r.held = nil
	if err != nil {
		return unrecorded(err)
	}
	for i := range held {
		if held[i].ToolResult == nil {
			continue
		}
		if err = r.write(context.WithoutCancel(ctx), &held[i]); err != nil {
			held = held[:i]
			break
		}
	}
	for _, e := range held {
		if stopped := r.pass(e); stopped != nil {
			return cmp.Or(err, stopped)
		}
	}
	return err
}
