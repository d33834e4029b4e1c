package page

import (
	"context"
	"html/template"
	"slices"
)

// runs lists runs.
func (p *page) runs(ctx context.Context, limit int) template.HTML {
	list, more, err := p.Runs.List(ctx, limit)
	if err != nil {
		return p.problem(err)
	}
	return p.html("runs", struct {
		List  []Run
		Older older
	}{list, olderThan("runs", len(list), more, false)})
}

// run shows a run with its events.
func (p *page) run(ctx context.Context, v *view, id string, q query) {
	r, events, before, err := p.Runs.Run(ctx, id, q.items())
	if err != nil {
		p.unread(v, err)
		return
	}
	data := struct {
		Run
		Events   []Event
		Last     string // the last event
		Report   *Event
		Refused  string
		Done     bool
		Undoable bool
		All      buttonForAll
		Before   int // earlier events, not shown
		Earlier  int // how many of them a link shows
	}{Run: r, Events: events, Refused: q.refusal(), Done: q.done, Before: before,
		All: buttonForAll{"runs", r.ID, "run", "Undo this run"}}
	if len(events) > 0 {
		last := &events[len(events)-1]
		data.Last = last.What
		if last.Report {
			data.Report = last
		}
	}
	changed := slices.ContainsFunc(events, func(e Event) bool { return len(e.Changes) > 0 })
	data.Undoable = changed && !r.Live && !q.done
	if !q.more {
		data.Earlier = min(before, manyItems-usualItems)
	}
	v.Main = p.html("run", data)
}
