package page

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
)

// runs lists runs.
func (p *page) runs(ctx context.Context, d *doc, limit int) {
	list, more, err := p.Runs.List(ctx, limit)
	if err != nil {
		unread(d, err)
		return
	}
	if len(list) == 0 {
		d.add(`<p id="none-runs">No runs are recorded. <code>% %</code> begins one.</p>`, p.Program, p.Begin)
		return
	}
	d.add(`<ul class="rows" id="runs" data-list>`)
	for _, r := range list {
		query := cmp.Or(line(r.Query), "Run "+r.ID)
		d.add(`<li id="run-%"><a class="what" href="%/runs/%">%</a> `, r.ID, markup(p.guard.base), escape(r.ID), query)
		state(d, r)
		d.add(`<p class="meta">% · `, r.Expert)
		spent(d, r)
		if r.Holder != "" {
			d.add(` · on %`, r.Holder)
		}
		d.add(` · %`, r.Updated)
		if r.Problem != "" {
			d.add(` · <span class="bad">%</span>`, r.Problem)
		}
		d.add("</p></li>\n")
	}
	d.add(`</ul>`)
	announce(d, "runs", line(list[0].Query)+": "+list[0].State)
	p.older(d, "runs", len(list), more, false, "runs")
}

// state shows how a run is.
func state(d *doc, r Run) {
	class := markup("state")
	switch {
	case r.Live:
		class = "state live"
	case r.Failed:
		class = "state bad"
	}
	d.add(`<span class="%">%</span>`, class, r.State)
}

// spent shows how far a run is, and what it cost.
func spent(d *doc, r Run) {
	d.add(`step % · % tokens`, r.Step, r.Tokens)
	if r.Cost != "" {
		d.add(` · %`, r.Cost)
	}
}

// run shows a run with its events.
func (p *page) run(ctx context.Context, v *view, id string, q query) {
	r, events, before, err := p.Runs.Run(ctx, id, q.items())
	d := &v.main
	if err != nil {
		v.status = http.StatusNotFound
		d.add(`<h1>Run %</h1>`, id)
		unread(d, err)
		return
	}
	query, whole := cut(r.Query, maxText, maxLines)
	d.add(`<h1>Run of %</h1><div id="now" role="status" data-live><p>`, r.Expert)
	state(d, r)
	d.add(` `)
	spent(d, r)
	if len(events) > 0 {
		d.add(` <span class="sr">· %</span>`, events[len(events)-1].What)
	}
	d.add(`</p></div><p class="words query">%</p>`, query)
	if !whole {
		d.add(`<p class="cut">The query is cut.</p>`)
	}
	d.add(`<div id="facts" data-live><dl><dt>Run</dt><dd><code>%</code></dd><dt>Model</dt><dd>%</dd><dt>Began</dt><dd>%</dd><dt>Last active</dt><dd>%</dd>`,
		r.ID, r.Model, r.Started, r.Updated)
	if r.Holder != "" {
		verb := "Runs"
		if !r.Live {
			verb = "Ran"
		}
		d.add(`<dt>% on</dt><dd>%</dd>`, verb, r.Holder)
	}
	d.add(`</dl></div><div id="report" data-live>`)
	if last := len(events) - 1; last >= 0 && events[last].Report {
		d.add(`<h2>Report</h2>`)
		said(d, events[last].Words, events[last].More)
	}
	d.add(`</div><div id="take-back" data-live>`)
	if q.refused != nil {
		d.add(`<p class="notice bad" role="alert" tabindex="-1">Nothing was undone: %</p>`, q.refused.Error())
	}
	if q.done && q.refused == nil {
		d.add(`<p class="notice good" role="status" tabindex="-1">Done: the changes of this run are undone. Those are changes too, and can be redone.</p>`)
	}
	if !r.Live && !q.done && slices.ContainsFunc(events, func(e Event) bool { return len(e.Changes) > 0 }) {
		p.all(d, "runs", r.ID, "run", "Undo this run")
	}
	d.add(`</div><div id="problems" data-live>`)
	if r.Problem != "" {
		d.add(`<p class="notice bad">%</p>`, r.Problem)
	}
	if before > 0 {
		d.add(`<p class="cut">% earlier events are not shown`, before)
		if !q.more {
			d.add(`: <a href="%/runs/%?more">show %</a>`, markup(p.guard.base), escape(r.ID), min(before, manyItems-usualItems))
		}
		d.add(`.</p>`)
	}
	d.add(`</div><h2 id="h-events">What happened</h2><ol class="events" id="events" data-list data-follow aria-labelledby="h-events">`)
	for _, e := range events {
		p.event(d, e)
	}
	d.add(`</ol>`)
}

// said shows what a model wrote.
func said(d *doc, words, more string) {
	head, whole := cut(strings.TrimSpace(words), maxText, maxLines)
	marked(d, head)
	if !whole {
		rest(d, more)
	}
}

// event shows what happened.
func (p *page) event(d *doc, e Event) {
	class := markup("event")
	if e.Failed {
		class = "event failed"
	}
	d.add(`<li id="e-%" class="%"><div class="head"><h3>Step % · %</h3><p class="meta">%`, e.ID, class, e.Step, e.What, e.Time)
	for _, c := range e.Changes {
		d.add(` · <a href="%/changes/%">change %</a>`, markup(p.guard.base), escape(c), c)
	}
	d.add(`</p></div>`)
	if words := strings.TrimSpace(e.Words); words != "" && !e.Report {
		said(d, words, e.More)
	}
	if e.Text != "" {
		folded(d, e.Text, e.More)
	}
	d.add("</li>\n")
}
