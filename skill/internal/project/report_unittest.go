package project

import (
	"path/filepath"
	"strings"

	"textskill/skill/internal/words"
)

// unittestTests reads the output of Python's unittest.
type unittestTests struct {
	tally
	dir string // absolute; reported files are relative to it
}

var (
	unittestHead     = words.Pattern(`^(?:FAIL|ERROR): (\S+ \(.*?\))`)
	unittestLocation = words.Pattern(`^  File "([^"]+)", line (\d+)`)
	unittestCount    = words.Pattern(`^Ran (\d+) tests? in [\d.]+s`)
	unittestSum      = words.Pattern(`^(?:OK|FAILED|NO TESTS RAN)(?: \((.*)\))?$`)
	unittestPart     = words.Pattern(`([a-z ]+)=(\d+)`)
)

func (u *unittestTests) read(line []byte) []byte {
	text := strings.TrimRight(string(line), "\r\n")
	if at := unittestHead().FindStringSubmatch(text); at != nil {
		u.flush()
		u.last.Name = at[1]
	} else if at := unittestLocation().FindStringSubmatch(text); at != nil && u.last.Name != "" {
		u.locate(at[1], lineNumber(at[2]))
	} else if at := unittestCount().FindStringSubmatch(text); at != nil {
		u.flush()
		u.found = true
		u.sum.Passed, u.sum.Failed, u.sum.Skipped = lineNumber(at[1]), 0, 0
	} else if at := unittestSum().FindStringSubmatch(text); at != nil && u.found {
		u.subtract(at[1])
	} else if u.last.Name != "" && text != "" && !strings.HasPrefix(text, " ") && !strings.HasPrefix(text, "--") &&
		!strings.HasPrefix(text, "==") && !strings.HasPrefix(text, "Traceback ") {
		u.last.Message = appendLine(u.last.Message, text)
	}
	return line
}

// locate records a line of the stack. The last one inside the project is reported.
func (u *unittestTests) locate(file string, line int) {
	if rel, err := filepath.Rel(u.dir, file); err == nil && filepath.IsLocal(rel) {
		u.last.File, u.last.Line = rel, line
	}
}

// subtract reads a summary: "failures=1, errors=1, skipped=1".
func (u *unittestTests) subtract(text string) {
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
