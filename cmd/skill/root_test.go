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

// TestReadInput has somebody send input late. The program says once what it waits for.
func TestReadInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		var stderr strings.Builder
		c := &cli{console: console{stdin: r, stderr: &stderr}}
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
	c := &cli{console: console{stdin: r, stderr: io.Discard}}
	if _, err := c.readInput(ctx, "a prompt"); err != stop {
		t.Errorf("got %v, want %v", err, stop)
	}
}

// TestLongListsAreWhole prints all lines and items of a long list.
func TestLongListsAreWhole(t *testing.T) {
	var errs strings.Builder
	c := &cli{console: console{stderr: &errs}}
	for _, end := range []string{"; ", "\n"} {
		list := strings.Repeat("/w/a: something else has changed it"+end, 1000)
		if c.say(list + strings.Repeat("x", 20_000)); !strings.Contains(errs.String(), list) ||
			strings.Contains(errs.String(), strings.Repeat("x", 5000)) {
			t.Errorf("printed %.100s… of %d bytes", errs.String(), errs.Len())
		}
		errs.Reset()
	}
}

// TestLongErrorsAreBounded has a person type, or paste, what is wrong and too long to be read.
func TestLongErrorsAreBounded(t *testing.T) {
	t.Chdir(t.TempDir())
	state, long := t.TempDir(), strings.Repeat("ä", 50_000)
	for _, args := range [][]string{
		{"readFile", long}, {"no" + long}, {"undo", long}, {"log", long}, {"--" + long}, {"--fence", long},
		{"--tools", long},
		{"log", "--run", long}, {"trust", long}, {"setup", long}, {"help", long}, {"config", long},
		{"completion", long},
	} {
		c := &cli{console: console{getenv: func(name string) string { return map[string]string{"SKILL_STATE": state}[name] }}}
		out, errs, code := play(t, c, "", args...)
		if code == 0 || len(out)+len(errs) > 5000 || strings.Contains(errs, "\ufffd") {
			t.Errorf("%s: exit %d, %d bytes on stdout, on stderr %d: %.300s", args[0][:min(10, len(args[0]))],
				code, len(out), len(errs), errs)
		}
	}
}
