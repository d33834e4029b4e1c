package process

import (
	"context"
	"testing"
)

// A command that was called off before it ran leaves no record.
func TestTrackCalledOff(t *testing.T) {
	x := newRunner(t, t.TempDir(), Config{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := x.Track(ctx, "never", func(context.Context) error {
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
