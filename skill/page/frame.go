package page

import (
	"context"
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
	status int
	title  string
	tab    markup // the path of the link in the navigation that is current
	live   string // path of the stream of its changes; "" if it does not change
	every  time.Duration
	main   doc
}

// escape returns text as a part of a path.
func escape(text string) string { return url.PathEscape(text) }

func missing() view {
	v := view{status: http.StatusNotFound, title: "Not found"}
	v.main.add(`<h1>Not found</h1><p>There is nothing here. The links above lead to what there is.</p>`)
	return v
}

// frame writes a whole page.
func (p *page) frame(d *doc, v view) {
	base := markup(p.guard.base)
	d.add(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>% · %</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<link rel="icon" href="%/icon.svg"><link rel="stylesheet" href="%/page.css"><script src="%/page.js" defer></script></head>
`, v.title, p.Title, base, base, base)
	if v.live != "" {
		d.add(`<body data-stream="%/%">`, base, v.live)
	} else {
		d.add(`<body>`)
	}
	d.add(`<a class="skip" href="#main">Skip to the content</a>
<header><p class="of"><b id="program">%</b> <code>%</code></p><nav aria-label="Views"><ul>`, p.Program, p.Title)
	for _, t := range p.tabs() {
		current := "false"
		if t.path == v.tab {
			current = "page"
		}
		d.add(`<li><a href="%/%" aria-current="%">%</a></li>`, base, t.path, current, t.name)
	}
	d.add(`</ul></nav></header>
<main id="main" tabindex="-1">%</main>
<footer><p id="stream" role="status">`, markup(v.main.b.String()))
	if v.live != "" {
		d.add(`<noscript>Reload the page to see what is new.</noscript>`)
	}
	d.add("</p></footer></body></html>\n")
}

// A tab is a link of the navigation, and the list that it leads to.
type tab struct {
	path  markup
	name  string
	every time.Duration
	list  func(ctx context.Context, d *doc, limit int) // also a part of the overview
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
