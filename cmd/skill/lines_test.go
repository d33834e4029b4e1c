package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestLinesAnswersAtOnce holds --lines to its promise: each answer comes before
// the next line is read, while standard input stays open.
func TestLinesAnswersAtOnce(t *testing.T) {
	in, input := io.Pipe()
	output, out := io.Pipe()
	c := &cli{console: console{stdin: in, stdout: out, stderr: out, getenv: func(string) string { return "" }}}
	code := make(chan int, 1)
	go func() {
		code <- c.run(t.Context(), []string{"-C", t.TempDir(), "--no-sync", "--lines"})
		out.Close()
	}()
	answers := bufio.NewScanner(output)
	for _, step := range []struct{ line, want string }{
		{"writeFile a.txt content: one\n", "Wrote file at "},
		{"\n\nfileExists a.txt\r\n", "Checked file existence at "},
		{"readFile b.txt\n", "skill: line 5: ENOENT: "},
		{"deleteFile a.txt", ""}, // no answer before the line has its end
		{"\n", "Deleted file at "},
	} {
		late := time.AfterFunc(time.Minute, func() { output.CloseWithError(os.ErrDeadlineExceeded) })
		if _, err := io.WriteString(input, step.line); err != nil {
			t.Fatal(err)
		}
		if step.want != "" && (!answers.Scan() || !strings.HasPrefix(answers.Text(), step.want)) {
			t.Fatalf("after %q\n got %q %v\nwant %s…", step.line, answers.Text(), answers.Err(), step.want)
		}
		late.Stop()
	}
	input.Close()
	if got := <-code; got != exitFailed {
		t.Errorf("exit code %d, want %d", got, exitFailed)
	}
}

// TestLinesInOrder carries out lines that each need the result of the line before.
func TestLinesInOrder(t *testing.T) {
	dir := t.TempDir()
	var input, want, log strings.Builder
	input.WriteString("createDirectory d\n")
	want.WriteString("1 createDirectory\n")
	for n := range 100 {
		fmt.Fprintf(&input, "appendFile log content: %d,\nmoveFile log destination: d/log%d\nfileExists d/log%[2]d\nreadFile log\nmoveFile d/log%[2]d destination: log\n", n, n)
		fmt.Fprintf(&want, "%d appendFile\n%d moveFile\n%d fileExists\n%d ENOENT\n%d moveFile\n", 5*n+2,
			5*n+3, 5*n+4, 5*n+5, 5*n+6)
		fmt.Fprintf(&log, "%d,", n)
	}
	stdout, stderr, code := play(t, &cli{}, input.String(), "-C", dir, "--lines", "--json", "--state",
		t.TempDir())
	var got strings.Builder
	for line := range strings.Lines(stdout) {
		var r struct {
			Line                         int
			Operation, Code, Error, Undo string
			Data                         struct{ Exists bool }
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		if r.Code == "" && r.Error != "" ||
			r.Operation == "fileExists" && !r.Data.Exists ||
			slices.Contains([]string{"createDirectory", "appendFile", "moveFile"},
				r.Operation) != (r.Undo != "") {
			t.Errorf("%s", line)
		}
		fmt.Fprintln(&got, r.Line, cmp.Or(r.Code, r.Operation))
	}
	if got.String() != want.String() || stderr != "" || code != exitFailed {
		t.Errorf("got %s%s %d\nwant %s", got.String(), stderr, code, want.String())
	}
	if data, err := os.ReadFile(dir + "/log"); string(data) != log.String() {
		t.Errorf("%s %v", data, err)
	}
}

// TestLinesWithoutEnd answers a last line that has no newline.
func TestLinesWithoutEnd(t *testing.T) {
	stdout, stderr, code := play(t, &cli{}, "fileExists a", "-C", t.TempDir(), "--lines")
	if !strings.HasSuffix(stdout, "a: false.\n") || stderr != "" || code != exitOK {
		t.Errorf("got %q %q %d", stdout, stderr, code)
	}
}

// TestLinesIsInterrupted ends the wait for a line, and does not carry out the part of it
// that has come.
func TestLinesIsInterrupted(t *testing.T) {
	in, input := io.Pipe()
	output, out := io.Pipe()
	defer input.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		io.WriteString(input, "fileExists a\n")
		bufio.NewReader(output).ReadString('\n')
		io.WriteString(input, "fileExi")
		cancel(errors.New("interrupt signal received"))
	}()
	var stderr strings.Builder
	c := &cli{console: console{stdin: in, stdout: out, stderr: &stderr, getenv: func(string) string { return "" }}}
	code := c.run(ctx, []string{"-C", t.TempDir(), "--lines"})
	if stderr.String() != "skill: interrupt signal received\n" || code != exitFailed {
		t.Errorf("got %q %d", stderr.String(), code)
	}
}
