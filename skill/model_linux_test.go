package skill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"textskill/testdata/needs"

	"pgregory.net/rapid"
)

// Random operations, in two folders on two file systems, are undone and made again. Then all
// that is left is undone: everything is as it was if that was done in order; and in any order
// nothing is stuck.
func TestModel(t *testing.T) {
	needs.SameDraws(t)
	needs.Shell(t)
	mount := t.TempDir()
	needs.Mount(t, "none", mount, "tmpfs", 0, "")
	round, forces := 0, 0
	rapid.Check(t, func(r *rapid.T) {
		round++
		dir, err := os.MkdirTemp("/dev/shm", "model")
		if err != nil {
			r.Fatal(err)
		}
		defer os.RemoveAll(dir)
		w := &worker{near: filepath.Join(dir, "ws"), far: filepath.Join(mount, fmt.Sprint(round)),
			out: json.NewEncoder(io.Discard)}
		defer os.RemoveAll(w.far)
		w.inOrder = rapid.Bool().Draw(r, "in order")
		w.intN = func(n int) int { return rapid.IntRange(0, n-1).Draw(r, "n") }
		c := &powerCut{T: t, near: w.near, far: w.far}
		c.layout()
		if w.x, err = New(Config{Dir: w.near, Allow: []string{w.far}, NoSync: true, Helper: self(t),
			State: filepath.Join(dir, "state")}); err != nil {
			r.Fatal(err)
		}
		defer w.x.Close()
		for range rapid.IntRange(1, 30).Draw(r, "steps") {
			if err := w.step(); err != nil && !expected(err) {
				r.Fatal(err)
			}
		}
		before, _ := picture(w.near, w.far)
		var undone []string
		o, forced := Undo{}, false
		for {
			done, err := w.x.Execute(t.Context(), &Session{}, o)
			refused, ok := errors.AsType[*UndoError](err)
			if err == nil {
				undone, o = append(undone, done.(Reverted).Message()), Undo{}
				continue
			}
			undone = append(undone, err.Error())
			if ok && refused.Force && !o.Force && !w.inOrder { // a change before one that was undone needs it
				o, forced = Undo{Force: true}, true
				continue
			}
			// else forced ones may have taken what it needs, as it says
			if !ok || refused.ID != "" && w.inOrder {
				r.Fatalf("undo: %v\nafter %q\n%s", err, undone, w.history())
			}
			break
		}
		if forced {
			forces++
		}
		if now, err := picture(w.near, w.far); err != nil || now != c.first && w.inOrder {
			r.Fatalf("%v there was\n%s\nundone there is\n%s\nwant\n%s\nundone: %q\n%s", err, before,
				now, c.first, undone, w.history())
		}
	})
	t.Logf("%d sequences, %d with force", round, forces)
}

// history lists what was done.
func (w *worker) history() (text string) {
	for e, err := range w.x.ws.History(context.Background()) {
		text += fmt.Sprintln(e, err)
	}
	return text
}
