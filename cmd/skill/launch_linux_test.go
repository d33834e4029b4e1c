package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"testing"
)

// TestTakeInterrupts has skill start take over Ctrl-C.
func TestTakeInterrupts(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancelOnSignal(cancel)
	received := takeInterrupts()
	defer signal.Reset(os.Interrupt, syscall.SIGTERM)
	if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	<-received
	if ctx.Err() != nil {
		t.Error("the interrupt ends the program, too")
	}
}
