package project

import (
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// unittestTests reads what Python's unittest prints.
type unittestTests struct {
	dir  string // absolute; names of files are told relative to it
	sum  TestReport
	any  bool
	last TestFailure // told of at the moment; no name for none
}

var (
	unittestHead  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:FAIL|ERROR): (\S+ \(.*?\))`) })
	unittestPlace = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^  File "([^"]+)", line (\d+)`) })
	unittestCount = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^Ran (\d+) tests? in [\d.]+s`) })
	unittestSum   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:OK|FAILED|NO TESTS RAN)(?: \((.*)\))?$`) })
	unittestPart  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`([a-z ]+)=(\d+)`) })
)

func (u *unittestTests) read(line []byte) []byte {
	text := strings.TrimRight(string(line), "\r\n")
	if at := unittestHead().FindStringSubmatch(text); at != nil {
		u.flush()
		u.last.Name = at[1]
	} else if at := unittestPlace().FindStringSubmatch(text); at != nil && u.last.Name != "" {
		u.place(at[1], lineNumber(at[2]))
	} else if at := unittestCount().FindStringSubmatch(text); at != nil {
		u.flush()
		u.any = true
		u.sum.Passed, u.sum.Failed, u.sum.Skipped = lineNumber(at[1]), 0, 0
	} else if at := unittestSum().FindStringSubmatch(text); at != nil && u.any {
		u.count(at[1])
	} else if u.last.Name != "" && text != "" && !strings.HasPrefix(text, " ") && !strings.HasPrefix(text, "--") &&
		!strings.HasPrefix(text, "==") && !strings.HasPrefix(text, "Traceback ") {
		u.last.Message = longer(u.last.Message, text)
	}
	return line
}

// place notes a call: the innermost one of the project is told of, which is the
// last that is below its folder.
func (u *unittestTests) place(file string, line int) {
	if rel, err := filepath.Rel(u.dir, file); err == nil && filepath.IsLocal(rel) {
		u.last.File, u.last.Line = rel, line
	}
}

func (u *unittestTests) flush() {
	if u.last.Name != "" {
		u.sum.add(u.last)
	}
	u.last = TestFailure{}
}

// count reads "failures=1, errors=1, skipped=1".
func (u *unittestTests) count(text string) {
	for _, at := range unittestPart().FindAllStringSubmatch(text, -1) {
		n := lineNumber(at[2])
		switch strings.TrimSpace(at[1]) {
		case "failures", "errors", "unexpected successes":
			u.sum.Failed += n
			u.sum.Passed -= n
		case "skipped", "expected failures":
			u.sum.Skipped += n
			u.sum.Passed -= n
		}
	}
	u.sum.Passed = max(0, u.sum.Passed)
}

func (u *unittestTests) report() (TestReport, bool) {
	u.flush()
	return u.sum, u.any
}
