package jetstream

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestReachSaysWhatFailed ends the time just before the next try.
func TestReachSaysWhatFailed(t *testing.T) {
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
			defer cancel()
			err := (&Plane{}).reach(ctx, func(context.Context) error { return errBusy })
			if !errors.Is(err, ErrUnreachable) || !errors.Is(err, errBusy) ||
				!errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		})
	}
}
