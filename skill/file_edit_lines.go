package skill

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"textskill/skill/internal/merge"
	"textskill/skill/internal/search"
)

// A LineRef names a line by its number, and by the letters that were shown with it.
type LineRef struct {
	Number  int    // from 1; 0 is before the first line, where lines are put
	Letters string // two letters of its content, as a read shows them; "" for none
	End     bool   // the last line, or the end of the file where lines are put; without Number
}

func (r LineRef) String() string {
	if r.End {
		return "end"
	}
	return fmt.Sprint(r.Number) + r.Letters
}

// A LineRange names lines to replace, or a place to put some.
type LineRange struct {
	From, To LineRef // To is the last one
	Place    Place
}

// A Place says what a [LineRange] means.
type Place int

// The places.
const (
	These  Place = iota // the lines themselves
	After               // what comes is put after From
	Before              // what comes is put before From
)

// An address resolves lines of one file, for one session.
type address struct {
	abs     string
	lines   [][]byte // as they are
	view    *view    // nil if nothing is known
	guarded bool
	forced  bool // lines that others have changed are changed all the same
}

// fail says why a line cannot be meant, and shows what is there.
func (a *address) fail(r LineRef, format string, args ...any) error {
	text := fmt.Sprintf("line %v of %s %s; nothing was changed.", r, a.abs, fmt.Sprintf(format, args...))
	if len(a.lines) > 0 {
		at := min(max(r.Number-1, 0), len(a.lines)-1)
		text += "\nit holds now:\n" + rowsAround(a.lines, []int{at}, 3)
	}
	return &StaleError{text}
}

// line returns the index of the line that is meant.
func (a *address) line(r LineRef) (int, error) {
	i := r.Number - 1
	switch {
	case r.End && len(a.lines) > 0:
		return len(a.lines) - 1, nil
	case i < 0:
		return 0, a.fail(r, "is not a line; they are counted from 1")
	case a.guarded && r.Letters == "":
		return a.plain(r, i)
	}
	here := i < len(a.lines) && (r.Letters == "" || letters(a.lines, i) == r.Letters)
	switch {
	case a.guarded:
		return a.lettered(r, i, here)
	case here:
		return i, nil
	case i >= len(a.lines):
		return 0, a.fail(r, "is not there")
	}
	return 0, a.fail(r, "is another one now")
}

// lettered resolves a number with letters. here says that the line with the number has them.
func (a *address) lettered(r LineRef, i int, here bool) (int, error) {
	found, gone := a.shownAs(r, i)
	switch {
	case len(found) == 0 && !gone && here: // not shown to this session, as after a restart
		return i, nil
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return 0, a.fail(r, "may be line %d or %d now", found[0]+1, found[1]+1)
	case gone:
		return 0, a.fail(r, "was changed since you were shown it")
	}
	return 0, a.fail(r, "is another one now, or never had these letters")
}

// plain resolves a number without letters, which holds only as long as nothing moved.
func (a *address) plain(r LineRef, i int) (int, error) {
	v := a.view
	if v == nil || v.raw == nil {
		return 0, a.fail(r, "has no letters, and you were not shown it; send it as read numbers it, like 12ab")
	}
	if i < len(v.flags) && v.flags[i]&numbered != 0 {
		return i, nil
	}
	for k, old := range slices.Backward(v.old) {
		if i >= len(old.flags) || old.flags[i]&numbered == 0 {
			continue
		}
		switch to := v.now(k, i); {
		case to < 0:
			return 0, a.fail(r, "was changed since you were shown it")
		case to != i:
			return 0, a.fail(r, "is line %d now, and has no letters", to+1)
		}
		return i, nil
	}
	return 0, a.fail(r, "has no letters, and you were not shown it; send it as read numbers it, like 12ab")
}

// shownAs returns where the lines are now that had a number and letters when they were shown,
// and whether one of them was changed since.
func (a *address) shownAs(r LineRef, i int) (found []int, gone bool) {
	v := a.view
	if v == nil || v.raw == nil {
		return nil, false
	}
	add := func(to int) {
		if to < 0 {
			gone = true
		} else if !slices.Contains(found, to) {
			found = append(found, to)
		}
	}
	for k, old := range v.old {
		if i < len(old.flags) && old.flags[i]&numbered != 0 && letters(old.lines, i) == r.Letters {
			add(v.now(k, i))
		}
	}
	if i < len(v.flags) && v.flags[i]&numbered != 0 && letters(v.lines, i) == r.Letters {
		add(i)
	}
	return found, gone
}

// untouched fails if others have changed lines [from, to) or those beside them.
func (x *Executor) untouched(ctx context.Context, a *address, from, to int) error {
	if a.view == nil || a.view.raw == nil || !a.guarded || a.forced {
		return nil
	}
	v := a.view
	lines, gaps := v.unseen(true)
	lines = slices.DeleteFunc(lines, func(i int) bool { return i < from-1 || i > to })
	gaps = slices.DeleteFunc(gaps, func(g int) bool { return g < from || g > to })
	if len(lines)+len(gaps) == 0 {
		return nil
	}
	return stalef("lines there have changed since you were shown them (by %s); nothing was changed.\n%s holds now:\n%s",
		x.who(ctx, a.abs, v, lines, gaps), a.abs, rowsAround(v.lines, v.with(lines, gaps), 1))
}

// A splice of lines replaces lines [from, to) by a text.
type lineSplice struct {
	from, to, edit int
	text           string
}

// span returns the lines [from, to) that an address means.
func (a *address) span(r LineRange) (from, to int, err error) {
	if r.Place != These {
		switch {
		case r.From.End:
			return len(a.lines), len(a.lines), nil
		case r.From.Number == 0 && r.Place == After, len(a.lines) == 0 && r.From.Number <= 1:
			return 0, 0, nil
		}
		from, err = a.line(r.From)
		if r.Place == After {
			from++
		}
		return from, from, err
	}
	if from, err = a.line(r.From); err != nil {
		return 0, 0, err
	}
	if to, err = a.line(r.To); err != nil {
		return 0, 0, err
	}
	return min(from, to), max(from, to) + 1, nil
}

// spliceLines makes the edits that name lines. Their numbers are those before the call.
func (x *Executor) spliceLines(ctx context.Context, a *address, text []byte,
	edits []Replacement) ([]byte, error) {
	var plan []lineSplice
	for i, e := range edits {
		if e.Lines == nil {
			continue
		}
		from, to, err := a.span(*e.Lines)
		first := from
		if e.Lines.Place == After && from > 0 {
			first--
		}
		if err == nil && e.Lines.Place != These && e.New == "" {
			err = errors.New("new_text is empty; there is nothing to insert")
		}
		if err == nil {
			err = x.untouched(ctx, a, first, to)
		}
		if err != nil {
			return nil, ofSeveral(i, edits, err)
		}
		plan = append(plan, lineSplice{from, to, i, e.New})
	}
	if plan == nil {
		return text, nil
	}
	slices.SortStableFunc(plan, func(a, b lineSplice) int { return cmp.Or(a.from-b.from, a.to-b.to) })
	for i := 1; i < len(plan); i++ {
		if plan[i].from < plan[i-1].to {
			return nil, fmt.Errorf("edits %d and %d are about the same lines", plan[i-1].edit+1,
				plan[i].edit+1)
		}
	}
	return joinSplices(a.lines, plan), nil
}

func ofSeveral(i int, edits []Replacement, err error) error {
	if len(edits) > 1 {
		return fmt.Errorf("edit %d of %d: %w", i+1, len(edits), err)
	}
	return err
}

// joinSplices returns the text of lines after splices that are in order. New lines end as
// those around them; a file without a final line break keeps its shape.
// A byte order mark stays before the first line, whichever that is.
func joinSplices(lines [][]byte, plan []lineSplice) []byte {
	if len(lines) > 0 && bytes.HasPrefix(lines[0], mark) {
		lines, plan = slices.Clone(lines), slices.Clone(plan)
		lines[0] = lines[0][len(mark):]
		for i := range plan {
			plan[i].text = strings.TrimPrefix(plan[i].text, string(mark))
		}
		return slices.Concat(mark, joinSplices(lines, plan))
	}
	usual := usualEnd(lines)
	open := len(lines) > 0 && !bytes.HasSuffix(lines[len(lines)-1], []byte("\n"))
	var out bytes.Buffer
	at := 0
	for n, p := range plan {
		out.Write(bytes.Join(lines[at:p.from], nil))
		at = p.to
		made := newLines(p.text)
		if b := out.Bytes(); len(made) > 0 && len(b) > 0 && b[len(b)-1] != '\n' {
			out.WriteString(usual)
		}
		end := p.end(lines, usual)
		for i, line := range made {
			out.WriteString(line)
			last := i == len(made)-1 && n == len(plan)-1 && p.to == len(lines)
			if last && (open || len(lines) == 0 && !strings.HasSuffix(p.text, "\n")) {
				continue
			}
			out.WriteString(end)
		}
	}
	out.Write(bytes.Join(lines[at:], nil))
	return out.Bytes()
}

// end returns how the new lines of a splice end: as the first line that they replace, or the line
// before them.
func (p lineSplice) end(lines [][]byte, usual string) string {
	switch {
	case p.from < p.to && p.from < len(lines):
		return cmp.Or(lineEndOf(lines[p.from]), usual)
	case p.from > 0:
		return cmp.Or(lineEndOf(lines[p.from-1]), usual)
	}
	return usual
}

// mark is the byte order mark of a text.
var mark = []byte("\ufeff")

// newLines returns the lines of a new text, without their ends. A final line break makes no
// difference.
func newLines(text string) (list []string) {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(lf(text), "\n"), "\n")
}

// lineEndOf returns LF or CRLF; "" if the line has no end.
func lineEndOf(line []byte) string { return string(line[len(body(line)):]) }

// usualEnd returns the line end that most lines have.
func usualEnd(lines [][]byte) string {
	crlf, all := 0, 0
	for _, line := range lines {
		switch lineEndOf(line) {
		case "\r\n":
			crlf, all = crlf+1, all+1
		case "\n":
			all++
		}
	}
	if crlf > 0 && 2*crlf >= all {
		return "\r\n"
	}
	return "\n"
}

// checkPart fails if an edit replaces a part of a line that others have changed.
func (x *Executor) checkPart(ctx context.Context, a *address, text []byte, from, to int) error {
	v := a.view
	if v == nil || v.raw == nil || !a.guarded || a.forced {
		return nil
	}
	var bad []int
	if from > 0 && text[from-1] != '\n' {
		bad = append(bad, bytes.Count(text[:from], []byte("\n")))
	}
	rest := text[to:]
	if to > 0 && text[to-1] != '\n' &&
		len(rest) > 0 && rest[0] != '\n' &&
		!bytes.HasPrefix(rest, []byte("\r\n")) {
		bad = append(bad, bytes.Count(text[:to], []byte("\n")))
	}
	bad = slices.DeleteFunc(bad, func(i int) bool {
		return i >= len(v.flags) || v.flags[i]&foreign == 0 || v.flags[i]&blank != 0
	})
	if len(bad) == 0 {
		return nil
	}
	return stalef("the line of old_text has changed since you were shown it (by %s); nothing was changed.\n%s holds now:\n%s",
		x.who(ctx, a.abs, v, bad, nil), a.abs, rowsAround(v.lines, bad, 1))
}

// addressOf returns the address of lines of a text.
func addressOf(s *Session, abs string, text []byte, v *view, c Condition) *address {
	return &address{abs: abs, lines: merge.Split(text), view: v, guarded: s.Guard.on(), forced: c.Force}
}

// A Row is a line of a text, or of the difference between two.
type Row struct {
	// '+' is new, '-' is gone, ' ' stays; '@' begins a piece; '\\' says that the row before ends
	// without a line break; '.' stands for N rows
	Mark byte
	// the number of the line, from 1: of a row that is gone in the old text, else in the new one
	N       int
	Old     int    // of '@': the number of its first line in the old text
	Letters string // of a line of the new text: two letters of its content
	Text    string // without the line end, and shortened
}

// The shape of the rows of a change.
const (
	rowContext = 1   // lines before and after a change
	rowRun     = 8   // rows of one mark; of more the first and last three are shown
	rowLimit   = 60  // rows in all
	rowBytes   = 400 // bytes of a line
)

// letters returns two letters for a line and its two neighbours. With its number they say
// which line is meant, and whether it is still the same one.
func letters(lines [][]byte, i int) string {
	h := fnv.New64a()
	for j := i - 1; j <= i+1; j++ {
		if j >= 0 && j < len(lines) {
			h.Write(body(lines[j]))
		}
		h.Write([]byte{'\n'})
	}
	n := h.Sum64() % (26 * 26)
	return string([]byte{'a' + byte(n/26), 'a' + byte(n%26)})
}

// body returns a line without its end.
func body(line []byte) []byte {
	if rest, ok := bytes.CutSuffix(line, []byte("\n")); ok {
		return bytes.TrimSuffix(rest, []byte("\r"))
	}
	return line
}

// changedRows returns the difference between two versions of a file, folded, and how many
// lines were added and removed.
func changedRows(before, after []byte) (rows []Row, added, removed int) {
	old, _, _ := decode(before)
	text, _, _ := decode(after)
	r := rowsOf{old: merge.Split(old), new: merge.Split(text)}
	for _, c := range merge.Changes(r.old, r.new) {
		added, removed = added+c.NewTo-c.NewFrom, removed+c.To-c.From
		if r.left == 0 {
			r.change(c)
		} else {
			r.left += c.NewTo - c.NewFrom + c.To - c.From
		}
	}
	if len(r.list) > 0 {
		r.run(' ', r.new, r.done, r.done+rowContext)
	}
	if r.left > 0 {
		r.list = append(r.list, Row{Mark: '.', N: r.left})
	}
	return r.list, added, removed
}

// rowsOf collects the rows of a change.
type rowsOf struct {
	old, new [][]byte
	list     []Row
	done     int // lines of the new text that are passed, 0 before the first change
	left     int // changed lines that have no room
}

func (r *rowsOf) change(c merge.Change) {
	from := max(r.done, c.NewFrom-rowContext)
	if len(r.list) == 0 || from > r.done+rowContext {
		if len(r.list) > 0 {
			r.run(' ', r.new, r.done, r.done+rowContext)
		}
		if len(r.list) >= rowLimit {
			r.left = c.NewTo - c.NewFrom + c.To - c.From
			r.done = len(r.new)
			return
		}
		r.list = append(r.list, Row{Mark: '@', N: from + 1, Old: c.From - (c.NewFrom - from) + 1})
	} else {
		from = r.done
	}
	r.run(' ', r.new, from, c.NewFrom)
	r.run('-', r.old, c.From, c.To)
	r.run('+', r.new, c.NewFrom, c.NewTo)
	r.done = c.NewTo
}

// run adds the lines [from, to), of a long run the first and the last.
func (r *rowsOf) run(mark byte, lines [][]byte, from, to int) {
	to = min(to, len(lines))
	for i := from; i < to; i++ {
		if to-from > rowRun && i == from+3 {
			r.list = append(r.list, Row{Mark: '.', N: to - from - 6})
			i = to - 3
		}
		row := Row{Mark: mark, N: i + 1, Text: string(search.Shorten(body(lines[i]), rowBytes))}
		if len(row.Text) < len(body(lines[i])) {
			row.Text += "…"
		}
		if mark != '-' {
			row.Letters = letters(lines, i)
		}
		r.list = append(r.list, row)
		if mark != ' ' && !bytes.HasSuffix(lines[i], []byte("\n")) {
			r.list = append(r.list, Row{Mark: '\\'})
		}
	}
}
