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
// the result of a call is recorded only then.
type recorder struct {
	store     *store
	adopting  bool            // the records before count once the next event is recorded
	files     filePosition    // after the last call; nil if it is not known
	unflushed skill.Unflushed // changes of calls that are not on the disk
	held      []Event         // of these calls and of later ones
	yield     func(Event, error) bool

	rules, window int // what the run's setting has of its model: see [RunSetting]
}

// A next is what follows the events so far.
type next int

const (
	anEvent     next = iota
	callInside       // a call that changes the workspace alone
	callOutside      // one that reads what lies outside
	actOutside       // one that may change it
	userAsked        // the user sees what was done, and decides
	callsEnded       // the last call of an answer was made
)

// counts decides when events count: at once where all changes are on the disk, else before a
// call that may not come first, or when too many are held. If they do not count by themselves,
// [recorder.before] makes them.
func (r *recorder) counts(n next) bool {
	waits := len(r.held) > 0 || r.unflushed.Len() > 0
	switch n {
	case anEvent:
		return !waits
	case callInside:
		return waits && (len(r.held) > maxHeld || r.unflushed.Open() > maxOpen)
	case actOutside: // also that the call has begun
		return true
	}
	return waits
}

// before waits for the disk, where the events so far must count before what is next.
func (r *recorder) before(ctx context.Context, n next) error {
	if !r.counts(n) {
		return nil
	}
	return r.settle(ctx)
}

// event completes an event of the run, records it, and passes it to the caller or holds it.
func (r *recorder) event(ctx context.Context, e Event) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	e.ID, e.RunID = newID(), r.store.run
	counts := r.counts(anEvent)
	if !counts && e.ToolResult != nil {
		e.Timestamp = r.store.now()
	} else if err := r.write(ctx, &e); err != nil {
		return err
	}
	if !counts {
		r.held = append(r.held, e)
		return nil
	}
	return r.pass(e)
}

// remember records what was learned of the model since the run's setting was written.
func (r *recorder) remember(ctx context.Context, s RunSetting, clean Redactor) error {
	if len(s.Rules) == r.rules && s.Window == r.window {
		return nil
	}
	r.rules, r.window = len(s.Rules), s.Window
	return r.store.updateSetting(ctx, s, clean)
}

// write records an event.
func (r *recorder) write(ctx context.Context, e *Event) error {
	err := r.store.event(ctx, e)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err == nil && r.adopting {
		r.adopting = false
		err = r.store.adopted()
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
