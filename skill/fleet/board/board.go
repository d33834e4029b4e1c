// Package board shows the runs of a fleet on a page. A [Board] reads states and stored events,
// and listens to live events. It keeps the last events of a few runs in memory.
package board

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"textskill/skill/agent"
	"textskill/skill/fleet"
	"textskill/skill/page"
	"textskill/skill/page/runs"
)

const (
	listEvery = 2 * time.Second // how often List reads all states
	maxOpen   = 8               // runs with events in memory
	maxEvents = 1000            // events in memory of a run
	maxBytes  = 8 << 20         // bytes of their texts
	maxLive   = 50              // events of a run that are not stored yet
	maxText   = 8 << 10         // bytes of a text that a page shows
)

// Of returns the runs of a tenant; "" means all tenants. The caller closes the Board.
func Of(p fleet.Plane, tenant string) *Board {
	return &Board{plane: p, tenant: tenant, open: map[string]*run{}}
}

// A Board implements [page.Runs] for a fleet.
type Board struct {
	plane  fleet.Plane
	tenant string

	listing sync.Mutex
	listed  time.Time
	states  []fleet.Run // the last active run first

	mu   sync.Mutex
	open map[string]*run
}

// Close stops listening to live events.
func (b *Board) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, r := range b.open {
		r.stop()
		delete(b.open, id)
	}
}

// List implements [page.Runs].
func (b *Board) List(ctx context.Context, limit int) (list []page.Run, more int, err error) {
	b.listing.Lock()
	defer b.listing.Unlock()
	if time.Since(b.listed) > listEvery {
		states, err := fleet.Runs(ctx, b.plane, b.tenant)
		if err != nil {
			return nil, 0, err
		}
		slices.SortFunc(states, func(x, y fleet.Run) int {
			return cmp.Or(y.Updated.Compare(x.Updated), cmp.Compare(x.ID, y.ID))
		})
		b.states, b.listed = states, time.Now()
	}
	for _, r := range b.states[:min(limit, len(b.states))] {
		list = append(list, pageRun(r))
	}
	return list, len(b.states) - len(list), nil
}

// pageRun returns a run in the form of a page.
func pageRun(r fleet.Run) page.Run {
	s := page.Run{
		ID: r.ID, Expert: cmp.Or(r.Expert, "calls to "+r.Workspace), Model: r.Model, Query: r.Query,
		State: string(r.Status), Live: r.Status == fleet.Running,
		Failed: r.Status == fleet.Failed, Step: r.Step, Tokens: r.Tokens, Started: r.Submitted,
		Updated: r.Updated, Holder: r.Worker,
	}
	if r.Cancelled && !r.Status.Over() {
		s.State = "is being cancelled"
	}
	if r.Cost > 0 {
		s.Cost = fmt.Sprintf("$%.4f", r.Cost)
	}
	if r.Status.Over() {
		s.Problem = r.Reason
	}
	return s
}

// Run implements [page.Runs].
func (b *Board) Run(ctx context.Context, id string, limit int) (s page.Run, events []page.Event, before int,
	err error) {
	state, err := b.plane.Run(ctx, id)
	if err != nil {
		return s, nil, 0, fmt.Errorf("run %s: %w", id, err)
	}
	s = pageRun(state)
	r := b.openRun(id)
	r.reading.Lock()
	defer r.reading.Unlock()
	if err := r.read(ctx, b.plane); err != nil {
		return s, nil, 0, err
	}
	if state.Status.Over() {
		r.stop()
	} else if err := r.listen(b.plane); err != nil {
		s.Problem = "the events of the current step are not shown: " + err.Error()
	}
	r.mu.Lock()
	live := slices.Clone(r.live)
	r.mu.Unlock()
	before = r.shown - len(r.events)
	for _, e := range r.events[max(0, len(r.events)-max(0, limit-len(live))):] {
		events = append(events, e.page(ctx, b.plane, id))
	}
	before += len(r.events) - len(events)
	events = append(events, live...)
	for i := range events {
		if events[i].Text == state.Query {
			events[i].Text = ""
		}
	}
	return s, events, before, nil
}

// openRun returns the events in memory of a run. It forgets the run that nobody has looked at for
// the longest time if there are too many.
func (b *Board) openRun(id string) *run {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.open[id]
	if r == nil {
		for len(b.open) >= maxOpen {
			oldest := slices.MinFunc(slices.Collect(maps.Values(b.open)),
				func(x, y *run) int { return x.looked.Compare(y.looked) })
			oldest.stop()
			delete(b.open, oldest.id)
		}
		r = &run{id: id}
		b.open[id] = r
	}
	r.looked = time.Now()
	return r
}

// A run is the last events of a run.
type run struct {
	id      string
	looked  time.Time // the last call of openRun; Board.mu guards it
	reading sync.Mutex

	events []event
	bytes  int    // of the texts of events
	last   uint64 // sequence number of the last event that was read
	shown  int    // how many events read so far a page shows, forgotten events included

	mu        sync.Mutex
	live      []page.Event // events that are not stored yet
	words     string       // of the model, after live
	listening func()       // stops listening; nil if the run does not listen
	ended     bool
}

// An event is an event of a run in the form of a page. If stored has a Blob, page fetches it.
type event struct {
	stored fleet.Event
	page.Event
}

// read reads the events that were stored since the last call.
func (r *run) read(ctx context.Context, p fleet.Plane) error {
	for e, err := range p.Events(ctx, r.id, r.last, false) {
		if err != nil {
			return err
		}
		r.last = e.Sequence
		if e.Kind == fleet.Agent {
			r.mu.Lock()
			r.live, r.words = nil, ""
			r.mu.Unlock()
		}
		next, ok := decode(e)
		if !ok {
			continue
		}
		r.shown++
		r.events = append(r.events, next)
		for r.bytes += next.size(); len(r.events) > maxEvents || r.bytes > maxBytes; r.events = r.events[1:] {
			r.bytes -= r.events[0].size()
			r.events[0] = event{}
		}
	}
	return nil
}

func (e *event) size() int { return len(e.Text) + len(e.Words) + len(e.What) + len(e.stored.Blob) }

// decode returns an event in the form of a page, and whether a page shows it.
func decode(e fleet.Event) (event, bool) {
	own := page.Event{ID: strconv.FormatUint(e.Sequence, 10), Time: e.Time, Step: e.Step,
		What: strings.Clone(cmp.Or(e.Text, string(e.Kind)))}
	switch {
	case e.Kind != fleet.Agent:
		own.Failed = e.Kind == fleet.Ended && strings.HasPrefix(e.Text, string(fleet.Failed))
		return event{Event: own}, true
	case e.Blob != "":
		return event{e, own}, true
	}
	var a agent.Event
	if err := json.Unmarshal(e.Agent, &a); err != nil {
		own.What, own.Text, own.Failed = "an event that cannot be read", err.Error(), true
		return event{Event: own}, true
	}
	return event{Event: ofExpert(a, own)}, runs.Event(a).What != ""
}

// ofExpert returns an expert's event in the form of a page. The ID and the time are from own.
func ofExpert(a agent.Event, own page.Event) page.Event {
	s := runs.Event(a)
	s.ID, s.Time, s.Step, s.Changes = own.ID, own.Time, own.Step, nil
	s.Text, s.Words = clipped(s.Text), clipped(s.Words)
	s.More = "skill-fleet runs --json --follow " + a.RunID
	return s
}

// page returns an event in the form of a page. It fetches a blob each time, to save memory.
func (e *event) page(ctx context.Context, p fleet.Plane, run string) page.Event {
	if e.stored.Blob == "" {
		return e.Event
	}
	a, err := fleet.AgentEvent(ctx, p, run, e.stored)
	if err != nil {
		shown := e.Event
		shown.What, shown.Text, shown.Failed = "a large event that cannot be read", err.Error(), true
		return shown
	}
	return ofExpert(a, e.Event)
}

// clipped returns the beginning of a text, without keeping the rest in memory.
func clipped(s string) string { return strings.Clone(s[:min(len(s), maxText+1)]) }

// listen starts to collect events that are not stored yet.
func (r *run) listen(p fleet.Plane) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.listening != nil || r.ended {
		return nil
	}
	stop, err := p.Listen(fleet.Live+r.id, r.hear)
	r.listening = stop
	return err
}

// hear adds an event that is not stored yet, or words of the model.
func (r *run) hear(data []byte) {
	var e fleet.Event
	if json.Unmarshal(data, &e) != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.Kind == fleet.Words {
		if len(r.words)+len(e.Text) > maxText {
			return
		}
		r.words += e.Text
		says := page.Event{ID: "live-words", Time: e.Time, Step: e.Step, What: "says", Words: r.words}
		if n := len(r.live); n > 0 && r.live[n-1].ID == says.ID {
			r.live[n-1] = says
		} else if n < maxLive {
			r.live = append(r.live, says)
		}
		return
	}
	e.Sequence = 0
	next, ok := decode(e)
	if n := len(r.live); n > 0 && r.live[n-1].ID == "live-words" {
		r.live = r.live[:n-1] // the event has the words
	}
	r.words = ""
	if ok && len(r.live) < maxLive {
		next.ID = fmt.Sprintf("live-%d", len(r.live))
		r.live = append(r.live, next.Event)
	}
}

// stop stops listening.
func (r *run) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	r.live = nil
	if r.listening != nil {
		r.listening()
		r.listening = nil
	}
}
