// Package patch reads patches, in the format of apply_patch and as unified diffs, and applies
// them to texts. It knows no files.
package patch

import (
	"fmt"
	"strings"
)

// A Kind is what a section of a patch does with its file.
type Kind int

// The kinds of sections.
const (
	Update Kind = iota // changes a file that exists, and may rename it
	Add                // makes a file, or replaces it
	Delete             // removes a file
)

// A Section is what a patch says of one file.
type Section struct {
	Kind  Kind
	Path  string // as the patch has it
	To    string // the new name; "" if the file keeps its own
	Exec  bool   // of a file that is made: it is executable
	Hunks []Hunk // of an update; of a unified diff that makes a file, the one with its lines
	Text  string // of Add: what the file holds
	Fresh bool   // of Add: there must be no file
}

// A Hunk replaces some lines of a file by others.
type Hunk struct {
	Line    int      // of the patch, from 1: where the hunk begins
	Anchors []string // lines that come before it, one after the other
	At      int      // where the old lines are thought to be, from 1; 0 is not said
	End     bool     // the old lines end the file
	Lines   []Line
}

// A Line is one line of a hunk.
type Line struct {
	Mark byte // ' ' stays, '-' goes, '+' comes
	Text string
	Bare bool // it ends the file without a line break
}

const (
	begin     = "*** Begin Patch"
	end       = "*** End Patch"
	endOfFile = "*** End of File"
)

// Parse reads a patch. Its error names a line of the patch.
func Parse(text string) ([]Section, error) {
	r := &reader{lines: strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")}
	for r.at < len(r.lines) && strings.TrimSpace(r.lines[r.at]) == "" {
		r.at++
	}
	for len(r.lines) > r.at && strings.TrimSpace(r.lines[len(r.lines)-1]) == "" {
		r.lines = r.lines[:len(r.lines)-1]
	}
	if r.at == len(r.lines) {
		return nil, errorAt(1, "is empty")
	}
	parse := r.unified
	if strings.TrimSpace(r.lines[r.at]) == begin {
		if strings.TrimSpace(r.lines[len(r.lines)-1]) != end {
			return nil, errorAt(len(r.lines), "is not the last one of a patch: "+end)
		}
		r.at++
		r.lines = r.lines[:len(r.lines)-1]
		parse = r.sections
	}
	list, err := parse()
	if err == nil && len(list) == 0 {
		err = r.failf("names no file; a patch begins with %q, or with the --- and +++ of a unified diff", begin)
	}
	return list, err
}

// A reader reads the lines of a patch.
type reader struct {
	lines []string
	at    int
}

func (r *reader) more() bool { return r.at < len(r.lines) }

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
		case head == "":
			r.at++
			continue
		case path == "":
			return nil, r.failf("is %q; it must be *** Add File: PATH, *** Update File: PATH or *** Delete File: PATH", head)
		case verb == "*** Add File":
			s.Kind = Add
			r.at++
			for ; r.more() && strings.HasPrefix(r.lines[r.at], "+"); r.at++ {
				s.Text += r.lines[r.at][1:] + "\n"
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
		case strings.TrimSpace(line) == "" && r.blankToHeader():
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
			return strings.HasPrefix(line, "***")
		}
	}
	return true
}

// hunk reads anchors and lines up to the next hunk or section.
func (r *reader) hunk() (Hunk, error) {
	h := Hunk{Line: r.at + 1}
	for ; r.more() && strings.HasPrefix(r.lines[r.at], "@@"); r.at++ {
		anchor := strings.TrimPrefix(r.lines[r.at], "@@")
		if strings.HasPrefix(anchor, " -") && strings.HasSuffix(strings.TrimSpace(anchor), "@@") { // that of a unified diff
			h.At, _, _, anchor, _ = hunkRange(r.lines[r.at])
		}
		if anchor = strings.TrimPrefix(anchor, " "); strings.TrimSpace(anchor) != "" {
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
		case strings.HasPrefix(line, "@@"), strings.HasPrefix(line, "*** "):
			return h, r.full(h)
		case line == "" && r.blankToHeader():
			return h, r.full(h)
		case line == "": // a blank that was lost
			h.Lines = append(h.Lines, Line{Mark: ' '})
		case strings.IndexByte(" +-", line[0]) >= 0:
			h.Lines = append(h.Lines, Line{Mark: line[0], Text: line[1:]})
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
