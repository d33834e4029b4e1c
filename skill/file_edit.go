package skill

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"slices"
	"sort"
	"strings"

	"textskill/skill/internal/merge"
	"textskill/skill/internal/workspace"
)

// EditFile replaces the first occurrence of Old in a file by New, literally. All other
// bytes stay as they are. Line ends need not match: an Old with LF matches CRLF, and New
// gets the line ends of the file. Only an Old that ends with CR must match exactly. A
// file in another encoding than UTF-8 keeps it. It returns a [Changed].
type EditFile struct {
	Path      string
	Old, New  string // Old must not be empty
	DryRun    bool   // describe the change only
	CheckMore bool   // report in Changed.More whether Old occurs again, be it in a part of the replaced text

	If    Condition
	Edits []Replacement // made instead of Old and New: all of them, or none
}

// A Replacement is one edit of several: of a text, or of lines. Lines have the numbers that
// they have before the call; then texts are replaced one after the other. Without All, an Old
// that occurs more than once is a [*ManyMatchesError].
type Replacement struct {
	Old, New string     // Old must not be empty, unless the file is
	All      bool       // replace each occurrence
	Lines    *LineRange // instead of Old; New is whole lines then
}

// The sizes in bytes of a file up to which several edits are made in it at once, and up to
// which a single one is made in memory.
const (
	maxEdited   = 64 << 20
	maxInMemory = 4 << 20
)

func (EditFile) op() {}

func (x *Executor) EditFile(ctx context.Context, s *Session, a EditFile) (Changed, error) {
	abs, err := x.path(s, "path", a.Path)
	switch {
	case err != nil:
		return Changed{}, err
	case a.Edits == nil && a.Old == "":
		return Changed{}, noOldText()
	}
	if err := a.If.checkHash(x, abs); err != nil {
		return Changed{}, err
	}
	if a.Edits != nil {
		return x.editEach(ctx, s, abs, a)
	}
	r := Changed{}
	var before, after []byte // the text, where the file is in another encoding than UTF-8
	c, err := x.ws.EditFile(ctx, abs, workspace.WriteOptions{DryRun: a.DryRun},
		func(src io.ReaderAt, size int64) (sp workspace.Splice, err error) {
			o, err := findOccurrence(ctx, abs, src, size, a.Old, a.New)
			if err == nil && a.CheckMore {
				_, r.More, err = o.again(ctx)
			}
			if err != nil {
				return sp, err
			}
			r.Bytes = int64(len(o.Splice.New))
			sp, before, after, err = o.encoded(size)
			return sp, err
		})
	if err != nil {
		return Changed{}, err
	}
	if c.Diff != "" && before != nil { // of the text, not of the bytes
		c.Diff = workspace.Unified(c.Path, c.Path, before, after)
	}
	r.Change = c
	x.noteChange(s, abs, c.Applied)
	return r, nil
}

func noOldText() error {
	return &ArgError{Arg: "old text", Reason: "is empty; name the text to replace"}
}

// An edited file is what the edits of a call make of it.
type editedFile struct {
	before, after []byte // the file's bytes
	rows          []Row
	added, gone   int
}

// editEach makes the edits of a list.
func (x *Executor) editEach(ctx context.Context, s *Session, abs string, a EditFile) (Changed, error) {
	var e editedFile
	large := false // it was not read into memory
	c, err := x.ws.EditFile(ctx, abs, workspace.WriteOptions{DryRun: a.DryRun}, func(src io.ReaderAt, size int64) (workspace.Splice, error) {
		if large = size > maxInMemory && len(a.Edits) == 1 && !a.Edits[0].All &&
			a.Edits[0].Lines == nil; large {
			return x.editLarge(ctx, abs, src, size, a.Edits[0], &e)
		}
		if size > maxEdited {
			return workspace.Splice{}, &TooLargeError{abs, size, maxEdited}
		}
		data, err := readRange(src, 0, size)
		if err != nil {
			return workspace.Splice{}, err
		}
		e = editedFile{before: data}
		if err := x.watched(s, abs, data,
			func(v *view) error { return x.makeEdits(ctx, s, abs, v, a, &e) }); err != nil {
			return workspace.Splice{}, err
		}
		return spliceOf(e.before, e.after), nil
	})
	if err != nil {
		return Changed{}, err
	}
	r := Changed{Change: c, Rows: e.rows, Added: e.added, Removed: e.gone}
	switch {
	case large:
		x.noteChange(s, abs, c.Applied)
	case c.Applied:
		x.noteOwn(s, abs, e.before, e.after, false, e.rows)
	}
	return r, nil
}

// makeEdits makes the edits in memory.
func (x *Executor) makeEdits(ctx context.Context, s *Session, abs string, v *view, a EditFile,
	e *editedFile) error {
	text, encoding, isText := decode(e.before)
	if err := checkMark(abs, text); err != nil {
		return err
	}
	at, edits := addressOf(s, abs, text, v, a.If), a.Edits
	now, err := x.spliceLines(ctx, at, text, edits)
	if err != nil {
		return err
	}
	for i := range edits {
		if !isText && hasLetters(edits[i].New) {
			return ofSeveral(i, edits, mixedError(abs))
		}
	}
	together, ok, err := x.replaceTogether(ctx, at, text, edits)
	if err == nil && !ok {
		together, err = x.replaceInTurn(ctx, at, now, edits, bytes.Equal(now, text))
	}
	if err != nil {
		return err
	}
	e.rows, e.added, e.gone = changedRows(text, together)
	if e.after = together; encoding != "" {
		e.after, err = encodeAs(encoding, abs, string(together))
	}
	return err
}

// replaceTogether makes edits of texts in one pass; ok is false where that cannot be done.
func (x *Executor) replaceTogether(ctx context.Context, at *address, text []byte,
	edits []Replacement) (now []byte, ok bool, err error) {
	plain := make([]merge.Edit, len(edits))
	for i, e := range edits {
		if e.All || e.Lines != nil {
			return nil, false, nil
		}
		plain[i] = merge.Edit{Old: e.Old, New: e.New}
	}
	now, places, ok := merge.Together(text, plain)
	for i := range places {
		if err := x.checkPart(ctx, at, text, places[i], places[i]+len(edits[i].Old)); err != nil {
			return nil, true, ofSeveral(i, edits, err)
		}
	}
	return now, ok, nil
}

// replaceInTurn makes the edits of texts one after the other. guard is as of replaceText1.
func (x *Executor) replaceInTurn(ctx context.Context, at *address, now []byte, edits []Replacement,
	guard bool) ([]byte, error) {
	for i, e := range edits {
		if e.Lines != nil {
			continue
		}
		next, err := x.replaceText1(ctx, at, now, e, guard)
		if err != nil {
			return nil, ofSeveral(i, edits, err)
		}
		now = next
	}
	return now, nil
}

// replaceText1 replaces the text of one edit. guard says that the lines are as they were
// before the call.
func (x *Executor) replaceText1(ctx context.Context, at *address, text []byte, e Replacement,
	guard bool) ([]byte, error) {
	if e.Old == "" && len(text) == 0 {
		return []byte(e.New), nil
	}
	if e.Old == "" {
		return nil, noOldText()
	}
	spots, overlap := occurrences(text, e.Old)
	switch {
	case len(spots) == 0:
		near := nearest(ctx, bytes.NewReader(text), int64(len(text)), e.Old)
		return nil, &NoMatchError{Path: at.abs, Near: near, Rows: at.near(text, near)}
	case !e.All && (len(spots) > 1 || overlap > 0):
		return nil, &ManyMatchesError{at.abs, linesAt(text, spots, overlap)}
	}
	if !e.All && guard {
		if err := x.checkPart(ctx, at, text, spots[0][0], spots[0][1]); err != nil {
			return nil, err
		}
	}
	return replaceSpots(text, spots, e.Old, e.New), nil
}

// replaceSpots replaces the occurrences of old at the spots.
func replaceSpots(text []byte, spots [][2]int, old, new string) []byte {
	out := make([]byte, 0, len(text)+len(spots)*max(0, len(new)-len(old)))
	last := 0
	for _, sp := range spots {
		out = append(append(out, text[last:sp[0]]...), withEnds(text, sp[0], sp[1], old, new)...)
		last = sp[1]
	}
	return append(out, text[last:]...)
}

// occurrences returns where old is in a text, apart from each other, and where it is besides
// although that overlaps the first one; 0 if it is not.
func occurrences(text []byte, old string) (spots [][2]int, overlap int) {
	want, plain := []byte(old), text
	origin := func(i int) int { return i }
	if strings.Contains(old, "\n") && !strings.HasSuffix(old, "\r") {
		want = []byte(lf(old))
		plain, origin = withoutCR(text)
	}
	for at := 0; ; {
		i := bytes.Index(plain[at:], want)
		if i < 0 {
			return spots, overlap
		}
		i += at
		if at = i + len(want); len(spots) == 0 {
			if j := bytes.Index(plain[i+1:], want); j >= 0 && i+1+j < at {
				overlap = origin(i + 1 + j)
			}
		}
		spots = append(spots, [2]int{origin(i), origin(at)})
	}
}

// withoutCR returns a text with LF in place of each CRLF, and a function that returns where a byte
// of it, or its end, is in the text itself. A CR before an LF belongs to the LF.
func withoutCR(text []byte) (plain []byte, origin func(int) int) {
	if bytes.IndexByte(text, '\r') < 0 {
		return text, func(i int) int { return i }
	}
	plain = make([]byte, 0, len(text))
	var cut []int // offsets in plain before which a CR was left out
	for i, c := range text {
		if c == '\r' && i+1 < len(text) && text[i+1] == '\n' {
			cut = append(cut, len(plain))
			continue
		}
		plain = append(plain, c)
	}
	return plain, func(i int) int { return i + sort.SearchInts(cut, i) }
}

// linesAt returns the numbers of the lines in which the occurrences begin.
func linesAt(text []byte, spots [][2]int, overlap int) (lines []int) {
	starts := make([]int, 0, len(spots)+1)
	for _, sp := range spots {
		starts = append(starts, sp[0])
	}
	if overlap > 0 {
		starts = slices.Insert(starts, 1, overlap)
	}
	line, at := 1, 0
	for _, start := range starts {
		line += bytes.Count(text[at:max(at, start)], []byte("\n"))
		at = max(at, start)
		lines = append(lines, line)
	}
	return lines
}

// withEnds returns a new text with the line ends of the text around [from, to).
func withEnds(text []byte, from, to int, old, new string) string {
	if !strings.Contains(new, "\n") {
		return new
	}
	found := text[from:to]
	end := bytes.IndexByte(found, '\n')
	isCRLF := end > 0 && found[end-1] == '\r'
	switch {
	case end >= 0 && string(found) == old:
		return new
	case end >= 0 && !isCRLF:
		return lf(new)
	case end < 0:
		if i := bytes.IndexByte(text[to:], '\n'); i >= 0 {
			isCRLF = to+i > 0 && text[to+i-1] == '\r'
		} else {
			i := bytes.LastIndexByte(text[:from], '\n')
			isCRLF = i > 0 && text[i-1] == '\r'
		}
	}
	if isCRLF {
		return crlf(new)
	}
	return new
}

// spliceOf returns what differs between two versions of a file.
func spliceOf(before, after []byte) workspace.Splice {
	from, end := 0, 0 // what both begin and end with
	shorter := min(len(before), len(after))
	for from < shorter && before[from] == after[from] {
		from++
	}
	for shorter -= from; end < shorter && before[len(before)-1-end] == after[len(after)-1-end]; {
		end++
	}
	return workspace.Splice{Offset: int64(from), Old: int64(len(before) - end - from),
		New: after[from : len(after)-end]}
}

// An occurrence of a text in a file, and what replaces it there.
type occurrence struct {
	workspace.Splice
	abs, old, encoding string
	text               io.ReaderAt // the file as UTF-8
	size               int64       // of text
}

// findOccurrence finds the first occurrence of old in a file, which is not read into memory.
func findOccurrence(ctx context.Context, abs string, src io.ReaderAt, size int64, old,
	new string) (o occurrence, err error) {
	o = occurrence{abs: abs, old: old}
	if o.text, o.size, o.encoding, err = asText(src, size); err != nil {
		return o, err
	}
	ok := false
	if o.Splice, ok, err = locate(ctx, o.text, o.size, old, new); err == nil && !ok {
		err = &NoMatchError{Path: abs, Near: nearest(ctx, o.text, o.size, old)}
	}
	if err == nil {
		err = checkLetters(abs, o.text, o.size, o.encoding, new)
	}
	return o, err
}

// again returns where the text occurs again, be it in a part of this occurrence.
func (o *occurrence) again(ctx context.Context) (at int64, ok bool, err error) {
	next := o.Offset + 1
	more, ok, err := locate(ctx, io.NewSectionReader(o.text, next, o.size-next), o.size-next, o.old, "")
	return next + more.Offset, ok, err
}

// encoded returns the splice in the encoding of the file, and its text before and after if that is
// not UTF-8. size is that of the file.
func (o *occurrence) encoded(size int64) (sp workspace.Splice, before, after []byte, err error) {
	if o.encoding == "" {
		return o.Splice, nil, nil, nil
	}
	if before, err = readRange(o.text, 0, o.size); err != nil {
		return sp, nil, nil, err
	}
	after = slices.Concat(before[:o.Offset], o.New, before[o.Offset+o.Old:])
	data, err := encodeAs(o.encoding, o.abs, string(after))
	return workspace.Splice{Old: size, New: data}, before, after, err
}

// editLarge replaces a text in a file that is not read into memory.
func (x *Executor) editLarge(ctx context.Context, abs string, src io.ReaderAt, size int64, one Replacement,
	e *editedFile) (sp workspace.Splice, err error) {
	if one.Old == "" {
		return sp, noOldText()
	}
	o, err := findOccurrence(ctx, abs, src, size, one.Old, one.New)
	if err != nil {
		return sp, err
	}
	second, again, err := o.again(ctx)
	if err != nil {
		return sp, err
	}
	line, err := lineBreaks(ctx, o.text, o.Offset)
	if err == nil && again {
		var more int
		more, err = lineBreaks(ctx, o.text, second)
		return sp, cmp.Or(err, error(&ManyMatchesError{abs, []int{line + 1, more + 1}}))
	}
	if err == nil {
		err = e.window(o.text, o.size, o.Splice, line)
	}
	if err == nil {
		sp, _, _, err = o.encoded(size)
	}
	return sp, err
}

// window describes a splice by the lines around it; line is how many come before it.
func (e *editedFile) window(text io.ReaderAt, size int64, sp workspace.Splice, line int) error {
	const around = 4 << 10
	from, to := max(0, sp.Offset-around), min(size, sp.Offset+sp.Old+around)
	before, err := readRange(text, from, to)
	if err != nil {
		return err
	}
	at := int(sp.Offset - from)
	first := line - bytes.Count(before[:at], []byte("\n"))
	after := slices.Concat(before[:at], sp.New, before[at+int(sp.Old):])
	e.rows, e.added, e.gone = changedRows(before, after)
	for i := range e.rows {
		if r := &e.rows[i]; r.Mark != '.' {
			r.N, r.Old, r.Letters = r.N+first, r.Old+first, ""
		}
	}
	return nil
}

// lineBreaks returns how many lines end before the offset to.
func lineBreaks(ctx context.Context, src io.ReaderAt, to int64) (n int, err error) {
	buf := make([]byte, window)
	for at := int64(0); at < to; {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		m, err := src.ReadAt(buf[:min(window, to-at)], at)
		if err != nil && err != io.EOF {
			return 0, err
		}
		if m == 0 {
			break
		}
		n += bytes.Count(buf[:m], []byte("\n"))
		at += int64(m)
	}
	return n, nil
}

// Of a file, firstWindow bytes are searched, then twice as many, up to window. An occurrence
// that is near costs little, for there may be one after the other.
const (
	firstWindow = 4 << 10
	window      = 1 << 20
)

// locate finds the first occurrence of old in src and returns its replacement. It needs
// memory for one window and old, whatever the size of the file.
func locate(ctx context.Context, src io.ReaderAt, size int64, old, new string) (workspace.Splice,
	bool, error) {
	anyLineEnd := strings.Contains(old, "\n") && !strings.HasSuffix(old, "\r")
	want := []byte(old)
	if anyLineEnd {
		want = []byte(lf(old))
	}
	overlap := 2*len(want) + 2 // an occurrence may be twice as long, with CR before each LF
	var buf []byte
	for at, searched := int64(0), firstWindow; ; searched = min(2*searched, window) {
		if long := int(min(size-at, int64(searched+overlap))); long > len(buf) {
			buf = make([]byte, long)
		}
		if err := ctx.Err(); err != nil {
			return workspace.Splice{}, false, err
		}
		n, err := src.ReadAt(buf[:min(int64(len(buf)), size-at)], at)
		if err != nil && err != io.EOF {
			return workspace.Splice{}, false, err
		}
		part := buf[:n]
		from, to := match(part, want, anyLineEnd)
		if from >= 0 && (to <= len(part)-1 || at+int64(n) >= size) {
			found := part[from:to]
			text, err := matchLineEnds(src, size, at+int64(from), found, old, new)
			return workspace.Splice{Offset: at + int64(from), Old: int64(to - from), New: text},
				err == nil, err
		}
		if at+int64(n) >= size {
			return workspace.Splice{}, false, nil
		}
		at += int64(max(1, n-overlap))
	}
}

// match returns the range of the first occurrence of want in part, or -1. With anyLineEnd,
// LF in want also matches CRLF.
func match(part, want []byte, anyLineEnd bool) (from, to int) {
	plain, origin := part, func(i int) int { return i }
	if anyLineEnd {
		plain, origin = withoutCR(part)
	}
	i := bytes.Index(plain, want)
	if i < 0 {
		return -1, -1
	}
	return origin(i), origin(i + len(want))
}

func lf(s string) string   { return strings.ReplaceAll(s, "\r\n", "\n") }
func crlf(s string) string { return strings.ReplaceAll(lf(s), "\n", "\r\n") }

// matchLineEnds is withEnds for a text found in a file. It reads only the bytes around that text.
func matchLineEnds(src io.ReaderAt, size, at int64, found []byte, old, new string) ([]byte, error) {
	if !strings.Contains(new, "\n") || bytes.IndexByte(found, '\n') >= 0 {
		return []byte(withEnds(found, 0, len(found), old, new)), nil
	}
	first := max(0, at-block)
	around, err := readRange(src, first, min(size, at+int64(len(found))+block))
	if err != nil {
		return nil, err
	}
	from := min(int(at-first), len(around))
	return []byte(withEnds(around, from, min(from+len(found), len(around)), old, new)), nil
}
