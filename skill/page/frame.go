package page

import (
	"context"
	"html/template"
	"net/http"
	"net/url"
	"time"
)

// A query is a request for a view.
type query struct {
	path    string // below the folder of the page, like "runs/ID"
	more    bool   // a longer list than usual
	done    bool   // the undo was just made
	find    string // only changes with these words; "" for all
	stream  bool   // for a stream: leave out parts that never change
	refused error  // why the undo was refused
}

// refusal returns the text of refused, or "".
func (q query) refusal() string {
	if q.refused == nil {
		return ""
	}
	return q.refused.Error()
}

// live returns the path of the stream of the view.
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

// A view is the content of the element main.
type view struct {
	Title string
	Tab   string // the path of the current link in the navigation
	Live  string // the path of the stream; "" for a view that never changes
	Main  template.HTML

	status int
	every  time.Duration // time between two updates of the stream
}

// escape escapes a text as a part of a path.
func escape(text string) string { return url.PathEscape(text) }

func (p *page) missing() view {
	return view{status: http.StatusNotFound, Title: "Not found", Main: p.html("missing", nil)}
}

// unread makes v the view of an error.
func (p *page) unread(v *view, err error) {
	v.status = http.StatusNotFound
	v.Main = p.html("problem of", struct{ Title, Problem string }{v.Title, err.Error()})
}

// problem returns an error in place of a list.
func (p *page) problem(err error) template.HTML { return p.html("problem", err.Error()) }

// frame returns a whole page.
func (p *page) frame(v view) template.HTML {
	return p.html("page", struct {
		Config
		Tabs []tab
		View view
	}{p.Config, p.tabs(), v})
}

// A tab is a link of the navigation, with its list.
type tab struct {
	Path, Name string
	every      time.Duration
	list       func(ctx context.Context, limit int) template.HTML // the overview also calls it
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
	if p.Trials != nil {
		list = append(list, tab{"trials", "Trials", later, p.trials})
	}
	if p.Servers != nil {
		list = append(list, tab{"servers", "Servers", later, p.servers})
	}
	if p.Tests != nil {
		list = append(list, tab{"tests", "Tests", soon, p.tests})
	}
	return list
}
