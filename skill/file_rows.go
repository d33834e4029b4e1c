package skill

import (
	"bytes"
	"hash/fnv"

	"textskill/skill/internal/merge"
	"textskill/skill/internal/search"
)

// A Row is a line of a text, or of the difference between two.
type Row struct {
	Mark    byte   // '+' is new, '-' is gone, ' ' stays; '@' begins a piece; '\\' says that the row before ends without a line break; '.' stands for N rows
	N       int    // the number of the line, from 1: of a row that is gone in the old text, else in the new one
	Old     int    // of '@': the number of its first line in the old text
	Letters string // of a line of the new text: see [Letters]
	Text    string // without the line end, and shortened
}

// The shape of the rows of a change.
const (
	rowContext = 1   // lines before and after a change
	rowRun     = 8   // rows of one mark; of more the first and last three are shown
	rowLimit   = 60  // rows in all
	rowBytes   = 400 // bytes of a line
)

// Letters returns two letters for a line and its two neighbours. With its number they say
// which line is meant, and whether it is still the same one.
func Letters(lines [][]byte, i int) string {
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
			row.Letters = Letters(lines, i)
		}
		r.list = append(r.list, row)
		if mark != ' ' && !bytes.HasSuffix(lines[i], []byte("\n")) {
			r.list = append(r.list, Row{Mark: '\\'})
		}
	}
}
