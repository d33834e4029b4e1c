package project

import (
	"strings"

	"textskill/skill/internal/words"
)

// scriptTests reads the output of a package's test script, whichever runner it starts:
// jest, vitest, node --test or mocha.
type scriptTests struct {
	jest  jestTests
	node  nodeTests
	mocha mochaTests
}

func (s *scriptTests) read(line []byte) []byte {
	s.jest.read(line)
	s.node.read(line)
	s.mocha.read(line)
	return line
}

func (s *scriptTests) report() (TestReport, bool) {
	for _, r := range []testReader{&s.jest, &s.node, &s.mocha} {
		if report, ok := r.report(); ok {
			return report, true
		}
	}
	return TestReport{}, false
}

// nodeTests reads the output of node --test, as TAP or in its own form.
type nodeTests struct {
	tally
	failing bool // the list of failed tests has begun
}

var (
	nodeCount = words.Pattern(`^(?:#|ℹ) (pass|fail|cancelled|skipped|todo) (\d+)$`)
	nodeTAP   = words.Pattern(`^ *not ok \d+ - (.*?)(?: # .*)?$`)
	nodeAt    = words.Pattern(`^(?:test at | *location: '?)(.+?):(\d+):\d+'?$`)
	nodeName  = words.Pattern(`^ *✖ (.*?) \([\d.]+ms\)$`)
	nodeError = words.Pattern(`^ *error: (?:['"](.*)['"]|(.*))$`)
)

func (n *nodeTests) read(line []byte) []byte {
	text := strings.TrimRight(string(line), "\r\n")
	if at := nodeCount().FindStringSubmatch(text); at != nil {
		n.flush()
		n.total(at[1], lineNumber(at[2]))
	} else if at := nodeTAP().FindStringSubmatch(text); at != nil {
		n.flush()
		n.last.Name = at[1]
	} else if strings.HasPrefix(text, "✖ failing tests:") {
		n.failing = true
	} else if at := nodeAt().FindStringSubmatch(text); at != nil {
		if n.failing {
			n.flush()
		}
		n.last.File, n.last.Line = at[1], lineNumber(at[2])
	} else if at := nodeName().FindStringSubmatch(text); at != nil && n.failing {
		n.last.Name = at[1]
	} else if at := nodeError().FindStringSubmatch(text); at != nil && n.last.Name != "" {
		n.last.Message = at[1] + at[2]
	} else if text = strings.TrimSpace(text); n.failing && n.last.Name != "" && n.last.Message == "" && text != "" {
		n.last.Message = text
	}
	return line
}

func (n *nodeTests) total(what string, number int) {
	n.found = true
	switch what {
	case "pass":
		n.sum.Passed = number
	case "fail", "cancelled":
		n.sum.Failed += number
	default:
		n.sum.Skipped += number
	}
}

type mochaTests struct {
	tally
	naming bool // the name of last goes on
}

var (
	mochaCount = words.Pattern(`^  (\d+) (passing|failing|pending)(?: \(.*\))?$`)
	mochaHead  = words.Pattern(`^  \d+\) (.*)`)
	mochaAt    = words.Pattern(`^ +at (?:.*\()?(?:file://)?([^()\s]+):(\d+):\d+\)?$`)
)

func (m *mochaTests) read(line []byte) []byte {
	text := strings.TrimRight(string(line), "\r\n")
	if at := mochaCount().FindStringSubmatch(text); at != nil {
		m.found = true
		switch n := lineNumber(at[1]); at[2] {
		case "passing":
			m.sum.Passed = n
		case "failing":
			m.sum.Failed = n
		default:
			m.sum.Skipped = n
		}
	} else if at := mochaHead().FindStringSubmatch(text); at != nil && m.found {
		m.flush()
		m.last.Name, m.naming = strings.TrimSuffix(at[1], ":"), !strings.HasSuffix(at[1], ":")
	} else if m.last.Name != "" {
		m.detail(text)
	}
	return line
}

// detail reads a line about the last failure.
func (m *mochaTests) detail(text string) {
	at := mochaAt().FindStringSubmatch(text)
	text = strings.TrimSpace(text)
	switch {
	case m.naming:
		m.last.Name += " " + strings.TrimSuffix(text, ":")
		m.naming = !strings.HasSuffix(text, ":")
	case at != nil && m.last.Line == 0 && !strings.Contains(at[1], "node_modules/") && !strings.HasPrefix(at[1], "node:"):
		m.last.File, m.last.Line = at[1], lineNumber(at[2])
	case at == nil && text != "" && m.last.Line == 0:
		m.last.Message = appendLine(m.last.Message, text)
	}
}
