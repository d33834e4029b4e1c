package project

import (
	"regexp"
	"strings"
	"sync"
)

// pytestTests reads what pytest prints for people.
type pytestTests struct {
	sum     TestReport
	any     bool
	section string             // the test whose failure is told of, as its headline names it
	places  map[string][]place // where it failed, the outermost call first
}

// place is a line of a file.
type place struct {
	file string
	line int
}

var (
	pytestSum   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:=+ )?(.*\d+ \w+|no tests ran) in [\d.]+s\b`) })
	pytestCount = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(\d+) ([a-z]+)`) })
	pytestHead  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^_+ (.*[^_ ].*?) _+$`) })
	pytestPlace = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\S[^:]*\.py):(\d+): `) })
	pytestShort = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(FAILED|ERROR) (\S+\.py(?:::.*?)?)(?: - (.*))?$`) })
)

func (p *pytestTests) read(line []byte) []byte {
	text := strings.TrimRight(string(line), "\r\n")
	if at := pytestPlace().FindStringSubmatch(text + " "); at != nil && p.section != "" && len(p.places[p.section]) < maxFailures {
		p.places[p.section] = append(p.places[p.section], place{at[1], lineNumber(at[2])})
		return line
	}
	if at := pytestHead().FindStringSubmatch(text); at != nil && !strings.HasPrefix(text, "_ _") {
		if p.places == nil {
			p.places = map[string][]place{}
		}
		if p.section = at[1]; len(p.places) >= maxFailures {
			p.section = ""
		}
		return line
	}
	if at := pytestShort().FindStringSubmatch(text); at != nil {
		p.failed(at[1], at[2], at[3])
	} else if at := pytestSum().FindStringSubmatch(text); at != nil {
		p.count(at[1])
	}
	return line
}

// failed notes a line of the summary, with the place that was told before.
func (p *pytestTests) failed(how, id, message string) {
	file, name, _ := strings.Cut(id, "::")
	f := TestFailure{Name: id, File: file, Message: longer("", message)}
	head := strings.ReplaceAll(name, "::", ".")
	switch {
	case how == "ERROR" && name == "":
		head = "ERROR collecting " + file
	case how == "ERROR":
		head = "ERROR at setup of " + head
	}
	for _, at := range p.places[head] {
		if at.file == file {
			f.Line = at.line
		}
	}
	p.sum.add(f)
}

// count reads "3 failed, 2 passed".
func (p *pytestTests) count(text string) {
	p.any = true
	p.sum.Passed, p.sum.Failed, p.sum.Skipped = 0, 0, 0
	for _, at := range pytestCount().FindAllStringSubmatch(text, -1) {
		n := lineNumber(at[1])
		switch at[2] {
		case "passed", "xpassed":
			p.sum.Passed += n
		case "failed", "error", "errors":
			p.sum.Failed += n
		case "skipped", "xfailed":
			p.sum.Skipped += n
		}
	}
}

func (p *pytestTests) report() (TestReport, bool) { return p.sum, p.any }
