package page

import (
	"context"
	"html/template"
	"net/http"
	"net/url"
	"time"
)

// A query says what is to be seen.
type query struct {
	path    string // below the folder of the page, like "runs/ID"
	more    bool   // more of a list than usual
	done    bool   // the change was just made
	find    string // only changes with these words; "" for all
	stream  bool   // only what may change is needed
	refused error  // why the change was not undone
}

// why returns the reason of a refusal, "" without one.
func (q query) why() string {
	if q.refused == nil {
		return ""
	}
	return q.refused.Error()
}

// live returns the path of the stream of what is seen.
func (q query) live() string {
	at := "live/" + (&url.URL{Path: q.path}).EscapedPath()
	switch {
	case q.find != "":
		at += "?find=" + url.QueryEscape(q.find)
	case q.more:
		at += "?more"
	}
	return at
}

// A view is what main holds.
type view struct {
	Title string
	Tab   string // the path of the link in the navigation that is current
	Live  string // the path of the stream of its changes; "" if it does not change
	Main  template.HTML

	status int
	every  time.Duration // between two looks at what may have changed
}

// escape returns text as a part of a path.
func escape(text string) string { return url.PathEscape(text) }

func (p *page) missing() view {
	return view{status: http.StatusNotFound, Title: "Not found", Main: p.html("missing", nil)}
}

// unread is the view of what cannot be shown.
func (p *page) unread(v *view, err error) {
	v.status = http.StatusNotFound
	v.Main = p.html("problem of", struct{ Title, Problem string }{v.Title, err.Error()})
}

// problem shows in a list why it cannot be read.
func (p *page) problem(err error) template.HTML { return p.html("problem", err.Error()) }

// frame returns a whole page.
func (p *page) frame(v view) template.HTML {
	return p.html("page", struct {
		Config
		Tabs []tab
		View view
	}{p.Config, p.tabs(), v})
}

// A tab is a link of the navigation, and the list that it leads to.
type tab struct {
	Path, Name string
	every      time.Duration
	list       func(ctx context.Context, limit int) template.HTML // also a part of the overview
}

// tabs returns the links of the navigation. The first one is the overview.
func (p *page) tabs() []tab {
	list := []tab{{"", "Overview", later, p.overview}}
	if p.Runs != nil {
		list = append(list, tab{"runs", "Runs", soon, p.runs})
	}
	if p.Changes != nil {
		list = append(list, tab{"changes", "Changes", soon, p.changes})
	}
	if p.Servers != nil {
		list = append(list, tab{"servers", "Servers", later, p.servers})
	}
	if p.Tests != nil {
		list = append(list, tab{"tests", "Tests", soon, p.tests})
	}
	return list
}
