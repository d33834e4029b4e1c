package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestReadInput has somebody send input late. What is waited for is said once.
func TestReadInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		var stderr strings.Builder
		c := &cli{stdin: r, stderr: &stderr}
		go func() {
			time.Sleep(3 * patience)
			io.WriteString(w, "late\n")
			w.Close()
		}()
		text, err := c.readInput(t.Context(), "the content of a.txt")
		if text != "late\n" || err != nil {
			t.Errorf("got %q, %v", text, err)
		}
		if want := "skill: waiting for the content of a.txt on standard input\n"; stderr.String() != want {
			t.Errorf("stderr %q, want %q", stderr.String(), want)
		}
	})
}

// TestReadInputIsInterrupted ends the wait with the program.
func TestReadInputIsInterrupted(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	stop := errors.New("interrupt signal received")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	c := &cli{stdin: r, stderr: io.Discard}
	if _, err := c.readInput(ctx, "a prompt"); err != stop {
		t.Errorf("got %v, want %v", err, stop)
	}
}
