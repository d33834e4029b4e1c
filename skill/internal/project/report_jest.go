package project

import (
	"strings"

	"textskill/skill/internal/words"
)

// jestTests reads the output of jest and vitest.
type jestTests struct {
	tally
	file     string // file of the following failures
	complete bool   // the Message of last is complete
}

var (
	jestFile     = words.Pattern(`^ ?(?:FAIL|PASS) +(\S+)(?: > (.*))?`)
	jestName     = words.Pattern(`^  ● (.*)`)
	jestLocation = words.Pattern(`^(?:      at | ❯ )(?:.*[( ])?([^()\s]+):(\d+):\d+\)?$`)
	jestTotal    = words.Pattern(`^(?:Tests: |      Tests ) +(.*\d.*)`)
	jestSource   = words.Pattern(`^ *(?:> *)?\d* ?\|`)
)

func (j *jestTests) read(line []byte) []byte {
	text := strings.TrimRight(string(line), "\r\n")
	if at := jestTotal().FindStringSubmatch(text); at != nil {
		j.begin(TestFailure{})
		j.sum.Passed, j.sum.Failed, j.sum.Skipped = 0, 0, 0
		j.count(at[1]) // "1 failed, 2 passed, 3 total" or "1 failed | 2 passed (3)"
	} else if at := jestFile().FindStringSubmatch(text); at != nil {
		j.file = at[1]
		j.begin(TestFailure{Name: at[2], File: at[1]})
	} else if at := jestName().FindStringSubmatch(text); at != nil {
		j.begin(TestFailure{})
		if at[1] != "Console" {
			j.last = TestFailure{Name: at[1], File: j.file}
		}
	} else if j.last.Name != "" {
		j.detail(text)
	}
	return line
}

// detail reads a line about the last failure.
func (j *jestTests) detail(text string) {
	at := jestLocation().FindStringSubmatch(text)
	foreign := at != nil && (strings.Contains(at[1], "node_modules/") || strings.HasPrefix(at[1], "node:"))
	switch {
	case at != nil && !foreign && j.last.Line == 0:
		j.last.File, j.last.Line = at[1], lineNumber(at[2])
	case at != nil || jestSource().MatchString(text):
		j.complete = true
	case strings.TrimSpace(text) != "" && !j.complete:
		j.last.Message = appendLine(j.last.Message, strings.TrimSpace(text))
	}
}

// begin begins to read a failure; without a name, none.
func (j *jestTests) begin(f TestFailure) {
	j.flush()
	j.last, j.complete = f, false
}
