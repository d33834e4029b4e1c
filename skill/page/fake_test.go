package page_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"textskill/skill"
	"textskill/skill/page"
)

// hostile is a text with markup and hidden characters.
const hostile = `</code></pre><script>document.title="owned"</script><img src=x onerror="document.title='owned'">" onmouseover="owned" '&amp; javascript:alert(1) ` + "\x1b[31m\x00\u202egnp.exe\u200b\xff end"

var then = time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)

// A fake has many items of each kind, all with hostile texts.
type fake struct {
	n      int
	text   string
	undone []string
	words  string // of the report of a run; "" for no report
}

func (f *fake) config() page.Config {
	return page.Config{Title: "/w/" + f.text, Token: "the-token", Runs: fakeRuns{f}, Changes: fakeChanges{f},
		Trials: fakeTrials{f}, Servers: fakeServers{f}, Tests: f}
}

type fakeRuns struct{ *fake }

func (f fakeRuns) run(i int) page.Run {
	return page.Run{ID: fmt.Sprintf("run%d", i), Expert: "expert" + f.text, Model: "gpt-4o" + f.text,
		Query: "Do this: " + f.text, State: "running", Live: i%2 == 0, Failed: i%3 == 0,
		Holder: "worker" + f.text, Step: i + 1, Tokens: 12345, Cost: "$0.1234", Started: then, Updated: then,
		Problem: f.text}
}

func (f fakeRuns) List(_ context.Context, limit int) (list []page.Run, more int, err error) {
	for i := range min(f.n, limit) {
		list = append(list, f.run(i))
	}
	return list, f.n - len(list), nil
}

func (f fakeRuns) Run(_ context.Context, id string, limit int) (page.Run, []page.Event, int, error) {
	if !strings.HasPrefix(id, "run") {
		return page.Run{}, nil, 0, errors.New("there is no run " + id)
	}
	var list []page.Event
	for i := range min(f.n, limit) {
		list = append(list, page.Event{ID: fmt.Sprint(i), Time: then, Step: i + 1, What: "calls " + f.text,
			Words: "I do that. " + f.text, Text: strings.Repeat(f.text+"\n", i), More: "skill log",
			Failed: i%3 == 1, Changes: []string{"7", f.text}})
	}
	if f.words != "" {
		list = append(list, page.Event{ID: "end", Time: then, What: "reports", Words: f.words, Report: true})
	}
	return f.run(0), list, f.n - len(list), nil
}

type fakeChanges struct{ *fake }

func (f fakeChanges) change(id string) page.Change {
	return page.Change{ID: id, Time: then, What: "write notes/" + f.text, By: "writeFile" + f.text,
		Run: "run1", Step: 3}
}

func (f fakeChanges) List(_ context.Context, limit int) (list []page.Change, more int, err error) {
	for i := range min(f.n, limit) {
		c := f.change(fmt.Sprint(f.n - i))
		switch i {
		case 0:
			c.Of = f.text
		case 1:
			c.Undone = true
		case 2:
			c.NotKept = f.text
		}
		list = append(list, c)
	}
	return list, f.n - len(list), nil
}

func (f fakeChanges) Change(_ context.Context, id string) (page.Change, error) {
	if id == "none" {
		return page.Change{}, errors.New("change none is not recorded")
	}
	return f.change(id), nil
}

func (f fakeChanges) Diff(context.Context, string) (string, error) {
	return "--- a\n+++ b\n@@ -1 +1 @@\n-" + f.text + "\n+" + f.text + "\n" +
		strings.Repeat(" line\n", 10*f.n), nil
}

func (f fakeChanges) UndoAll(_ context.Context, since, run string) error {
	f.undone = append(f.undone, "since "+since+", run "+run)
	if since+run == "refused" {
		return errors.New("somebody holds it" + f.text)
	}
	return nil
}

func (f fakeChanges) Undo(_ context.Context, id string, force bool) (string, error) {
	if id == "1" && !force {
		return "", &skill.UndoError{ID: "1", Path: "/" + f.text, Reason: "was changed since", Force: true}
	}
	f.undone = append(f.undone, id)
	return "99", nil
}

type fakeTrials struct{ *fake }

func (f fakeTrials) List(context.Context) (list []page.Trial, err error) {
	for i := range f.n {
		list = append(list, page.Trial{ID: fmt.Sprintf("t%d", i), Command: "make " + f.text, Files: i, Began: then,
			Diff: "--- a\n+++ a\n@@ -1 +1 @@\n-old\n+" + f.text + "\n"})
	}
	return list, nil
}

type fakeServers struct{ *fake }

func (f fakeServers) server(id string) page.Server {
	return page.Server{ID: id, Command: "python3 -m http.server " + f.text, State: "server listens " + f.text,
		Running: true, Started: then, Log: "/state/server.log" + f.text}
}

func (f fakeServers) List(context.Context) (list []page.Server, err error) {
	for i := range f.n {
		list = append(list, f.server(fmt.Sprintf("srv%d", i)))
	}
	return list, nil
}

func (f fakeServers) Log(_ context.Context, id string) (page.Server, string, bool, error) {
	return f.server(id), strings.Repeat("GET / 200 "+f.text+"\n", 10*f.n), true, nil
}

// Results implements [page.Tests].
func (f *fake) Results(context.Context) (page.TestRun, error) {
	t := page.TestRun{Source: "results.jsonl" + f.text, Time: then, Done: true}
	for i := range f.n {
		r := page.Result{File: fmt.Sprintf("testdata/%d%s.txtar", i, f.text), OK: i%2 == 0}
		if r.OK {
			t.Passed++
		} else {
			r.Text = "--- want\n+++ got\n@@ -1 +1 @@\n-" + f.text + "\n+other\n"
		}
		t.Results = append(t.Results, r)
	}
	return t, nil
}

// paths are the paths of all views of a fake.
var paths = []string{"", "runs", "runs?more", "runs/run1", "runs/none", "changes", "changes/2",
	"changes/2?done", "changes/none", "trials", "servers", "servers/srv0", "tests", "nowhere"}
