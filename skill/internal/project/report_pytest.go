package project

import (
	"strings"

	"textskill/skill/internal/words"
)

type pytestTests struct {
	tally
	section   string                // headline of the failure being read
	locations map[string][]location // stack of each failure by headline, the outermost call first
}

// A location is a line of a file.
type location struct {
	file string
	line int
}

var (
	pytestSum      = words.Pattern(`^(?:=+ )?(.*\d+ \w+|no tests ran) in [\d.]+s\b`)
	pytestHead     = words.Pattern(`^_+ (.*[^_ ].*?) _+$`)
	pytestLocation = words.Pattern(`^(\S[^:]*\.py):(\d+): `)
	pytestShort    = words.Pattern(`^(FAILED|ERROR) (\S+\.py(?:::.*?)?)(?: - (.*))?$`)
)

func (p *pytestTests) read(line []byte) []byte {
	text := strings.TrimRight(string(line), "\r\n")
	if at := pytestLocation().FindStringSubmatch(text + " "); at != nil && p.section != "" && len(p.locations[p.section]) < maxFailures {
		p.locations[p.section] = append(p.locations[p.section], location{at[1], lineNumber(at[2])})
		return line
	}
	if at := pytestHead().FindStringSubmatch(text); at != nil && !strings.HasPrefix(text, "_ _") {
		if p.locations == nil {
			p.locations = map[string][]location{}
		}
		if p.section = at[1]; len(p.locations) >= maxFailures {
			p.section = ""
		}
		return line
	}
	if at := pytestShort().FindStringSubmatch(text); at != nil {
		p.failed(at[1], at[2], at[3])
	} else if at := pytestSum().FindStringSubmatch(text); at != nil {
		p.sum.Passed, p.sum.Failed, p.sum.Skipped = 0, 0, 0
		p.count(at[1])
	}
	return line
}

// failed adds a failure of the short summary, with its location from the stack.
func (p *pytestTests) failed(how, id, message string) {
	file, name, _ := strings.Cut(id, "::")
	f := TestFailure{Name: id, File: file, Message: appendLine("", message)}
	head := strings.ReplaceAll(name, "::", ".")
	switch {
	case how == "ERROR" && name == "":
		head = "ERROR collecting " + file
	case how == "ERROR":
		head = "ERROR at setup of " + head
	}
	for _, at := range p.locations[head] {
		if at.file == file {
			f.Line = at.line
		}
	}
	p.sum.add(f)
}
