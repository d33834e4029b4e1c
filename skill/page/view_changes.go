package page

import (
	"context"
	"errors"
	"html/template"
	"slices"
	"strings"

	"textskill/skill"
)

// changes lists changes.
func (p *page) changes(ctx context.Context, limit int) template.HTML {
	list, more, err := p.Changes.List(ctx, limit)
	if err != nil {
		return p.problem(err)
	}
	return p.html("changes", struct {
		List  []Change
		Older older
	}{list, olderThan("changes", len(list), more, more == skill.MaxMore)})
}

// found lists the changes that contain all words of find, in their texts or IDs.
func (p *page) found(ctx context.Context, find string) template.HTML {
	list, more, err := p.Changes.List(ctx, manyItems)
	if err != nil {
		return p.problem(err)
	}
	searched := len(list)
	words := strings.Fields(strings.ToLower(find))
	list = slices.DeleteFunc(list, func(c Change) bool {
		text := strings.ToLower(c.ID + " " + c.What + " " + c.By + " " + c.Run)
		return slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
	})
	cut := max(0, len(list)-usualItems)
	return p.html("found", struct {
		List                       []Change
		Found, Searched, Cut, More int
	}{list[:len(list)-cut], len(list), searched, cut, more})
}

// A button undoes a change, or shows that the change is undone. A button without a verb is hidden.
type button struct {
	ID, Verb, What string
	Undone, Force  bool
}

func (p *page) button(c Change, force bool) button {
	b := button{ID: c.ID, Undone: c.Undone, Force: force}
	switch {
	case c.Undone || c.NotKept != "" || p.ReadOnly:
		return b
	case c.Of != "":
		b.Verb, b.What = "Redo", "change "+c.Of
	default:
		b.Verb, b.What = "Undo", "change "+c.ID
	}
	if force {
		b.Verb += " anyway"
	}
	return b
}

// A buttonForAll undoes several changes.
type buttonForAll struct{ Section, ID, Field, Label string }

// change shows a change with its diff.
func (p *page) change(ctx context.Context, v *view, id string, q query) {
	c, err := p.Changes.Change(ctx, id)
	if err != nil {
		p.unread(v, err)
		return
	}
	refused, ok := errors.AsType[*skill.UndoError](q.refused)
	data := struct {
		Change
		Refused  string
		Forcible bool // force would undo the change
		Done     bool
		Since    buttonForAll
		Diff     *diff
		Problem  string
	}{Change: c, Refused: q.refusal(), Forcible: ok && refused.Force, Done: q.done,
		Since: buttonForAll{"changes", id, "since", "Undo this and all later changes"}}
	if !q.stream { // the diff never changes
		text, err := p.Changes.Diff(ctx, id)
		if err != nil {
			data.Problem = err.Error()
		} else {
			data.Diff = difference("Diff of change "+id, text, p.Program+" diff "+id, maxDiff, maxDiffs)
		}
	}
	v.Main = p.html("change", data)
}
