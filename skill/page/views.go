package page

import (
	"context"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"
)

// How many items of a list a view shows.
const (
	fewItems   = 5 // on the overview
	usualItems = 100
	manyItems  = 2000 // after a click on "Show more"
)

// How often a stream writes its view again.
const (
	soon  = 500 * time.Millisecond
	later = 2 * time.Second // for views that connect to servers
)

// items returns how many items of a list the view shows.
func (q query) items() int {
	if q.more {
		return manyItems
	}
	return usualItems
}

// view returns the view of a path. It writes at most maxViews views at a time.
func (p *page) view(ctx context.Context, q query) (v view) {
	select {
	case p.views <- struct{}{}:
		defer func() { <-p.views }()
	case <-ctx.Done():
		return p.missing() // the client has gone
	}
	section, id, single := strings.Cut(q.path, "/")
	tabs := p.tabs()
	i := slices.IndexFunc(tabs, func(t tab) bool { return t.Path == section })
	if i < 0 || single && section == "" {
		return p.missing()
	}
	t := tabs[i]
	v = view{status: http.StatusOK, Title: t.Name, Tab: t.Path, Live: q.live(), every: t.every}
	switch {
	case !single:
		v.Main = p.listing(ctx, t, q)
	case section == "runs":
		v.Title = "Run " + id
		p.run(ctx, &v, id, q)
	case section == "changes":
		v.Title = "Change " + id
		p.change(ctx, &v, id, q)
	case section == "servers":
		v.Title = "Server " + id
		p.server(ctx, &v, id)
	default:
		return p.missing()
	}
	return v
}

// A list is a list with its heading.
type list struct {
	Path, Name string
	Search     bool   // has a search form
	Find       string // the searched words
	List       template.HTML
}

// listing shows the list of a tab.
func (p *page) listing(ctx context.Context, t tab, q query) template.HTML {
	l := list{Path: t.Path, Name: t.Name, Search: t.Path == "changes", Find: q.find}
	switch {
	case l.Search && q.find != "":
		l.List = p.found(ctx, q.find)
	case t.Path == "tests": // the view has no link to more items
		l.List = t.list(ctx, manyItems)
	default:
		l.List = t.list(ctx, q.items())
	}
	return p.html("listing", l)
}

// overview shows the first items of all lists.
func (p *page) overview(ctx context.Context, _ int) template.HTML {
	var lists []list
	for _, t := range p.tabs()[1:] {
		lists = append(lists, list{Path: t.Path, Name: t.Name, List: t.list(ctx, fewItems)})
	}
	return p.html("overview", lists)
}

// older is the last line of a cut list. Path is a link to more items; "" for no link.
type older struct{ Path, Text string }

func olderThan(path string, shown, more int, least bool) older {
	count := fmt.Sprint(more)
	if shown >= usualItems && shown < manyItems {
		count = fmt.Sprint(min(more, manyItems-shown))
	}
	if least {
		count = "at least " + count
	}
	switch {
	case more == 0:
		return older{}
	case shown < usualItems:
		return older{path, count + " more " + path}
	case shown < manyItems:
		return older{path + "?more", "Show " + count + " more " + path}
	}
	return older{"", "Not shown: " + count + " more " + path + "."}
}
