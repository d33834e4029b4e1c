package project

import (
	"bytes"
	"io"
	"strconv"
	"strings"
	"sync"

	"textskill/skill/internal/process"
	"textskill/skill/internal/words"
)

// A TestReport is the summary of a test run, read from the runner's output.
type TestReport struct {
	Passed, Failed, Skipped int           // number of tests; some runners also count groups of tests
	Failures                []TestFailure // the first 100
}

// A TestFailure is a test that failed, or a file or package whose tests could not run.
type TestFailure struct {
	Name    string
	File    string // relative to the tests' working directory, or as printed; "" if unknown
	Line    int    // from 1; 0 if unknown
	Message string // the first lines of the failure
}

// Limits of a report.
const (
	maxFailures = 100
	maxMessage  = 1000    // bytes
	maxTestLine = 1 << 20 // bytes; longer lines are not read
)

// A testReader reads the output of a test run, a line at a time.
type testReader interface {
	// read reads a line of either stream, with its line break, and returns the text to
	// show in its place.
	read(line []byte) []byte

	// report returns the summary. It is not ok if the output did not say how many tests
	// there were.
	report() (r TestReport, ok bool)
}

// filterFor returns a filter, to be used for both streams, that passes their lines to r.
func filterFor(r testReader) process.Filter {
	mu := new(sync.Mutex)
	return func(kept io.Writer) io.Writer { return &lineFilter{to: kept, mu: mu, read: r.read} }
}

// A lineFilter writes the result of read for each line.
type lineFilter struct {
	to   io.Writer
	mu   *sync.Mutex // held while a line is read and written
	read func(line []byte) []byte
	part []byte // an incomplete line
	long bool   // the line exceeds maxTestLine, and its start has been written unread
}

func (f *lineFilter) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n') + 1
		if i == 0 {
			i = len(p)
		}
		f.part = append(f.part, p[:i]...)
		p = p[i:]
		if end := f.part[len(f.part)-1] == '\n'; end || len(f.part) > maxTestLine {
			f.flush()
			f.long = !end
		}
	}
	return n, nil
}

// Close writes a last line without a line break.
func (f *lineFilter) Close() error {
	if len(f.part) > 0 {
		f.flush()
	}
	return nil
}

func (f *lineFilter) flush() {
	f.mu.Lock()
	defer f.mu.Unlock()
	shown := f.part
	if !f.long && len(f.part) <= maxTestLine {
		shown = f.read(f.part)
	}
	f.to.Write(shown)
	f.part = f.part[:0]
}

// A tally is what was read of a test run so far.
type tally struct {
	sum   TestReport
	found bool        // the output has said how many tests there were
	last  TestFailure // failure being read; no Name if none is
}

// flush adds the failure that was being read.
func (t *tally) flush() {
	if t.last.Name != "" {
		t.sum.add(t.last)
	}
	t.last = TestFailure{}
}

var ended = words.Pattern(`(\d+) (timed out|[a-z]+)`)

// count adds a summary: "3 failed, 2 passed".
func (t *tally) count(summary string) {
	t.found = true
	for _, at := range ended().FindAllStringSubmatch(summary, -1) {
		n := lineNumber(at[1])
		switch at[2] {
		case "passed", "xpassed":
			t.sum.Passed += n
		case "failed", "error", "errors", "timed out":
			t.sum.Failed += n
		case "skipped", "xfailed", "todo":
			t.sum.Skipped += n
		}
	}
}

// report implements [testReader].
func (t *tally) report() (TestReport, bool) {
	t.flush()
	return t.sum, t.found
}

// add adds a failure, unless it is in the report already or the report is full.
func (r *TestReport) add(f TestFailure) {
	for _, have := range r.Failures {
		if have.Name == f.Name && (f.File == "" || have.File == f.File && have.Line == f.Line) {
			return
		}
	}
	if len(r.Failures) < maxFailures {
		f.Message = strings.TrimSpace(f.Message)
		r.Failures = append(r.Failures, f)
	}
}

// appendLine returns message with one more line, cut at maxMessage bytes.
func appendLine(message, line string) string {
	room := maxMessage - len(message)
	if room <= 0 {
		return message
	}
	return message + line[:min(len(line), room)] + "\n"
}

// lineNumber parses the digits that a pattern matched; none are 0.
func lineNumber(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}
