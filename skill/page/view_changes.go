package page

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"textskill/skill"
)

// changes lists changes.
func (p *page) changes(ctx context.Context, d *doc, limit int) {
	list, more, err := p.Changes.List(ctx, limit)
	if err != nil {
		unread(d, err)
		return
	}
	if len(list) == 0 {
		d.add(`<p id="none-changes">No changes are recorded.</p>`)
		return
	}
	p.rows(d, list)
	announce(d, "changes", "change "+list[0].ID+": "+list[0].What)
	p.older(d, "changes", len(list), more, more == skill.MaxMore, "changes")
}

// rows shows changes, a row for each.
func (p *page) rows(d *doc, list []Change) {
	d.add(`<ol class="rows" id="changes" data-list>`)
	for _, c := range list {
		d.add(`<li id="change-%"><a class="what" href="%/changes/%"><span class="id">%</span> %</a> `, c.ID, markup(p.guard.base), escape(c.ID), c.ID, c.What)
		p.undo(d, c, false)
		p.facts(d, c)
		d.add("</li>\n")
	}
	d.add(`</ol>`)
}

// search shows the field for words that changes are searched for.
func search(d *doc, base markup, find string) {
	d.add(`<form class="search" role="search" action="%/changes"><label for="find">Search</label> <input id="find" name="find" type="search" value="%"> <button>Search</button></form>`, base, find)
}

// found lists the changes in which all words occur: in what they did, or what made them.
func (p *page) found(ctx context.Context, d *doc, find string) {
	list, more, err := p.Changes.List(ctx, manyItems)
	if err != nil {
		unread(d, err)
		return
	}
	looked := len(list)
	list = slices.DeleteFunc(list, func(c Change) bool {
		text := strings.ToLower(c.ID + " " + c.What + " " + c.By + " " + c.Run)
		return slices.ContainsFunc(strings.Fields(strings.ToLower(find)), func(word string) bool { return !strings.Contains(text, word) })
	})
	cut := max(0, len(list)-usualItems)
	p.rows(d, list[:len(list)-cut])
	d.add(`<p class="meta" id="found" role="status" data-live>% of % changes`, len(list), looked)
	if cut > 0 {
		d.add(`; % of them are not shown`, cut)
	}
	if more > 0 {
		d.add(`; % older ones were not searched`, more)
	}
	d.add(`. <a href="%/changes">Show all</a></p>`, markup(p.guard.base))
}

// all shows a button that undoes several changes.
func (p *page) all(d *doc, path markup, id, field, label string) {
	if p.ReadOnly || p.Changes == nil {
		return
	}
	d.add(`<form method="post" action="%/%/%"><input type="hidden" name="%" value="%"><input type="hidden" name="%" value="1"><button>%</button></form>`,
		markup(p.guard.base), path, escape(id), keyField, p.guard.change, field, label)
}

// facts shows when a change was made and by what, in a line.
func (p *page) facts(d *doc, c Change) {
	d.add(`<p class="meta">%`, c.Time)
	if c.By != "" {
		d.add(` · %`, c.By)
	}
	if c.Run != "" {
		if p.Runs != nil {
			d.add(` · <a href="%/runs/%">run</a>`, markup(p.guard.base), escape(c.Run))
		}
		if c.Step > 0 {
			d.add(` · step %`, c.Step)
		}
	}
	if c.Idle {
		d.add(` · changed nothing`)
	}
	if c.NotKept != "" {
		d.add(` · <span class="bad">cannot be undone: %</span>`, c.NotKept)
	}
	d.add(`</p>`)
}

// undo shows a button that undoes a change, or that this was done.
func (p *page) undo(d *doc, c Change, force bool) {
	switch {
	case c.Undone:
		d.add(`<span class="state">undone</span>`)
		return
	case c.NotKept != "" || p.ReadOnly:
		return
	}
	verb, what := "Undo", "change "+c.ID
	if c.Of != "" {
		verb, what = "Redo", "change "+c.Of
	}
	d.add(`<form method="post" action="%/changes/%"><input type="hidden" name="%" value="%">`,
		markup(p.guard.base), escape(c.ID), keyField, p.guard.change)
	if force {
		verb += " anyway"
		d.add(`<input type="hidden" name="force" value="1">`)
	}
	d.add(`<button id="undo-%">% <span class="sr">%</span></button></form>`, c.ID, verb, what)
}

// change shows a change with its diff.
func (p *page) change(ctx context.Context, v *view, id string, q query) {
	c, err := p.Changes.Change(ctx, id)
	d := &v.main
	d.add(`<h1>Change %</h1>`, id)
	if err != nil {
		v.status = http.StatusNotFound
		unread(d, err)
		return
	}
	d.add(`<p class="what">%</p>`, c.What)
	refused, forcible := errors.AsType[*skill.UndoError](q.refused)
	forcible = forcible && refused.Force
	if q.refused != nil {
		d.add(`<div class="notice bad" role="alert" tabindex="-1"><p>Nothing was undone: %</p>`, q.refused.Error())
		if forcible {
			d.add(`<p>Do it anyway? What it replaces is saved first, as a change of its own.</p>`)
			p.undo(d, c, true)
		}
		d.add(`</div>`)
	} else if q.done && c.Of != "" && !c.Undone {
		d.add(`<p class="notice good" role="status" tabindex="-1">Done: change % is undone. That is a change too, and can be redone.</p>`, c.Of)
	} else if q.done && c.Undone {
		d.add(`<p class="notice good" role="status" tabindex="-1">Done: this change and all later ones are undone. Those are changes too, and can be redone.</p>`)
	}
	d.add(`<div id="facts" data-live>`)
	p.facts(d, c)
	d.add(`</div><div id="take-back" data-live>`)
	if !forcible {
		p.undo(d, c, false)
	}
	d.add(`</div><div id="since">`)
	p.all(d, "changes", id, "since", "Undo this and all later changes")
	d.add(`</div><h2>What it did</h2>`)
	if q.stream {
		return // what it did stays as it is
	}
	diff, err := p.Changes.Diff(ctx, id)
	if err != nil {
		unread(d, err)
		return
	}
	difference(d, "Diff of change "+id, diff, p.Program+" diff "+id, maxDiff, maxDiffs)
}
