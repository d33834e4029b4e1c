package jetstream

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"textskill/skill/fleet"
)

// TestCommitModel commits with current and stale states, and compares the stored data with two
// variables and a list.
func TestCommitModel(t *testing.T) {
	t.Parallel()
	planes := [2]*Plane{}
	c := startCluster(t, 3)
	for i := range planes {
		planes[i] = c.connect()
	}
	ctx := within(t)
	rapid.Check(t, func(t *rapid.T) {
		id := rand.Text()
		stored := view{fleet.Run{ID: id}, fleet.Workspace{Name: id}}
		writers := [3]view{stored, stored, stored}
		var texts []string
		for n := range rapid.IntRange(1, 12).Draw(t, "commits") {
			i := rapid.IntRange(0, len(writers)-1).Draw(t, "writer")
			p, w := planes[i%2], &writers[i]
			if rapid.Bool().Draw(t, "reads first") {
				w.read(ctx, t, p, id)
			}
			text := fmt.Sprint(n)
			next := *w
			next.run.Query, next.files.Manifest = text, text
			b := fleet.Batch{}
			what := rapid.SampledFrom([]string{"run", "workspace", "both"}).Draw(t, "what")
			fresh := true
			if what != "workspace" {
				b.Run = &next.run
				fresh = w.run.Revision == stored.run.Revision
				for range rapid.IntRange(0, 3).Draw(t, "events") {
					b.Events = append(b.Events, fleet.Event{Text: text})
				}
			}
			if what != "run" {
				b.Workspace = &next.files
				fresh = fresh && w.files.Revision == stored.files.Revision
			}
			before := next
			err := p.Commit(ctx, b)
			if (err == nil) != fresh || err != nil && !errors.Is(err, fleet.ErrTaken) {
				t.Fatalf("commit %d of %s, fresh %v: %v", n, what, fresh, err)
			}
			if err != nil {
				if next.run.Revision != before.run.Revision || next.files.Revision != before.files.Revision {
					t.Fatal("a refused commit has set a revision")
				}
				continue
			}
			for _, e := range b.Events {
				texts = append(texts, e.Text)
			}
			if *w = next; b.Run != nil {
				stored.run = next.run
			}
			if b.Workspace != nil {
				stored.files = next.files
			}
			var got view
			got.read(ctx, t, planes[(i+1)%2], id)
			if got.run.Revision != stored.run.Revision || got.files.Revision != stored.files.Revision ||
				got.run.Revision > 0 && got.run.Query != stored.run.Query || got.files.Revision > 0 &&
				got.files != stored.files {
				t.Fatalf("after commit %d of %s\n got %+v\nwant %+v", n, what, got, stored)
			}
		}
		if stored.run.Revision == 0 {
			return
		}
		var got []string
		for e, err := range planes[0].Events(ctx, id, 0, false) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, e.Text)
		}
		if !slices.Equal(got, texts) {
			t.Fatalf("events %q\nwant   %q", got, texts)
		}
	})
}

// A view is a writer's copy of the states of a run and its workspace.
type view struct {
	run   fleet.Run
	files fleet.Workspace
}

// read updates a view.
func (v *view) read(ctx context.Context, t *rapid.T, p *Plane, id string) {
	run, err := p.Run(ctx, id)
	if errors.Is(err, fleet.ErrNoRun) {
		run, err = fleet.Run{ID: id}, nil
	}
	if err == nil {
		v.run = run
		v.files, err = p.Workspace(ctx, id)
	}
	if err != nil {
		t.Fatal(err)
	}
}
