// Package patch reads patches, in the format of apply_patch and as unified diffs, and applies
// them to texts. It knows no files.
package patch

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A Kind is what a section of a patch does with its file.
type Kind int

// The kinds of sections.
const (
	Update Kind = iota // changes a file that exists, and may rename it
	Add                // makes a file
	Delete             // removes a file
)

// A Section is what a patch says of one file.
type Section struct {
	Kind  Kind
	Path  string // as the patch has it
	To    string // the new name; "" if the file keeps its own
	Exec  bool   // of a file that is made: it is executable
	Hunks []Hunk // of an update; of a unified diff that makes or removes a file, those with its lines
	Text  string // of Add: what the file holds
	Diff  bool   // it is of a unified diff; its Delete says in Hunks what the file holds
}

// A Hunk replaces some lines of a file by others.
type Hunk struct {
	Line    int      // of the patch, from 1: where the hunk begins
	Anchors []string // lines that come before it, one after the other
	At      int      // where the old lines are thought to be, from 1; 0 is not said
	Heading string   // a line that may come before them, of a unified diff
	End     bool     // the old lines end the file
	Lines   []Line
}

// A Line is one line of a hunk.
type Line struct {
	Mark byte // ' ' stays, '-' goes, '+' comes
	Text string
	Bare bool // it ends the file without a line break
	crlf bool // it ends with CRLF, and the headers of the patch do not
}

const (
	begin     = "*** Begin Patch"
	end       = "*** End Patch"
	endOfFile = "*** End of File"
)

// Parse reads a patch, and passes over prose and fences around it. Its error names a line of
// the patch.
func Parse(text string) ([]Section, error) {
	r := newReader(unwrapped(text))
	first := -1 // the first line that begins a file of an envelope
	for i, line := range r.lines {
		switch isHead := strings.HasPrefix(line, "*** ") && strings.Contains(line, " File: "); {
		case isMark(line, begin):
			return r.envelopes(i)
		case isHead && first < 0:
			first = i
		case isMark(line, end) && first >= 0: // the line with begin was left out
			return r.envelope(first, i)
		}
	}
	if first >= 0 {
		return nil, errorAt(first+1, "begins a file, but there is no "+begin+" and no "+end+": is it cut?")
	}
	list, err := r.unified()
	if err == nil && len(list) == 0 {
		err = errorAt(1, fmt.Sprintf("names no file; a patch begins with %q, or with the --- and +++ of a unified diff", begin))
	}
	return list, err
}

// unwrapped returns a patch without quotes around it, and without blanks that stand before each
// line of its envelope.
func unwrapped(text string) string {
	inner := strings.TrimSpace(text)
	quoted := strings.TrimLeft(inner, "\"'`")
	if n := len(inner) - len(quoted); n > 0 && strings.HasPrefix(quoted, begin) {
		text = strings.TrimSuffix(quoted, inner[len(inner)-n:])
		if whole := ""; json.Unmarshal([]byte(inner), &whole) == nil {
			text = whole
		}
	}
	lines := strings.Split(text, "\n")
	from := slices.IndexFunc(lines, func(line string) bool { return isMark(line, begin) })
	if from < 0 || indentation(lines[from]) == "" {
		return text
	}
	blanks := indentation(lines[from])
	to := from + 1
	for ; to < len(lines) && !isMark(lines[to-1], end); to++ {
		if !strings.HasPrefix(lines[to], blanks) && strings.TrimSpace(lines[to]) != "" {
			return text
		}
	}
	for i := range lines[from:to] {
		lines[from+i] = strings.TrimPrefix(lines[from+i], blanks)
	}
	return strings.Join(lines, "\n")
}

// isMark reports whether a line begins or ends an envelope. A mark that is added to a file is
// not one.
func isMark(line, mark string) bool {
	return strings.TrimSpace(line) == mark
}

// envelopes reads one or several patches with a begin and an end, the first of them at a line.
func (r *reader) envelopes(at int) (list []Section, err error) {
	for at < len(r.lines) {
		last, next := r.bounds(at)
		if last < 0 {
			return nil, errorAt(at+1, "begins a patch that is cut: it has no "+end)
		}
		one, err := r.envelope(at+1, last)
		if err != nil {
			return nil, err
		}
		list, at = append(list, one...), next
	}
	return list, nil
}

// bounds returns where the envelope that begins at a line ends, and where the next one begins.
// A mark with blanks before it may be a line of a file, and counts only if there is no other.
func (r *reader) bounds(at int) (last, next int) {
	last, next = -1, at+1
	for ; next < len(r.lines) && strings.TrimRight(r.lines[next], " \t") != begin; next++ {
		padded := last < 0 || strings.HasPrefix(r.lines[last], " ")
		if isMark(r.lines[next], end) && (padded || r.lines[next][0] != ' ') {
			last = next
		}
	}
	return last, next
}

// envelope reads the lines [from, to) in the format of apply_patch.
func (r *reader) envelope(from, to int) ([]Section, error) {
	in := &reader{lines: r.lines[:to], crlf: r.crlf, at: from}
	list, err := in.sections()
	if err == nil && len(list) == 0 {
		err = errorAt(to+1, "ends a patch that names no file")
	}
	return list, err
}

// A reader reads the lines of a patch.
type reader struct {
	lines []string
	crlf  map[int]bool // lines that end with CRLF, if the headers do not
	at    int
}

func newReader(text string) *reader {
	r := &reader{lines: strings.Split(text, "\n"), crlf: map[int]bool{}}
	for i, line := range r.lines[:len(r.lines)-1] {
		bare, found := strings.CutSuffix(line, "\r")
		r.lines[i] = bare
		if found && r.crlf != nil {
			r.crlf[i] = true
		}
		if found && isHeader(line) {
			r.crlf = nil
		}
	}
	return r
}

// isHeader reports whether a line names a file or a place, and is not one of a file.
func isHeader(line string) bool {
	return slices.ContainsFunc([]string{"*** ", "@@", "--- ", "+++ "},
		func(head string) bool { return strings.HasPrefix(line, head) })
}

// end returns the end that a line of a new file has.
func (l Line) end() string {
	switch {
	case l.Bare:
		return ""
	case l.crlf:
		return "\r\n"
	}
	return "\n"
}

func (r *reader) more() bool { return r.at < len(r.lines) }

// here returns the line to read, "" at the end.
func (r *reader) here() string {
	if !r.more() {
		return ""
	}
	return r.lines[r.at]
}

func errorAt(line int, reason string) error {
	return fmt.Errorf("line %d of the patch %s", line, reason)
}

func (r *reader) failf(format string, args ...any) error {
	return errorAt(min(r.at+1, len(r.lines)), fmt.Sprintf(format, args...))
}

// sections reads the format of apply_patch.
func (r *reader) sections() (list []Section, err error) {
	for r.more() {
		head := strings.TrimSpace(r.lines[r.at])
		verb, path, _ := strings.Cut(head, ": ")
		path = strings.TrimSpace(path)
		s := Section{Path: path}
		switch {
		case head == "", strings.HasPrefix(head, "```"):
			r.at++
			continue
		case path == "":
			return nil, r.failf("is %q; it must be *** Add File: PATH, *** Update File: PATH or *** Delete File: PATH", head)
		case verb == "*** Add File":
			s.Kind = Add
			r.at++
			for ; r.more() && strings.HasPrefix(r.lines[r.at], "+"); r.at++ {
				s.Text += r.lines[r.at][1:] + Line{crlf: r.crlf[r.at]}.end()
			}
			if rest := strings.TrimSpace(r.here()); rest != "" && !strings.HasPrefix(rest, "***") &&
				!strings.HasPrefix(rest, "```") {
				err = r.failf("is %.60q; lines of a new file begin with +", r.here())
			}
		case verb == "*** Delete File":
			s.Kind = Delete
			r.at++
		case verb == "*** Update File":
			r.at++
			err = r.update(&s)
		default:
			return nil, r.failf("is %q; it must be *** Add File: PATH, *** Update File: PATH or *** Delete File: PATH", head)
		}
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

// update reads the new name and the hunks of a file that is changed.
func (r *reader) update(s *Section) error {
	if r.more() {
		if to, ok := strings.CutPrefix(strings.TrimSpace(r.lines[r.at]), "*** Move to: "); ok {
			s.To = strings.TrimSpace(to)
			r.at++
		}
	}
	for r.more() {
		switch line := r.lines[r.at]; {
		case strings.TrimSpace(line) == "" && r.blankToHeader(), strings.HasPrefix(line, "```"):
			r.at++
			continue
		case strings.HasPrefix(strings.TrimSpace(line), "*** ") && !strings.HasPrefix(line, " "):
			return r.updated(s)
		case !strings.HasPrefix(line, "@@") && len(s.Hunks) > 0:
			return r.failf("is %.60q; a hunk begins with @@, and its lines with a blank, + or -", line)
		}
		h, err := r.hunk()
		if err != nil {
			return err
		}
		s.Hunks = append(s.Hunks, h)
	}
	return r.updated(s)
}

func (r *reader) updated(s *Section) error {
	if len(s.Hunks) == 0 && s.To == "" {
		return r.failf("comes where the changes of %s should be: @@, then lines that begin with a blank, + or -", s.Path)
	}
	return nil
}

// blankToHeader reports whether only blank lines come before the next header or the end.
func (r *reader) blankToHeader() bool {
	for _, line := range r.lines[r.at:] {
		if strings.TrimSpace(line) != "" {
			return strings.HasPrefix(line, "***") || strings.HasPrefix(line, "```")
		}
	}
	return true
}

// hunk reads anchors and lines up to the next hunk or section.
func (r *reader) hunk() (Hunk, error) {
	h := Hunk{Line: r.at + 1}
	for ; r.more() && strings.HasPrefix(r.lines[r.at], "@@"); r.at++ {
		if at, old, _, heading, ok := hunkRange(r.lines[r.at]); ok { // that of a unified diff
			if h.At, h.Heading = at, heading; old == 0 {
				h.At++ // the line before is named
			}
			continue
		}
		anchor := strings.TrimPrefix(strings.TrimPrefix(r.lines[r.at], "@@"), " ")
		anchor = strings.TrimSuffix(strings.TrimRight(anchor, " "), " @@")
		if strings.TrimSpace(anchor) != "" {
			h.Anchors = append(h.Anchors, anchor)
		}
	}
	for r.more() {
		line := r.lines[r.at]
		switch {
		case strings.TrimSpace(line) == endOfFile:
			h.End = true
			r.at++
			return h, r.full(h)
		case strings.HasPrefix(line, "@@"), strings.HasPrefix(line, "*** "), strings.HasPrefix(line, "```"):
			return h, r.full(h)
		case line == "" && r.blankToHeader():
			return h, r.full(h)
		case line == "": // a blank that was lost
			h.Lines = append(h.Lines, Line{Mark: ' '})
		case strings.IndexByte(" +-", line[0]) >= 0:
			h.Lines = append(h.Lines, Line{Mark: line[0], Text: line[1:], crlf: r.crlf[r.at]})
		case strings.HasPrefix(line, `\ `) && len(h.Lines) > 0:
			h.Lines[len(h.Lines)-1].Bare = true
		default:
			return h, r.failf("is %.60q; lines of a hunk begin with a blank, + or -", line)
		}
		r.at++
	}
	return h, r.full(h)
}

func (r *reader) full(h Hunk) error {
	if len(h.Lines) == 0 {
		return errorAt(h.Line, "begins a hunk without lines")
	}
	return nil
}
