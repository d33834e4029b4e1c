package skill

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"textskill/skill/internal/merge"
	"textskill/skill/internal/words"
	"textskill/skill/internal/workspace"
)

// ReplaceText replaces a text in all files that a pattern finds, as one change, or in none. It
// returns a [Replaced].
type ReplaceText struct {
	Path     string // the folder to search; "" means the session's
	Glob     string // as for [Grep]; without "/" at any depth
	Old, New string // Old must not be empty
	Regex    bool   // Old is a regular expression, and New may have $1
	Count    int    // refuse unless Old occurs so often; negative for any number
	Preview  bool   // only count
}

func (ReplaceText) op() {}

// Replaced is the result of [ReplaceText].
type Replaced struct {
	Changed
	Files   []ReplacedFile // those with the text
	Total   int            // how often it occurs
	Matched int            // how many files the pattern finds
	NotText int            // how many of these are not text
	Example []Row          // of a preview: the first changed lines of the first file
	Preview bool
}

// A ReplacedFile is a file with the text.
type ReplacedFile struct {
	Path  string // absolute
	Count int
}

// Message says how often the text was found.
func (r Replaced) Message() string {
	did := "replaced"
	if r.Preview || !r.Applied {
		did = "would replace"
	}
	text := fmt.Sprintf("%s %d in %d of %s", did, r.Total, len(r.Files),
		words.Count(r.Matched, "file", "files"))
	if r.NotText > 0 {
		text += fmt.Sprintf(", %d are not text", r.NotText)
	}
	return text
}

// maxReplaced is how many bytes the files that are changed may hold together.
const maxReplaced = 256 << 20

// errPreview ends a change that is not made.
var errPreview = errors.New("preview")

func (x *Executor) ReplaceText(ctx context.Context, s *Session, a ReplaceText) (Replaced, error) {
	if a.Old == "" || a.Glob == "" {
		return Replaced{}, &ArgError{Arg: "old_text", Reason: "and glob must not be empty"}
	}
	var re *regexp.Regexp
	if a.Regex {
		var err error
		if re, err = regexp.Compile("(?m)" + a.Old); err != nil {
			return Replaced{}, fmt.Errorf("old_text is not a regular expression: %w", err)
		}
	}
	names, err := x.globbed(ctx, s, a.Path, a.Glob)
	if err != nil {
		return Replaced{}, err
	}
	var r Replaced
	var changes []workspace.FileChange
	c, err := x.ws.ChangeFiles(ctx, func() ([]workspace.FileChange, error) {
		r = Replaced{Matched: len(names), Preview: a.Preview}
		if changes, err = x.replaceEach(ctx, names, a, re, &r); err != nil {
			return nil, err
		}
		if err := r.check(a); err != nil {
			return nil, err
		}
		return slices.DeleteFunc(slices.Clone(changes),
			func(c workspace.FileChange) bool { return bytes.Equal(c.Before, c.After) }), nil
	})
	if errors.Is(err, errPreview) {
		r.Example, _, _ = changedRows(changes[0].Before, changes[0].After)
		return r, nil
	}
	if r.Change = c; err == nil && c.Applied {
		for _, f := range changes {
			x.noteOwn(s, f.Path, f.Before, f.After, false, nil)
		}
	}
	return r, err
}

// replaceEach replaces the text in the files with these names, in memory.
func (x *Executor) replaceEach(ctx context.Context, names []string, a ReplaceText, re *regexp.Regexp,
	r *Replaced) (changes []workspace.FileChange, err error) {
	room := int64(maxReplaced)
	for _, abs := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		change, n, err := x.replaceIn(abs, a, re, r, &room)
		if err != nil {
			return nil, err
		}
		if r.Total += n; n > 0 {
			r.Files = append(r.Files, ReplacedFile{abs, n})
			changes = append(changes, change)
		}
	}
	return changes, nil
}

// check fails if what was found is not to be replaced.
func (r *Replaced) check(a ReplaceText) error {
	switch {
	case r.Matched == 0:
		return fmt.Errorf("no file is like %s", a.Glob)
	case r.Total == 0:
		return fmt.Errorf("old_text is in none of %s like %s", words.Count(r.Matched, "file", "files"),
			a.Glob)
	case a.Count >= 0 && a.Count != r.Total:
		return &CountError{*r, a.Count}
	case a.Preview:
		return errPreview
	}
	return nil
}

// A CountError reports that a text does not occur as often as it should.
type CountError struct {
	Found Replaced
	Count int
}

func (e *CountError) Error() string {
	return fmt.Sprintf("old_text occurs %d times in %d of %s, not %d times; nothing was changed",
		e.Found.Total, len(e.Found.Files), words.Count(e.Found.Matched, "file", "files"), e.Count)
}

// globbed returns the files that a pattern finds, in order.
func (x *Executor) globbed(ctx context.Context, s *Session, path, glob string) ([]string, error) {
	r, err := x.Find(ctx, s, Find{Path: path, Pattern: glob, Braces: true, SkipIgnored: true,
		Limit: workspace.MaxVisited})
	if err != nil {
		return nil, err
	}
	found := r.Matches
	names := slices.DeleteFunc(slices.Clone(found), func(abs string) bool {
		info, err := x.ws.Stat(abs, true)
		return err != nil || !info.Mode.IsRegular()
	})
	if len(names) == 0 && len(found) > 0 && !strings.Contains(glob, "**") { // a folder is what is in it
		return x.globbed(ctx, s, path, strings.TrimSuffix(glob, "/")+"/**")
	}
	return names, nil
}

// replaceIn returns what a file holds after the replacement, and how many there were.
func (x *Executor) replaceIn(abs string, a ReplaceText, re *regexp.Regexp, r *Replaced,
	room *int64) (c workspace.FileChange, n int, err error) {
	data, err := x.ws.ReadUpTo(abs, *room)
	if errors.Is(err, syscall.EFBIG) {
		return c, 0, fmt.Errorf("%s: the files hold more than %d bytes; narrow the glob", abs, maxReplaced)
	}
	if err != nil {
		return c, 0, err
	}
	text, encoding, isText := decode(data)
	if bytes.IndexByte(text, 0) >= 0 {
		r.NotText++
		return c, 0, nil
	}
	var after []byte
	if re != nil {
		rest, marked := bytes.CutPrefix(text, mark)
		n = len(re.FindAllIndex(rest, -1))
		if after = re.ReplaceAll(rest, []byte(a.New)); marked {
			after = slices.Concat(mark, after)
		}
	} else {
		spots, _ := occurrences(text, a.Old)
		n, after = len(spots), replaceSpots(text, spots, a.Old, a.New)
	}
	switch {
	case n == 0:
		return c, 0, nil
	case !isText && hasLetters(a.New):
		return c, 0, mixedError(abs)
	case encoding != "":
		after, err = encodeAs(encoding, abs, string(after))
	}
	*room -= int64(len(data))
	return workspace.FileChange{Path: abs, Before: data, After: after}, n, err
}

// TransferLines moves or copies whole lines within a file, or to another. It returns a
// [Transferred].
type TransferLines struct {
	Source   string
	From, To LineRef
	Dest     string  // made if it is not there
	After    LineRef // the line of Dest after which they come
	Copy     bool
	If       Condition
}

func (TransferLines) op() {}

// Transferred is the result of [TransferLines].
type Transferred struct {
	Changed
	Source, Dest string // absolute
	From, To     int    // the lines they were, from 1
	At           int    // the first line that they are now, from 1
	Rows         string // the first and the last of them, and those around, with numbers and letters
	Copied       bool
}

// Message says which lines were moved where.
func (t Transferred) Message() string {
	did := "moved"
	if t.Copied {
		did = "copied"
	}
	n := t.To - t.From + 1
	return fmt.Sprintf("%s lines %d-%d of %s (%d) to %s:%d-%d", did, t.From, t.To, t.Source, n, t.Dest,
		t.At, t.At+n-1)
}

func (x *Executor) TransferLines(ctx context.Context, s *Session, a TransferLines) (Transferred, error) {
	src, dst, err := x.paths(s, a.Source, a.Dest)
	if err != nil {
		return Transferred{}, err
	}
	t := Transferred{Source: src, Dest: dst, Copied: a.Copy}
	var p patching
	c, err := x.ws.ChangeFiles(ctx, func() ([]workspace.FileChange, error) {
		p = patching{x: x, s: s, condition: a.If, room: maxPatched, files: map[string]*workspace.FileChange{}}
		if err := x.transfer(ctx, &p, a, &t); err != nil {
			return nil, err
		}
		return p.changes(), nil
	})
	if t.Change = c; err == nil && c.Applied {
		for _, f := range p.files {
			x.noteOwn(s, f.Path, f.Before, f.After, false,
				[]Row{{Mark: '+', N: t.At}, {Mark: '+', N: t.At + t.To - t.From}})
		}
	}
	return t, err
}

// A lineBlock is the lines of a transfer, and where they go.
type lineBlock struct {
	source, dest *address
	from, to, at int
}

// transfer makes the change in memory.
func (x *Executor) transfer(ctx context.Context, p *patching, a TransferLines, t *Transferred) error {
	src, err := p.existing(t.Source)
	if err != nil {
		return err
	}
	dst, err := p.file(t.Dest)
	if err != nil {
		return err
	}
	var b lineBlock
	err = p.address(src, func(at *address) (err error) {
		b.source = at
		if b.from, b.to, err = at.span(LineRange{From: a.From, To: a.To}); err == nil {
			err = x.untouched(ctx, at, b.from, b.to)
		}
		return err
	})
	if err != nil {
		return err
	}
	err = p.address(dst, func(at *address) (err error) {
		b.dest = at
		b.at, _, err = at.span(LineRange{From: a.After, Place: After})
		if err == nil && a.After.Number > 0 {
			err = x.untouched(ctx, at, b.at-1, b.at)
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case src == dst && b.from < b.at && b.at < b.to:
		return fmt.Errorf("%s:%v lies in the lines themselves", t.Dest, a.After)
	}
	t.From, t.To, t.At = b.from+1, b.to, b.at+1
	if src == dst {
		return p.put(src, b.within(a.Copy, t), t)
	}
	if !a.Copy {
		if err := p.put(src, joinSplices(b.source.lines, []lineSplice{{from: b.from, to: b.to}}), t); err != nil {
			return err
		}
	}
	after := []byte(b.text())
	if len(b.dest.lines) > 0 {
		after = joinSplices(b.dest.lines, []lineSplice{{from: b.at, to: b.at, text: b.text()}})
	}
	return p.put(dst, after, t)
}

// within returns the text of a file after a transfer within it, and corrects where the lines are.
func (b *lineBlock) within(duplicate bool, t *Transferred) []byte {
	plan := []lineSplice{{from: b.at, to: b.at, text: b.text()}}
	if !duplicate {
		plan = append(plan, lineSplice{from: b.from, to: b.to})
	}
	if !duplicate && b.at >= b.to {
		slices.Reverse(plan)
		t.At -= b.to - b.from
	}
	return keepEnd(b.source.lines, joinSplices(b.source.lines, plan))
}

// address runs use with the address of lines of a file.
func (p *patching) address(f *workspace.FileChange, use func(*address) error) error {
	return p.x.watched(p.s, f.Path, f.Before, func(v *view) error {
		text, _, _ := decode(f.Before)
		return use(addressOf(p.s, f.Path, text, v, p.condition))
	})
}

// text returns the lines of a block, without a byte order mark; the last one ends like the others.
func (b *lineBlock) text() string {
	text := strings.TrimPrefix(string(bytes.Join(b.source.lines[b.from:b.to], nil)), string(mark))
	if !strings.HasSuffix(text, "\n") {
		text += usualEnd(b.source.lines)
	}
	return text
}

// keepEnd lets a text end with a line break if it did before.
func keepEnd(lines [][]byte, after []byte) []byte {
	end := lineEndOf(lines[len(lines)-1])
	switch has := bytes.HasSuffix(after, []byte("\n")); {
	case end == "" && has:
		return bytes.TrimSuffix(bytes.TrimSuffix(after, []byte("\n")), []byte("\r"))
	case end != "" && !has && len(after) > 0:
		return append(after, end...)
	}
	return after
}

// put lets a file hold a text, in its encoding.
func (p *patching) put(f *workspace.FileChange, text []byte, t *Transferred) (err error) {
	_, encoding, _ := decode(f.Before)
	if f.Path == t.Dest {
		lines := merge.Split(text)
		t.Rows = rowsAround(lines, []int{t.At - 1, t.At + t.To - t.From - 1}, 1)
	}
	f.After, err = encodeAs(encoding, f.Path, string(text))
	return err
}
