package patch

import (
	"strconv"
	"strings"
)

// unified reads a unified diff, as diff -u and git write it.
func (r *reader) unified() (list []Section, err error) {
	for r.more() {
		line := r.lines[r.at]
		switch {
		case strings.HasPrefix(line, "diff --git "):
			s, err := r.gitSection()
			if err != nil {
				return nil, err
			}
			s.Diff = true
			list = append(list, s)
		case strings.HasPrefix(line, "--- ") && r.at+1 < len(r.lines) &&
			strings.HasPrefix(r.lines[r.at+1], "+++ "):
			s := Section{Diff: true}
			if err := r.fileSection(&s); err != nil {
				return nil, err
			}
			list = append(list, s)
		case strings.HasPrefix(line, "@@ "):
			return nil, r.failf("is a hunk, and no --- and +++ before it name its file")
		default:
			r.at++ // a message before the diff
		}
	}
	return list, nil
}

// gitSection reads a section that begins with the names that git gives, and may have no hunks.
func (r *reader) gitSection() (s Section, err error) {
	s.Path = gitName(r.lines[r.at])
	for r.at++; r.more(); r.at++ {
		line := r.lines[r.at]
		key, value := line, ""
		for _, k := range []string{"new file mode ", "deleted file mode ", "rename from ", "rename to ",
			"copy from ", "old mode ", "new mode ", "index ", "similarity index ", "dissimilarity index "} {
			if rest, ok := strings.CutPrefix(line, k); ok {
				key, value = strings.TrimSpace(k), rest
			}
		}
		switch {
		case key == "new file mode":
			s.Kind, s.Exec = Add, strings.HasSuffix(value, "755")
		case key == "deleted file mode":
			s.Kind = Delete
		case key == "rename from":
			s.Path = unquote(value)
		case key == "rename to":
			s.To = unquote(value)
		case key == "copy from":
			return s, r.failf("is %q, which is not done here; copy files by their own tool", line)
		case key == "old mode", key == "new mode":
			return s, r.failf("is %q, which is not done here; run chmod, and leave the lines of modes out", line)
		case strings.HasPrefix(line, "GIT binary patch"), strings.HasPrefix(line, "Binary files "):
			return s, r.failf("begins a binary patch; only texts are patched")
		case strings.HasPrefix(line, "--- "):
			return s, r.fileSection(&s)
		case value == "": // nothing else is said of this file
			return s, r.named(s)
		}
	}
	return s, r.named(s)
}

func (r *reader) named(s Section) error {
	if s.Path == "" {
		return r.failf("comes after a file whose name cannot be read")
	}
	return nil
}

// fileSection reads the names and hunks of one file.
func (r *reader) fileSection(s *Section) error {
	if r.at+1 >= len(r.lines) || !strings.HasPrefix(r.lines[r.at+1], "+++ ") {
		r.at++
		return r.failf("should begin with +++ and the name of the file")
	}
	old, is := fileName(r.lines[r.at][4:], "a/"), fileName(r.lines[r.at+1][4:], "b/")
	switch {
	case old == "/dev/null":
		s.Kind, s.Path = Add, is
	case is == "/dev/null":
		s.Kind, s.Path = Delete, old
	case s.To == "":
		s.Path = is // diff -u a.orig a is about a
	}
	r.at += 2
	for r.more() && strings.HasPrefix(r.lines[r.at], "@@ ") {
		h, err := r.countedHunk()
		if err != nil {
			return err
		}
		s.Hunks = append(s.Hunks, h)
	}
	switch {
	case s.Path == "" || s.Path == "/dev/null":
		return r.failf("comes after --- and +++ that name no file")
	case len(s.Hunks) == 0 && s.Kind == Update && s.To == "":
		return r.failf("comes where the changes of %s should be: @@ -1,2 +1,2 @@", s.Path)
	case s.Kind == Add:
		for _, h := range s.Hunks {
			for _, l := range h.Lines {
				s.Text += l.Text + l.end()
			}
		}
	}
	return nil
}

// countedHunk reads a hunk by the numbers of its lines. Models count badly: one that has more
// or fewer lines ends where the next hunk or file begins.
func (r *reader) countedHunk() (Hunk, error) {
	h := Hunk{Line: r.at + 1}
	at, old, is, heading, ok := hunkRange(r.lines[r.at])
	if !ok {
		return h, r.failf("is %.60q; a hunk begins like @@ -1,2 +1,2 @@", r.lines[r.at])
	}
	h.At, h.Heading = at, heading
	if old == 0 {
		h.At = at + 1 // the line before is named
	}
	for r.at++; r.more(); r.at++ {
		line := r.lines[r.at]
		done := old <= 0 && is <= 0
		switch {
		case strings.HasPrefix(line, `\ `) && len(h.Lines) > 0:
			h.Lines[len(h.Lines)-1].Bare = true
			continue
		case strings.HasPrefix(line, "@@ "), strings.HasPrefix(line, "diff --git "), done &&
			strings.HasPrefix(line, "--- "):
			return h, r.full(h)
		case line == "" && (done || r.blankToEnd()), line == "-- " && done, strings.HasPrefix(line, "```"):
			return h, r.full(h)
		case line == "":
			line = " "
		case strings.IndexByte(" +-", line[0]) < 0 && done:
			return h, r.full(h)
		case strings.IndexByte(" +-", line[0]) < 0:
			return h, r.failf("is %.60q; lines of a hunk begin with a blank, + or -", line)
		}
		if line[0] != '+' {
			old--
		}
		if line[0] != '-' {
			is--
		}
		h.Lines = append(h.Lines, Line{Mark: line[0], Text: line[1:], crlf: r.crlf[r.at]})
	}
	return h, r.full(h)
}

// blankToEnd reports whether only blank lines follow, or the end of a fence.
func (r *reader) blankToEnd() bool {
	for _, line := range r.lines[r.at:] {
		if strings.TrimSpace(line) != "" {
			return strings.HasPrefix(line, "```")
		}
	}
	return true
}

// hunkRange reads "@@ -3,4 +5,6 @@ text".
func hunkRange(line string) (at, old, is int, text string, ok bool) {
	ranges, text, ok := strings.Cut(strings.TrimPrefix(line, "@@ "), " @@")
	text = strings.TrimSpace(text)
	was, now, ok2 := strings.Cut(ranges, " ")
	if !ok || !ok2 || !strings.HasPrefix(was, "-") || !strings.HasPrefix(now, "+") {
		return 0, 0, 0, "", false
	}
	at, old, ok = span(was[1:])
	_, is, ok2 = span(now[1:])
	return at, old, is, text, ok && ok2
}

func span(s string) (at, n int, ok bool) {
	first, count, two := strings.Cut(s, ",")
	at, err := strconv.Atoi(first)
	if n = 1; two && err == nil {
		n, err = strconv.Atoi(count)
	}
	return at, n, err == nil && at >= 0 && n >= 0
}

// fileName is the name in a line of --- or +++, without a time and git's prefix.
func fileName(text, prefix string) string {
	name, _, _ := strings.Cut(text, "\t")
	return strings.TrimPrefix(unquote(strings.TrimRight(name, " ")), prefix)
}

// gitName is the name in "diff --git a/NAME b/NAME"; "" if there are two names.
func gitName(line string) string {
	names := strings.TrimPrefix(line, "diff --git ")
	half := len(names) / 2
	if len(names)%2 == 0 || names[half] != ' ' {
		return ""
	}
	was, is := unquote(names[:half]), unquote(names[half+1:])
	if was, is = strings.TrimPrefix(was, "a/"), strings.TrimPrefix(is, "b/"); was != is {
		return ""
	}
	return was
}

// unquote reads a name that git has put in quotes.
func unquote(name string) string {
	if plain, err := strconv.Unquote(name); err == nil && strings.HasPrefix(name, `"`) {
		return plain
	}
	return name
}
