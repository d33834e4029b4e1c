package main

import (
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"
)

// TestServersKeepLessGarbageOnceTheyWait has the first second of a server go by without its bound.
func TestServersKeepLessGarbageOnceTheyWait(t *testing.T) {
	const before = 77
	defer debug.SetGCPercent(debug.SetGCPercent(before))
	percent := func() int {
		now := debug.SetGCPercent(before)
		debug.SetGCPercent(now)
		return now
	}
	synctest.Test(t, func(t *testing.T) {
		undo := keepLess()
		if now := percent(); now != before {
			t.Errorf("at the start %d percent is kept", now)
		}
		undo()
		time.Sleep(time.Minute)
		if now := percent(); now != before {
			t.Errorf("after a server that ended at once %d percent is kept", now)
		}
		undo = keepLess()
		time.Sleep(time.Minute)
		if now := percent(); now != mcpGarbage {
			t.Errorf("after a minute %d percent is kept", now)
		}
		if undo(); percent() != before {
			t.Errorf("after the server %d percent is kept", percent())
		}
	})
}
