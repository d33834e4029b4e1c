package process

import (
	"context"
	"slices"
	"testing"

	"textskill/skill/internal/workspace"
)

// A command that was called off before it ran leaves no record.
func TestTrackCalledOff(t *testing.T) {
	x := newRunner(t, t.TempDir(), Config{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := x.Track(ctx, "never", func(*Runner) error {
		t.Error("it runs")
		return nil
	})
	if err != context.Canceled {
		t.Error(err)
	}
	for e, err := range x.ws.History(t.Context()) {
		t.Errorf("the history has %v, %v", e, err)
	}
}

// A command whose changes are not known is said to keep them all.
func TestUnknownChanges(t *testing.T) {
	c := &Tracked{Undo: "1"} // a change that is recorded already
	c.unknown(t.Context(), nil, "make", workspace.ErrTooManyFiles)
	want := []string{"all that it changed: the workspace holds more than 200000 files"}
	if !slices.Equal(c.NotUndoable, want) {
		t.Errorf("undo leaves %q, want %q", c.NotUndoable, want)
	}
}
