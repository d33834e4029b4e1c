package fleet

import (
	"context"
	"encoding/json"
	"iter"
	"strings"

	"textskill/skill/agent"
)

// AgentEvent returns the expert's event in an Event of kind [Agent]. It fetches large events.
func AgentEvent(ctx context.Context, p Plane, run string, e Event) (a agent.Event, err error) {
	data := e.Agent
	for sum := range strings.FieldsSeq(e.Blob) {
		part, err := EventBlobs(p, run).Get(ctx, sum)
		if err != nil {
			return a, err
		}
		data = append(data, part...)
	}
	return a, json.Unmarshal(data, &a)
}

// Follow returns the stored events of a run, then further events until the run has ended or
// ctx is done. If live is not nil, another goroutine calls it with events that are not stored
// yet, and with the model's words (kind [Words]). Follow returns these events again when they
// are stored, but not the words.
func Follow(ctx context.Context, p Plane, run string, live func(Event)) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if live != nil {
			stop, err := p.Listen(Live+run, func(data []byte) {
				var e Event
				if json.Unmarshal(data, &e) == nil {
					live(e)
				}
			})
			if err != nil {
				yield(Event{}, err)
				return
			}
			defer stop()
		}
		for e, err := range p.Events(ctx, run, 0, true) {
			if !yield(e, err) || err != nil || e.Kind == Ended {
				return
			}
		}
	}
}
