package patch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Miss is a hunk whose old lines, or whose header, are not in the file.
type Miss struct {
	Line   int    // of the patch, from 1: where the hunk begins
	Wanted string // the line that was looked for
	Near   int    // the line of the text, from 0, that the other old lines say it is; negative if they do not
}

func (m *Miss) Error() string {
	return fmt.Sprintf("the hunk at line %d of the patch does not match: %.200q", m.Line, m.Wanted)
}

// A Several is a hunk that fits in several places.
type Several struct {
	Line  int   // of the patch, from 1: where the hunk begins
	Lines []int // of the file, from 1: where it fits
}

func (s *Several) Error() string {
	list := make([]string, min(len(s.Lines), 8))
	for i := range list {
		list[i] = fmt.Sprint(s.Lines[i])
	}
	text := strings.Join(list, ", ")
	if len(list) < len(s.Lines) {
		text += " and more"
	}
	return fmt.Sprintf("the hunk at line %d of the patch fits in %d places, at lines %s;"+
		" give more lines around it, or a @@ line before it", s.Line, len(s.Lines), text)
}

// Apply returns the text after the hunks were applied to it, and a note for each hunk that
// fits in a loose way only. Kept lines keep their bytes, and new lines get the line ends of
// those around them. The error of a hunk that does not fit may be a [*Miss] or a [*Several].
func Apply(text string, hunks []Hunk) (after string, notes []string, err error) {
	mark := ""
	if rest, ok := strings.CutPrefix(text, "\ufeff"); ok {
		mark, text = "\ufeff", rest
	}
	t := newTarget(text)
	for i := range hunks {
		if err := t.place(hunks[i], hunks[i+1:]); err != nil {
			return "", nil, err
		}
	}
	after, err = t.join()
	return mark + after, t.notes, err
}

// A target is a text that is patched.
type target struct {
	lines []line
	index map[string][]int // where each line is, by its key
	taken []bool           // lines that an earlier hunk is about
	cut   []bool           // lines before which an earlier hunk adds some
	edits []edit
	at    int // the line after the last hunk
	moved int // how far the last hunk was from where it was thought to be
	notes []string
}

type line struct{ text, end string }

// An edit is a hunk at its place.
type edit struct {
	from, to int // lines of the text
	hunk     Hunk
	fit      fit
}

func newTarget(text string) *target {
	t := &target{lines: split(text), index: map[string][]int{}}
	for i, l := range t.lines {
		t.index[key(l.text)] = append(t.index[key(l.text)], i)
	}
	t.taken, t.cut = make([]bool, len(t.lines)), make([]bool, len(t.lines)+1)
	return t
}

// split returns the lines of a text with their ends.
func split(text string) (lines []line) {
	for l := range strings.Lines(text) {
		body := strings.TrimSuffix(l, "\n")
		if crlf := strings.TrimSuffix(body, "\r"); len(body) < len(l) && len(crlf) < len(body) {
			body = crlf
		}
		lines = append(lines, line{body, l[len(body):]})
	}
	return lines
}

// A spot is where the old lines of a hunk fit, and how.
type spot struct {
	at  int
	fit fit
}

// spots returns all places of old lines, those only that fit in the strictest way.
func (t *target) spots(old []string) (found []spot) {
	rarest, offset := []int(nil), -1
	for i, s := range old {
		if list := t.index[key(s)]; offset < 0 || len(list) < len(rarest) {
			rarest, offset = list, i
		}
	}
	best := notFitting
	for _, i := range rarest {
		if i < offset || i-offset+len(old) > len(t.lines) {
			continue
		}
		f := fitOf(old, t.lines[i-offset:i-offset+len(old)], best)
		if f.look < best {
			best, found = f.look, nil
		}
		if f.look == best && best < notFitting {
			found = append(found, spot{i - offset, f})
		}
	}
	return found
}

// free returns the spots that no earlier hunk is about.
func (t *target) free(spots []spot, n int) (list []spot) {
	for _, s := range spots {
		if !slices.Contains(t.taken[s.at:s.at+n], true) &&
			!slices.Contains(t.cut[s.at+1:max(s.at+1, s.at+n)], true) {
			list = append(list, s)
		}
	}
	return list
}

// place finds where a hunk belongs. later are the hunks after it.
func (t *target) place(h Hunk, later []Hunk) error {
	starts, err := t.headers(h)
	if err != nil {
		return err
	}
	old := oldLines(h.Lines)
	if len(old) == 0 {
		return t.placeAdded(h, starts)
	}
	spots := t.spots(old)
	if last := h.Lines[len(h.Lines)-1]; len(spots) == 0 && last.Mark == ' ' && last.Text == "" &&
		len(old) > 1 {
		h.Lines, old = h.Lines[:len(h.Lines)-1], old[:len(old)-1] // a blank line too many at the end
		spots = t.spots(old)
	}
	if len(spots) == 0 {
		return t.miss(h, old)
	}
	free := t.free(spots, len(old))
	if len(free) == 0 {
		return fmt.Errorf("the hunk at line %d of the patch is about lines that an earlier hunk changes", h.Line)
	}
	var fits []spot
	switch {
	case len(h.Anchors) > 0:
		if fits = after(free, starts, old, h.Anchors); len(fits) == 0 {
			return fmt.Errorf("the hunk at line %d of the patch fits at line %d only, which is not after %.200q",
				h.Line, free[0].at+1, h.Anchors[len(h.Anchors)-1])
		}
	case h.At > 0:
		fits = t.numbered(h, free)
	default:
		fits = t.next(h, old, free, later)
	}
	if len(fits) > 1 {
		s := &Several{Line: h.Line}
		for _, f := range fits {
			s.Lines = append(s.Lines, f.at+1)
		}
		return s
	}
	t.put(edit{fits[0].at, fits[0].at + len(old), h, fits[0].fit})
	return nil
}

// headers returns where the last of the hunk's header lines may be, after the others.
func (t *target) headers(h Hunk) (starts []int, err error) {
	for n, anchor := range h.Anchors {
		hits := t.header(anchor)
		if n == 0 {
			if later := slices.DeleteFunc(slices.Clone(hits), func(i int) bool { return i < t.at }); len(later) > 0 {
				hits = later
			}
			starts = hits
		} else {
			var next []int
			for _, from := range starts {
				if i := slices.IndexFunc(hits, func(i int) bool { return i > from }); i >= 0 {
					next = append(next, hits[i])
				}
			}
			starts = slices.Compact(next)
		}
		if len(starts) == 0 {
			return nil, &Miss{h.Line, anchor, -1}
		}
	}
	return starts, nil
}

// header returns where the line of a header is: the whole line, or part of only one line.
func (t *target) header(anchor string) (hits []int) {
	for _, s := range t.spots([]string{anchor}) {
		hits = append(hits, s.at)
	}
	if hits != nil {
		return hits
	}
	for i, l := range t.lines {
		if strings.Contains(l.text, strings.TrimSpace(anchor)) {
			hits = append(hits, i)
		}
	}
	if len(hits) > 1 {
		return nil
	}
	return hits
}

// placeAdded places a hunk that only adds lines.
func (t *target) placeAdded(h Hunk, starts []int) error {
	i := len(t.lines)
	switch {
	case len(starts) > 1:
		s := &Several{Line: h.Line}
		for _, at := range starts {
			s.Lines = append(s.Lines, at+1)
		}
		return s
	case len(starts) == 1:
		i = starts[0] + 1
	case h.At > 0:
		i = max(0, min(i, h.At-1+t.moved))
	}
	t.put(edit{from: i, to: i, hunk: h})
	return nil
}

// after returns the first spot after each of the lines of a header. A header may be repeated
// as the first old line.
func after(free []spot, starts []int, old, anchors []string) (fits []spot) {
	same := key(old[0]) == key(anchors[len(anchors)-1])
	for _, from := range starts {
		i := slices.IndexFunc(free, func(s spot) bool { return s.at > from || same && s.at == from })
		if i >= 0 && !slices.ContainsFunc(fits, func(s spot) bool { return s.at == free[i].at }) {
			fits = append(fits, free[i])
		}
	}
	return fits
}

// numbered chooses by the line numbers of a unified diff: the stated place, or else the only
// one, or else the first one after the heading of the section.
func (t *target) numbered(h Hunk, free []spot) []spot {
	expected := h.At - 1 + t.moved
	pick := slices.IndexFunc(free, func(s spot) bool { return s.at == expected })
	if pick < 0 && len(free) > 1 && h.Heading != "" {
		heads := t.index[key(h.Heading)]
		if len(heads) == 1 {
			pick = slices.IndexFunc(free, func(s spot) bool { return s.at > heads[0] })
		}
	}
	if pick < 0 && len(free) > 1 {
		return free
	}
	if pick = max(0, pick); free[pick].at != expected {
		t.notes = append(t.notes, fmt.Sprintf("the hunk for line %d was applied at line %d", h.At,
			free[pick].at+1))
	}
	t.moved = free[pick].at - (h.At - 1)
	return free[pick : pick+1]
}

// next chooses without a header: the only place after the hunk before, or the first one if as
// many equal hunks follow as there are places.
func (t *target) next(h Hunk, old []string, free []spot, later []Hunk) []spot {
	if rest := slices.DeleteFunc(slices.Clone(free), func(s spot) bool { return s.at < t.at }); len(rest) > 0 {
		free = rest
	}
	if last := free[len(free)-1:]; h.End && last[0].at+len(old) == len(t.lines) {
		return last
	}
	if len(free) > 1 {
		same := 1
		for _, other := range later {
			if len(other.Anchors) == 0 && slices.Equal(oldLines(other.Lines), old) {
				same++
			}
		}
		if same != len(free) {
			return free
		}
	}
	return free[:1]
}

// put notes where a hunk goes.
func (t *target) put(e edit) {
	if e.fit.note != "" {
		t.notes = append(t.notes, fmt.Sprintf("the hunk at line %d of the patch fits but for %s", e.hunk.Line,
			e.fit.note))
	}
	for i := e.from; i < e.to; i++ {
		t.taken[i] = true
	}
	t.cut[e.from] = true
	if t.edits = append(t.edits, e); e.from < e.to || e.to > t.at {
		t.at = e.to
	}
}

func oldLines(lines []Line) (old []string) {
	for _, l := range lines {
		if l.Mark != '+' {
			old = append(old, l.Text)
		}
	}
	return old
}

// miss names the first of the old lines that is in no place of the file, or else the first.
func (t *target) miss(h Hunk, old []string) *Miss {
	at := max(0, slices.IndexFunc(old, func(s string) bool { return len(t.index[key(s)]) == 0 }))
	m := &Miss{h.Line, old[at], -1}
	for i, s := range old {
		if list := t.index[key(s)]; len(list) == 1 && i != at {
			m.Near = min(max(0, list[0]+at-i), len(t.lines)-1)
			break
		}
	}
	return m
}

// join returns the text with the edits made.
func (t *target) join() (string, error) {
	usual := "\n"
	if i := slices.IndexFunc(t.lines, func(l line) bool { return l.end != "" }); i >= 0 {
		usual = t.lines[i].end
	}
	slices.SortStableFunc(t.edits,
		func(a, b edit) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	var out []line
	at := 0
	for _, e := range t.edits {
		out = append(out, t.lines[at:e.from]...)
		lines, err := t.made(e, usual)
		if err != nil {
			return "", err
		}
		out, at = append(out, lines...), e.to
	}
	out = append(out, t.lines[at:]...)
	if n := len(t.edits); n > 0 && len(out) > 0 && t.edits[n-1].to == len(t.lines) {
		t.endAs(t.edits[n-1].hunk, &out[len(out)-1], usual)
	}
	var b strings.Builder
	for i, l := range out {
		b.WriteString(l.text)
		if l.end == "" && i < len(out)-1 {
			l.end = usual
		}
		b.WriteString(l.end)
	}
	return b.String(), nil
}

// made returns the lines that a hunk has in place of its old ones.
func (t *target) made(e edit, usual string) (out []line, err error) {
	at := e.from
	for _, l := range e.hunk.Lines {
		switch l.Mark {
		case '-':
			at++
		case ' ':
			out = append(out, t.lines[at])
			at++
		default:
			text, ok := e.fit.shift(l.Text)
			if !ok {
				return nil, fmt.Errorf("the hunk at line %d of the patch fits only with other indentation,"+
					" and the blanks before %.60q do not fit that", e.hunk.Line, strings.TrimSpace(l.Text))
			}
			end := usual
			if at > 0 {
				end = cmp.Or(t.lines[at-1].end, usual)
			}
			out = append(out, line{text, end})
		}
	}
	return out, nil
}

// endAs gives the last line the end that the hunk at the end of the file says. Without a word
// a file that had no final line break has none.
func (t *target) endAs(h Hunk, last *line, usual string) {
	says, bare := false, false
	for _, l := range h.Lines {
		says = says || l.Bare
		bare = bare || l.Bare && l.Mark != '-'
	}
	open := len(t.lines) > 0 && t.lines[len(t.lines)-1].end == ""
	switch {
	case bare:
		last.end = ""
	case says:
		last.end = cmp.Or(last.end, usual)
	case open && h.Lines[len(h.Lines)-1].Mark == '+':
		last.end = ""
	}
}
