package project

import (
	"strings"

	"textskill/skill/internal/words"
)

// cargoTests reads the output of cargo test and cargo nextest.
type cargoTests struct {
	sum   TestReport
	found bool
	last  TestFailure // failure being read; no Name if none is
	open  bool        // the message of last goes on
}

var (
	cargoSum   = words.Pattern(`^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored`)
	cargoHead  = words.Pattern(`^---- (.+?) stdout ----$`)
	cargoPanic = words.Pattern(`^thread '.*' (?:\(\d+\) )?panicked at (?:'(.*)', )?([^\s:]+):(\d+):\d+:?$`)
	cargoError = words.Pattern(`^error(?:\[E\d+\])?: (.*)`)
	cargoArrow = words.Pattern(`^ *--> ([^\s:]+):(\d+):\d+`)

	nextestSum  = words.Pattern(`^ *Summary \[.*\] +\d+ tests? run: (.*)`)
	nextestFail = words.Pattern(`^ *(?:FAIL|TIMEOUT|SIG\w+) \[.*\] +(?:\([ \d/]+\) +)?(\S+ \S+)$`)
	nextestPart = words.Pattern(`(\d+) (passed|failed|skipped|timed out)`)
)

func (c *cargoTests) read(line []byte) []byte {
	text := strings.TrimRight(string(line), "\r\n")
	if at := cargoSum().FindStringSubmatch(text); at != nil { // one for each test binary
		c.flush()
		c.found = true
		c.sum.Passed += lineNumber(at[1])
		c.sum.Failed += lineNumber(at[2])
		c.sum.Skipped += lineNumber(at[3])
	} else if at := nextestSum().FindStringSubmatch(text); at != nil {
		c.flush()
		c.found = true
		c.countNextest(at[1])
	} else if at := cargoHead().FindStringSubmatch(text); at != nil {
		c.begin(at[1])
	} else if at := nextestFail().FindStringSubmatch(text); at != nil && !c.found {
		c.begin(at[1])
	} else if at := cargoPanic().FindStringSubmatch(text); at != nil && c.last.Name != "" && c.last.Line == 0 {
		c.last.File, c.last.Line, c.open = at[2], lineNumber(at[3]), at[1] == ""
		c.last.Message = at[1]
	} else if at := cargoError().FindStringSubmatch(text); at != nil && !c.found && !strings.HasPrefix(at[1], "test") && !strings.HasPrefix(at[1], "could not") {
		c.begin("build")
		c.last.Message, c.open = at[1], false
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

func (c *cargoTests) countNextest(text string) {
	for _, at := range nextestPart().FindAllStringSubmatch(text, -1) {
		switch n := lineNumber(at[1]); at[2] {
		case "passed":
			c.sum.Passed += n
		case "skipped":
			c.sum.Skipped += n
		default:
			c.sum.Failed += n
		}
	}
}

func (c *cargoTests) begin(name string) {
	c.flush()
	c.last = TestFailure{Name: name}
}

func (c *cargoTests) flush() {
	if c.last.Name != "" {
		c.sum.add(c.last)
	}
	c.last, c.open = TestFailure{}, false
}

func (c *cargoTests) report() (TestReport, bool) {
	c.flush()
	return c.sum, c.found
}
