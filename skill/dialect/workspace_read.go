package dialect

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"textskill/skill"
	"textskill/skill/internal/words"
)

type readFilesArgs struct {
	Paths     []string `arg:"paths,path,file_path" is:"path,required" doc:"files, or lines of them: a.go:10-40, a.go:100-, a.go:-20 (the last 20)"`
	Numbers   bool     `arg:"numbers" doc:"number the lines, like 12ab, for edit"`
	Offset    *int     `arg:"offset" is:"hidden"`
	Limit     *int     `arg:"limit" is:"hidden"`
	Start     *int     `arg:"start_line" is:"hidden"`
	End       *int     `arg:"end_line" is:"hidden"`
	ViewRange []int    `arg:"view_range" is:"hidden"`
	Head      int      `arg:"head" is:"hidden"`
	Tail      int      `arg:"tail" is:"hidden"`
}

var readTool = row(Tool{Name: "read", Title: "Read files",
	Doc: "Read files: text (64 KB in all), pictures and PDFs. A cut answer says how to go on."},
	func(in *call, a readFilesArgs) (Reply, error) {
		op := skill.ReadFiles{MaxBytes: maxReply, MaxMedia: maxShown, Letters: a.Numbers}
		suffix := a.lines()
		for _, path := range a.Paths {
			f, err := in.fileRange(path + suffix)
			if err != nil {
				return Reply{}, err
			}
			op.Files = append(op.Files, f)
		}
		if len(op.Files) == 0 {
			return Reply{}, errors.New("paths is empty; name a file")
		}
		r, err := do[skill.FilesRead](in, op)
		reply := Reply{Body: in.filesText(r, a.Numbers)}
		for _, f := range r.Files { // what was read and is not text, and links to what was not read
			if f.Type != "" && f.Err == nil && (f.Note == "" || f.Content != nil) {
				reply.Blocks = append(reply.Blocks, Block{Type: f.Type, Path: f.Path, Data: f.Content})
			}
		}
		return reply, adviseFolder(err)
	})

// adviseFolder adds to the error of a path that is a folder what to do.
func adviseFolder(err error) error { return advise(syscall.EISDIR, "list shows a folder", err) }

// maxShown is how many bytes of pictures and documents one reply holds. In base64 they have
// 10 million, and clients of MCP read 10 MiB.
const maxShown = 7_500_000

// lines is what a path ends with for lines that are named in the way of other tools.
func (a readFilesArgs) lines() string {
	given := func(n *int) int {
		if n == nil {
			return 0
		}
		return *n
	}
	first, last := 1, 0
	switch {
	case a.Offset != nil || a.Limit != nil:
		if first = max(1, given(a.Offset)); given(a.Limit) > 0 {
			last = first + *a.Limit - 1
		}
	case a.Start != nil || a.End != nil:
		first, last = max(1, given(a.Start)), given(a.End)
	case len(a.ViewRange) == 2:
		first, last = max(1, a.ViewRange[0]), a.ViewRange[1]
	case a.Head > 0:
		last = a.Head
	case a.Tail > 0:
		return fmt.Sprintf(":-%d", a.Tail)
	default:
		return ""
	}
	if last <= 0 {
		return fmt.Sprintf(":%d-", first)
	}
	return fmt.Sprintf(":%d-%d", first, last)
}

// pathAndLines matches a path with lines: PATH:LINE@BYTE, PATH:LINE, PATH:FIRST-LAST, PATH:FIRST-,
// PATH:FIRST-end and PATH:-COUNT. Letters may follow the number of a line.
var pathAndLines = words.Pattern(`(?s)^(.*):(?:L?(\d+):?([a-z]{2})?(?:@(\d+)|(-)(?:L?(\d+):?([a-z]{2})?|(?:end|\$))?)?|-(\d+))$`)

// namedLines are the lines that follow a path.
type namedLines struct {
	path     string
	from, to skill.LineRef // to may be the end
	at       int64         // of a single line: the byte from which it is read
	count    int           // instead of from and to: so many lines at the end
}

// namedLines reads a path that ends with lines; ok is false for other paths, and for a file that has
// all of it as its name.
func (in *call) namedLines(text string, follow bool) (n namedLines, ok bool) {
	m := pathAndLines().FindStringSubmatch(text)
	if m == nil {
		return n, false
	}
	if _, err := in.x.Look(in.s, text, follow); err == nil {
		return n, false
	}
	n = namedLines{path: m[1], from: lineRef(m[2], m[3]), count: lineRef(m[8], "").Number}
	n.at = int64(lineRef(m[4], "").Number)
	switch n.to = n.from; {
	case m[6] != "":
		n.to = lineRef(m[6], m[7])
	case m[5] != "":
		n.to = skill.LineRef{End: true}
	}
	return n, true
}

// fileRange reads a path that may end with the numbers of lines.
func (in *call) fileRange(text string) (skill.FileRange, error) {
	n, ok := in.namedLines(text, true)
	f := skill.FileRange{Path: n.path, From: n.from.Number - 1, To: n.to.Number, At: n.at}
	switch {
	case !ok:
		return skill.FileRange{Path: text, To: skill.End}, nil
	case n.count > 0:
		f.From, f.To = -n.count, skill.End
		return f, nil
	case n.to.End:
		f.To = skill.End
	}
	if f.From < 0 || f.To <= f.From {
		return f, fmt.Errorf("%s names no lines; PATH:10-40 is lines 10 to 40", wellFormed(text))
	}
	return f, nil
}

func (in *call) filesText(r skill.FilesRead, numbers bool) string {
	var b strings.Builder
	for i, f := range r.Files {
		if i > 0 {
			b.WriteString("\n")
		}
		name := in.name(in.x.Abs(in.s, f.Path))
		if f.Err != nil {
			fmt.Fprintf(&b, "==> %s <==\n[%s]\n", name, workspaceFail(in, adviseFolder(f.Err)).Body)
			continue
		}
		if len(r.Files) > 1 {
			fmt.Fprintf(&b, "==> %s <==\n", name)
		}
		if f.Type != "" {
			fmt.Fprintf(&b, "[%s: %s]\n", name, shownMedia(f))
			continue
		}
		text := withCuts(name, f)
		if numbers {
			text = numbered(text, f)
		} else {
			text = wellFormed(text)
		}
		b.WriteString(text)
		if note := partNote(name, f); note != "" || i < len(r.Files)-1 {
			if text != "" && !strings.HasSuffix(text, "\n") {
				note = "\n" + note
			}
			b.WriteString(note)
		}
	}
	return b.String()
}

// shownMedia says what a reply shows of a file that is not text, or why it shows nothing.
func shownMedia(f skill.FilePart) string {
	size := fmt.Sprintf("%s, %d bytes", f.Type, f.Size)
	switch {
	case f.Content != nil && f.Note != "":
		return size + "; " + f.Note
	case f.Content != nil:
		return size
	case f.Note != "":
		return f.Type + "; " + f.Note
	case slices.Contains(skill.Shown, f.Type):
		return fmt.Sprintf("%s, more than there is room for in this answer (%d)", size, maxShown)
	}
	return size + ", is not text"
}

// partNote says which lines of a file a reply has, if these are not all of it, and what is
// special about them.
func partNote(name string, f skill.FilePart) string {
	from, note := f.From, ""
	switch {
	case f.LineSize > 0:
		end := f.LineAt + int64(len(f.Content))
		note = fmt.Sprintf("bytes %d-%d of %d of line %d", f.LineAt, end, f.LineSize, from+1)
		if len(f.Content) == 0 {
			note = fmt.Sprintf("line %d of %s has %d bytes", from+1, name, f.LineSize)
		} else if end < f.LineSize {
			note += fmt.Sprintf("; go on with %s:%d@%d", name, from+1, end)
		}
	case from >= f.Lines && from > 0:
		note = fmt.Sprintf("%s has %d lines", name, f.Lines)
	case f.To < f.Lines:
		note = fmt.Sprintf("lines %d-%d of %d; go on with %s:%d-", from+1, f.To, f.Lines, name, f.To+1)
	case from > 0:
		note = fmt.Sprintf("lines %d-%d of %d", from+1, f.To, f.Lines)
		if !bytes.HasSuffix(f.Content, []byte("\n")) {
			note += ", without a line break at the end"
		}
	}
	if one := fmt.Sprintf("lines %d-%[1]d of", from+1); strings.HasPrefix(note, one) {
		note = fmt.Sprintf("line %d of", from+1) + note[len(one):]
	}
	if f.Hash != "" {
		note = strings.TrimPrefix(note+"; sha256 "+f.Hash, "; ")
	}
	if f.Note != "" {
		note = strings.TrimPrefix(note+"; "+f.Note, "; ")
	}
	if f.NotText {
		note = strings.TrimPrefix(note+"; "+notText, "; ")
	}
	if f.Encoding != "" {
		note = strings.TrimPrefix(note+"; the file is in "+f.Encoding, "; ")
	}
	if note == "" {
		return ""
	}
	return "[" + note + "]\n"
}

// withCuts is the text of a part, with a word at the end of each line that is cut.
func withCuts(name string, f skill.FilePart) string {
	if len(f.Cuts) == 0 {
		return string(f.Content)
	}
	var b strings.Builder
	n, cuts := f.From, f.Cuts
	for line := range strings.Lines(string(f.Content)) {
		text := strings.TrimSuffix(line, "\n")
		b.WriteString(text)
		if len(cuts) > 0 && cuts[0].Line == n {
			c := cuts[0]
			fmt.Fprintf(&b, "…[line %d: %d of %d bytes; %s:%d@%d goes on]", n+1, c.Bytes, c.Size, name,
				n+1, c.Bytes)
			cuts = cuts[1:]
		}
		b.WriteString(line[len(text):])
		n++
	}
	return b.String()
}

// numbered puts the number of each line, and its letters, before it.
func numbered(text string, f skill.FilePart) string {
	var b strings.Builder
	n := 0
	for line := range strings.Lines(text) {
		letters := ""
		if n < len(f.Letters) {
			letters = f.Letters[n]
		}
		n++
		fmt.Fprintf(&b, "%d%s\t%s", f.From+n, letters, wellFormed(line))
	}
	return b.String()
}
