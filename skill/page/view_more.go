package page

import (
	"context"
	"html/template"
)

// trials lists trials, with their diffs.
func (p *page) trials(ctx context.Context, limit int) template.HTML {
	list, err := p.Trials.List(ctx)
	if err != nil {
		return p.problem(err)
	}
	type shown struct {
		Trial
		Shows *diff
	}
	var all []shown
	for _, t := range list[:min(limit, len(list))] {
		all = append(all, shown{t, difference("Diff of trial "+t.ID, t.Diff, p.Program+" keep "+t.ID, maxText, maxLines)})
	}
	return p.html("trials", struct {
		List  []shown
		Older older
	}{all, olderThan("trials", len(all), len(list)-len(all), false)})
}

// servers lists servers.
func (p *page) servers(ctx context.Context, _ int) template.HTML {
	list, err := p.Servers.List(ctx)
	if err != nil {
		return p.problem(err)
	}
	return p.html("servers", list)
}

// server shows a server with the end of its log.
func (p *page) server(ctx context.Context, v *view, id string) {
	s, log, more, err := p.Servers.Log(ctx, id)
	if err != nil {
		p.unread(v, err)
		return
	}
	if len(log) > maxDiff {
		log, more = log[len(log)-maxDiff:], true
	}
	v.Main = p.html("server", struct {
		Server
		End  long
		More bool
	}{s, long(log), more})
}

// A shownResult is a result with its diff.
type shownResult struct {
	Result
	Diff *diff // nil to show only the command that prints the diff
}

// tests shows the results of golden files, failed files first.
func (p *page) tests(ctx context.Context, limit int) template.HTML {
	t, err := p.Tests.Results(ctx)
	if err != nil {
		return p.problem(err)
	}
	data := struct {
		TestRun
		Failed, Left int
		Shown        []shownResult
	}{TestRun: t, Failed: len(t.Results) - t.Passed}
	for _, ok := range []bool{false, true} {
		for _, r := range t.Results {
			if r.OK != ok || len(data.Shown) == limit {
				continue
			}
			s := shownResult{Result: r}
			if !ok && len(data.Shown) < usualItems {
				s.Diff = difference("Diff of "+r.File, r.Text, r.More, maxText, maxLines)
			}
			data.Shown = append(data.Shown, s)
		}
	}
	data.Left = len(t.Results) - len(data.Shown)
	return p.html("tests", data)
}
