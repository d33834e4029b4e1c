package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"testing"
)

// TestTakeInterrupts has skill start take over Ctrl-C before the program has begun to wait
// for signals, as it may on a busy machine.
func TestTakeInterrupts(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	waiting, taken := make(chan struct{}), make(chan (<-chan os.Signal), 1)
	go func() { taken <- takeInterrupts(waiting) }()
	go cancelOnSignal(cancel, waiting)
	received := <-taken
	defer signal.Reset(os.Interrupt, syscall.SIGTERM)
	if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	<-received
	if ctx.Err() != nil {
		t.Error("the interrupt ends the program, too")
	}
}
