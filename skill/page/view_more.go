package page

import (
	"context"
	"net/http"
)

// servers lists servers.
func (p *page) servers(ctx context.Context, d *doc, _ int) {
	list, err := p.Servers.List(ctx)
	if err != nil {
		unread(d, err)
		return
	}
	if len(list) == 0 {
		d.add(`<p id="none-servers">No servers were started in this workspace.</p>`)
		return
	}
	d.add(`<ul class="rows" id="servers" data-list>`)
	for _, s := range list {
		d.add(`<li id="server-%"><a class="what" href="%/servers/%"><code>%</code></a> `, s.ID, markup(p.guard.base), escape(s.ID), line(s.Command))
		serverState(d, s)
		d.add("</li>\n")
	}
	d.add(`</ul>`)
	announce(d, "servers", list[0].State)
}

// serverState shows how a server is.
func serverState(d *doc, s Server) {
	if s.Running {
		d.add(`<span class="state live">running</span>`)
	} else {
		d.add(`<span class="state">ended</span>`)
	}
	d.add(`<p class="meta">% · since %</p>`, s.State, s.Started)
}

// server shows a server with the end of its log.
func (p *page) server(ctx context.Context, v *view, id string) {
	s, log, more, err := p.Servers.Log(ctx, id)
	d := &v.main
	d.add(`<h1>Server %</h1>`, id)
	if err != nil {
		v.status = http.StatusNotFound
		unread(d, err)
		return
	}
	command, _ := cut(s.Command, maxText, maxLines)
	d.add(`<pre class="text">
%</pre><div id="now" role="status" data-live>`, command)
	serverState(d, s)
	d.add(`</div><h2>Log</h2><div id="log" data-live data-follow>`)
	text := log
	if len(text) > maxDiff {
		text, more = text[len(text)-maxDiff:], true
	}
	if more {
		d.add(`<p class="cut">This is the end of the log; all of it is in <code>%</code>.</p>`, s.Log)
	}
	if text == "" {
		d.add(`<p>It has printed nothing.</p>`)
	} else {
		d.add(`<pre class="text">
%</pre>`, long(text))
	}
	d.add(`</div>`)
}

// tests shows how golden files did, those that failed first.
func (p *page) tests(ctx context.Context, d *doc, limit int) {
	t, err := p.Tests.Results(ctx)
	if err != nil {
		unread(d, err)
		return
	}
	failed := len(t.Results) - t.Passed
	d.add(`<div id="sum" role="status" data-live><p>`)
	switch {
	case !t.Done:
		d.add(`<span class="state live">not finished</span> `)
	case failed == 0:
		d.add(`<span class="state good">passed</span> `)
	default:
		d.add(`<span class="state bad">failed</span> `)
	}
	d.add(`% passed, % failed</p><p class="meta"><code>%</code> · %</p></div><ul class="rows" id="results" data-list>`, t.Passed, failed, t.Source, t.Time)
	shown := 0
	for _, ok := range []bool{false, true} {
		for _, r := range t.Results {
			if r.OK != ok || shown == limit {
				continue
			}
			shown++
			d.add(`<li id="test-%"><span class="what">%</span> `, r.File, r.File)
			if r.OK {
				d.add(`<span class="state good">passed</span>`)
			} else {
				d.add(`<span class="state bad">failed</span>`)
				if shown <= usualItems {
					difference(d, "Diff of "+r.File, r.Text, r.More, maxText, maxLines)
				} else {
					rest(d, r.More)
				}
			}
			d.add("</li>\n")
		}
	}
	d.add(`</ul>`)
	if more := len(t.Results) - shown; more > 0 {
		d.add(`<p>% more files are not shown.</p>`, more)
	}
}
