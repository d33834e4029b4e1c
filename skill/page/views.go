package page

import (
	"context"
	"net/http"
	"strings"
	"time"
)

// How much of a list is shown, on the overview, usually, and of those who want more.
const (
	fewItems   = 5
	usualItems = 100
	manyItems  = 2000
)

// How often views are written again while they are looked at.
const (
	soon  = 500 * time.Millisecond
	later = 2 * time.Second // servers are asked whether they listen
)

// items returns how many items of a list are asked for.
func (q query) items() int {
	if q.more {
		return manyItems
	}
	return usualItems
}

// view returns what a path shows. No more than maxViews are written at a time.
func (p *page) view(ctx context.Context, q query) (v view) {
	select {
	case p.views <- struct{}{}:
		defer func() { <-p.views }()
	case <-ctx.Done():
		return missing() // to nobody
	}
	section, id, one := strings.Cut(q.path, "/")
	v = view{status: http.StatusOK, live: q.live(), every: soon}
	switch {
	case q.path == "":
		v.title, v.every = "Overview", later
		p.overview(ctx, &v.main)
		return v
	case section == "runs" && p.Runs != nil && !one:
		v.title, v.tab = "Runs", "runs"
		v.main.add(`<h1>Runs</h1>`)
		p.runs(ctx, &v.main, q.items())
	case section == "runs" && p.Runs != nil:
		v.title, v.tab = "Run "+id, "runs"
		p.run(ctx, &v, id, q)
	case section == "changes" && p.Changes != nil && !one:
		v.title, v.tab = "Changes", "changes"
		v.main.add(`<h1>Changes</h1>`)
		p.changes(ctx, &v.main, q.items())
	case section == "changes" && p.Changes != nil:
		v.title, v.tab = "Change "+id, "changes"
		p.change(ctx, &v, id, q)
	case section == "servers" && p.Servers != nil && !one:
		v.title, v.tab, v.every = "Servers", "servers", later
		v.main.add(`<h1>Servers</h1>`)
		p.servers(ctx, &v.main)
	case section == "servers" && p.Servers != nil:
		v.title, v.tab, v.every = "Server "+id, "servers", later
		p.server(ctx, &v, id)
	case section == "tests" && p.Tests != nil && !one:
		v.title, v.tab = "Tests", "tests"
		v.main.add(`<h1>Tests</h1>`)
		p.tests(ctx, &v.main, manyItems)
	default:
		return missing()
	}
	return v
}

// overview shows the first of everything.
func (p *page) overview(ctx context.Context, d *doc) {
	d.add(`<h1>Overview</h1>`)
	if p.Runs != nil {
		d.add(`<section aria-labelledby="h-runs"><h2 id="h-runs">Runs</h2>`)
		p.runs(ctx, d, fewItems)
		d.add(`</section>`)
	}
	if p.Changes != nil {
		d.add(`<section aria-labelledby="h-changes"><h2 id="h-changes">Changes</h2>`)
		p.changes(ctx, d, fewItems)
		d.add(`</section>`)
	}
	if p.Servers != nil {
		d.add(`<section aria-labelledby="h-servers"><h2 id="h-servers">Servers</h2>`)
		p.servers(ctx, d)
		d.add(`</section>`)
	}
	if p.Tests != nil {
		d.add(`<section aria-labelledby="h-tests"><h2 id="h-tests">Tests</h2>`)
		p.tests(ctx, d, fewItems)
		d.add(`</section>`)
	}
}

// unread shows why something cannot be shown.
func unread(d *doc, err error) {
	d.add(`<p class="notice bad">%</p>`, err.Error())
}

// announce says what a list begins with to those who do not see it change.
func announce(d *doc, list, first string) {
	d.add(`<p class="sr" id="new-%" role="status" data-live>%</p>`, list, first)
}

// older ends a list of which there is more.
func (p *page) older(d *doc, path markup, shown, more int, least bool, what string) {
	bound := ""
	if least {
		bound = "at least "
	}
	switch {
	case more == 0:
	case shown < usualItems:
		d.add(`<p><a href="%/%">%% more %</a></p>`, markup(p.guard.base), path, bound, more, what)
	case shown < manyItems:
		d.add(`<p><a href="%/%?more">Show %% more %</a></p>`, markup(p.guard.base), path, bound, min(more, manyItems-shown), what)
	default:
		d.add(`<p>Not shown: %% more %.</p>`, bound, more, what)
	}
}
