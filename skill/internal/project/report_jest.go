package project

import (
	"regexp"
	"strings"
	"sync"
)

// jestTests reads what jest and vitest print for people.
type jestTests struct {
	sum  TestReport
	any  bool
	file string      // whose tests are told of
	last TestFailure // told of at the moment; no name for none
	told bool        // its message is complete
}

var (
	jestFile  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^ ?(?:FAIL|PASS) +(\S+)(?: > (.*))?`) })
	jestName  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^  ● (.*)`) })
	jestPlace = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:      at | ❯ )(?:.*[( ])?([^()\s]+):(\d+):\d+\)?$`)
	})
	jestTotal  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:Tests: |      Tests ) +(.*\d.*)`) })
	jestCount  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(\d+) ([a-z]+)`) })
	jestSource = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^ *(?:> *)?\d* ?\|`) })
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

// detail reads a line about the failure that is told of.
func (j *jestTests) detail(text string) {
	at := jestPlace().FindStringSubmatch(text)
	foreign := at != nil && (strings.Contains(at[1], "node_modules/") || strings.HasPrefix(at[1], "node:"))
	switch {
	case at != nil && !foreign && j.last.Line == 0:
		j.last.File, j.last.Line = at[1], lineNumber(at[2])
	case at != nil || jestSource().MatchString(text):
		j.told = true
	case strings.TrimSpace(text) != "" && !j.told:
		j.last.Message = longer(j.last.Message, strings.TrimSpace(text))
	}
}

func (j *jestTests) flush() {
	if j.last.Name != "" {
		j.sum.add(j.last)
	}
	j.last, j.told = TestFailure{}, false
}

// count reads "1 failed, 2 passed, 3 total" or "1 failed | 2 passed (3)".
func (j *jestTests) count(text string) {
	j.any = true
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
	return j.sum, j.any
}
