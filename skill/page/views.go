package page

import (
	"context"
	"net/http"
	"slices"
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
	tabs := p.tabs()
	i := slices.IndexFunc(tabs, func(t tab) bool { return string(t.path) == section })
	if i < 0 || one && section == "" {
		return missing()
	}
	t := tabs[i]
	v = view{status: http.StatusOK, title: t.name, tab: t.path, live: q.live(), every: t.every}
	switch {
	case !one:
		limit := q.items()
		if section == "tests" { // which has no link to more of it
			limit = manyItems
		}
		v.main.add(`<h1>%</h1>`, t.name)
		if section == "changes" {
			search(&v.main, markup(p.guard.base), q.find)
		}
		if section == "changes" && q.find != "" {
			p.found(ctx, &v.main, q.find)
			break
		}
		t.list(ctx, &v.main, limit)
	case section == "runs":
		v.title = "Run " + id
		p.run(ctx, &v, id, q)
	case section == "changes":
		v.title = "Change " + id
		p.change(ctx, &v, id, q)
	case section == "servers":
		v.title = "Server " + id
		p.server(ctx, &v, id)
	default:
		return missing()
	}
	return v
}

// overview shows the first of everything.
func (p *page) overview(ctx context.Context, d *doc, _ int) {
	for _, t := range p.tabs()[1:] {
		d.add(`<section aria-labelledby="h-%"><h2 id="h-%">%</h2>`, t.path, t.path, t.name)
		t.list(ctx, d, fewItems)
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

// older ends a list that is cut.
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
