package project

import (
	"strings"

	"textskill/skill/internal/words"
)

// cargoTests reads the output of cargo test and cargo nextest.
type cargoTests struct {
	tally
	open bool // the message of last goes on
}

var (
	cargoSum   = words.Pattern(`^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored`)
	cargoHead  = words.Pattern(`^---- (.+?) stdout ----$`)
	cargoPanic = words.Pattern(`^thread '.*' (?:\(\d+\) )?panicked at (?:'(.*)', )?([^\s:]+):(\d+):\d+:?$`)
	cargoError = words.Pattern(`^error(?:\[E\d+\])?: (.*)`)
	cargoArrow = words.Pattern(`^ *--> ([^\s:]+):(\d+):\d+`)

	nextestSum  = words.Pattern(`^ *Summary \[.*\] +\d+ tests? run: (.*)`)
	nextestFail = words.Pattern(`^ *(?:FAIL|TIMEOUT|SIG\w+) \[.*\] +(?:\([ \d/]+\) +)?(\S+ \S+)$`)
)

func (c *cargoTests) read(line []byte) []byte {
	text := strings.TrimRight(string(line), "\r\n")
	if at := cargoSum().FindStringSubmatch(text); at != nil { // one for each test binary
		c.begin("")
		c.found = true
		c.sum.Passed += lineNumber(at[1])
		c.sum.Failed += lineNumber(at[2])
		c.sum.Skipped += lineNumber(at[3])
	} else if at := nextestSum().FindStringSubmatch(text); at != nil {
		c.begin("")
		c.count(at[1])
	} else if at := cargoHead().FindStringSubmatch(text); at != nil {
		c.begin(at[1])
	} else if at := nextestFail().FindStringSubmatch(text); at != nil && !c.found {
		c.begin(at[1])
	} else if at := cargoPanic().FindStringSubmatch(text); at != nil && c.last.Name != "" && c.last.Line == 0 {
		c.last.File, c.last.Line, c.open = at[2], lineNumber(at[3]), at[1] == ""
		c.last.Message = at[1]
	} else if at := cargoError().FindStringSubmatch(text); at != nil && !c.found && !strings.HasPrefix(at[1], "test") && !strings.HasPrefix(at[1], "could not") {
		c.begin("build")
		c.last.Message = at[1]
	} else if at := cargoArrow().FindStringSubmatch(text); at != nil && c.last.Name == "build" && c.last.Line == 0 {
		c.last.File, c.last.Line = at[1], lineNumber(at[2])
	} else if c.open {
		c.open = strings.TrimSpace(text) != "" && !strings.HasPrefix(text, "note: ") && text != "stack backtrace:"
		if c.open {
			c.last.Message = appendLine(c.last.Message, strings.TrimSpace(text))
		}
	}
	return line
}

// report implements [testReader]. What does not build runs no test, and says so by its errors.
func (c *cargoTests) report() (TestReport, bool) {
	r, ok := c.tally.report()
	return r, ok || r.Failures != nil
}

// begin begins to read a failure; without a name, none.
func (c *cargoTests) begin(name string) {
	c.flush()
	c.last, c.open = TestFailure{Name: name}, false
}
