package project

import (
	"strings"

	"textskill/skill/internal/words"
)

// jestTests reads the output of jest and vitest.
type jestTests struct {
	sum      TestReport
	found    bool
	file     string      // file of the following failures
	last     TestFailure // failure being read; no Name if none is
	complete bool        // the Message of last is complete
}

var (
	jestFile     = words.Pattern(`^ ?(?:FAIL|PASS) +(\S+)(?: > (.*))?`)
	jestName     = words.Pattern(`^  ● (.*)`)
	jestLocation = words.Pattern(`^(?:      at | ❯ )(?:.*[( ])?([^()\s]+):(\d+):\d+\)?$`)
	jestTotal    = words.Pattern(`^(?:Tests: |      Tests ) +(.*\d.*)`)
	jestCount    = words.Pattern(`(\d+) ([a-z]+)`)
	jestSource   = words.Pattern(`^ *(?:> *)?\d* ?\|`)
)

func (j *jestTests) read(line []byte) []byte {
	text := strings.TrimRight(string(line), "\r\n")
	if at := jestTotal().FindStringSubmatch(text); at != nil {
		j.flush()
		j.count(at[1])
	} else if at := jestFile().FindStringSubmatch(text); at != nil {
		j.flush()
		j.file = at[1]
		j.last = TestFailure{Name: at[2], File: at[1]}
	} else if at := jestName().FindStringSubmatch(text); at != nil {
		j.flush()
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

func (j *jestTests) flush() {
	if j.last.Name != "" {
		j.sum.add(j.last)
	}
	j.last, j.complete = TestFailure{}, false
}

// count reads a summary: "1 failed, 2 passed, 3 total" or "1 failed | 2 passed (3)".
func (j *jestTests) count(text string) {
	j.found = true
	j.sum.Passed, j.sum.Failed, j.sum.Skipped = 0, 0, 0
	for _, at := range jestCount().FindAllStringSubmatch(text, -1) {
		n := lineNumber(at[1])
		switch at[2] {
		case "passed":
			j.sum.Passed += n
		case "failed":
			j.sum.Failed += n
		case "skipped", "todo":
			j.sum.Skipped += n
		}
	}
}

func (j *jestTests) report() (TestReport, bool) {
	j.flush()
	return j.sum, j.found
}
