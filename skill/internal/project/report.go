package project

import (
	"bytes"
	"io"
	"strconv"
	"strings"
	"sync"

	"textskill/skill/internal/process"
)

// A TestReport is what the output of a run of tests says of them.
type TestReport struct {
	Passed, Failed, Skipped int           // of the tests that ran; a group of tests may count too
	Failures                []TestFailure // the first hundred
}

// A TestFailure is a test that failed, or a file or package of which none could run.
type TestFailure struct {
	Name    string
	File    string // relative to the folder that the tests were run in, or as it was printed; "" where none was
	Line    int    // counted from 1; 0 where none was printed
	Message string // its first lines
}

// The most that is kept of a report.
const (
	maxFailures = 100
	maxMessage  = 1000    // bytes
	maxTestLine = 1 << 20 // bytes; longer lines are not read
)

// A testReader learns from what a run of tests prints, a line at a time.
type testReader interface {
	// read takes a line of either stream, with its end, and returns what a person
	// is to see of it.
	read(line []byte) []byte

	// report tells what was learned. It is not ok where the output did not tell how
	// many tests there were.
	report() (r TestReport, ok bool)
}

// through returns a filter for each stream that lets r read both.
func through(r testReader) process.Filter {
	mu := new(sync.Mutex)
	return func(kept io.Writer) io.Writer { return &lineFilter{to: kept, mu: mu, read: r.read} }
}

// lineFilter passes on what read makes of each line.
type lineFilter struct {
	to   io.Writer
	mu   *sync.Mutex // held while a line is read and passed on
	read func(line []byte) []byte
	part []byte // a line that has no end yet
	long bool   // it is too long to be read, and what there was of it has been passed on
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
		switch end := f.part[len(f.part)-1] == '\n'; {
		case end || len(f.part) > maxTestLine:
			f.flush()
			f.long = !end
		}
	}
	return n, nil
}

// Close passes on a last line without an end.
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

// add notes a failure, unless it is known or there are too many.
func (r *TestReport) add(f TestFailure) {
	for _, have := range r.Failures {
		if have.Name == f.Name && (have.File == f.File || f.File == "") {
			return
		}
	}
	if len(r.Failures) < maxFailures {
		f.Message = strings.TrimSpace(f.Message)
		r.Failures = append(r.Failures, f)
	}
}

// longer returns a message with one more line, as far as there is room.
func longer(message, line string) string {
	room := maxMessage - len(message)
	if room <= 0 {
		return message
	}
	return message + line[:min(len(line), room)] + "\n"
}

// lineNumber reads a number that a pattern found; 0 is none.
func lineNumber(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}
