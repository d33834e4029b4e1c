package dialect

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"textskill/skill"
)

var readTool = Tool{
	Name: "read", Title: "Read files",
	Doc: "Read files: text (64 KB in all), pictures and PDFs. A cut answer says how to go on.",
	Params: []Param{
		{Name: "paths", Aliases: []string{"path", "file_path"}, Type: "array", Of: "string", Path: true, Required: true, Doc: "files, or lines of them: a.go:10-40, a.go:100-, a.go:-20 (the last 20)"},
		{Name: "numbers", Type: "boolean", Doc: "number the lines"}},
	operation: readFilesOperation,
	reword:    advise(syscall.EISDIR, "list shows a folder"),
	reply:     typed(readFilesReply),
	blocks:    typed(readFilesBlocks),
}

// maxShown is how many bytes of pictures and documents one reply holds.
const maxShown = 10 << 20

func readFilesOperation(in *call) (skill.Args, error) {
	a := skill.ReadFiles{MaxBytes: maxReply, MaxMedia: maxShown}
	for _, path := range in.texts("paths") {
		f, err := in.fileRange(path)
		if err != nil {
			return nil, err
		}
		a.Files = append(a.Files, f)
	}
	if len(a.Files) == 0 {
		return nil, errors.New("paths is empty; name a file")
	}
	return a, nil
}

// fileRange reads a path that may end with the numbers of lines. A file that has all of it as
// its name is meant itself.
func (in *call) fileRange(text string) (skill.FileRange, error) {
	f := skill.FileRange{Path: text, To: skill.End}
	colon := strings.LastIndexByte(text, ':')
	lines := text[colon+1:]
	if colon < 0 || strings.Trim(lines, "0123456789-") != "" || strings.Count(lines, "-") > 1 || lines == "" || lines == "-" {
		return f, nil
	}
	if _, err := in.x.Look(in.s, text, true); err == nil {
		return f, nil
	}
	first, last, two := strings.Cut(lines, "-")
	from, err1 := strconv.Atoi(cmp.Or(first, "0"))
	to, err2 := strconv.Atoi(cmp.Or(last, "0"))
	switch {
	case err1 != nil || err2 != nil || first == "0" || last == "0" || from > 0 && to > 0 && to < from:
		return f, fmt.Errorf("%s names no lines; PATH:10-40 is lines 10 to 40", wellFormed(text))
	case first == "": // the last ones
		f.From = -to
	case !two:
		f.From, f.To = from-1, from
	case last == "":
		f.From = from - 1
	default:
		f.From, f.To = from-1, to
	}
	f.Path = text[:colon]
	return f, nil
}

func readFilesReply(in *call, r skill.FilesRead) string {
	var b strings.Builder
	for i, f := range r.Files {
		if i > 0 {
			b.WriteString("\n")
		}
		name := in.name(in.x.Abs(in.s, f.Path))
		if f.Err != nil {
			fmt.Fprintf(&b, "==> %s <==\n[%s]\n", name, workspaceFail(in, in.tool.reword(in, f.Err)).Body)
			continue
		}
		if len(r.Files) > 1 {
			fmt.Fprintf(&b, "==> %s <==\n", name)
		}
		text := wellFormed(string(f.Content))
		switch {
		case f.Type != "" && f.Content != nil:
			fmt.Fprintf(&b, "[%s: %s, %d bytes]\n", name, f.Type, f.Size)
			continue
		case f.Type != "" && slices.Contains(skill.Shown, f.Type):
			fmt.Fprintf(&b, "[%s: %s, %d bytes, more than there is room for in this answer (%d)]\n", name, f.Type, f.Size, maxShown)
			continue
		case f.Type != "":
			fmt.Fprintf(&b, "[%s: %s, %d bytes, is not text]\n", name, f.Type, f.Size)
			continue
		case in.flag("numbers"):
			text = numbered(text, f)
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

// partNote says which lines of a file a reply has, if these are not all of it, and what is
// special about them.
func partNote(name string, f skill.FilePart) string {
	from, note := f.From, ""
	if from < 0 {
		from = max(0, f.Lines+from)
	}
	switch {
	case f.LineCut:
		note = fmt.Sprintf("only the beginning of line %d of %d, which is too long; grep finds what is in the rest", from+1, f.Lines)
		if f.To < f.Lines {
			note += fmt.Sprintf(", %s:%d- is what follows", name, f.To+1)
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

// numbered puts the number of each line before it.
func numbered(text string, f skill.FilePart) string {
	from := f.From
	if from < 0 {
		from = max(0, f.Lines+from)
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		from++
		fmt.Fprintf(&b, "%d\t%s", from, line)
	}
	return b.String()
}

// readFilesBlocks are the pictures and documents that were read, and links to what was not.
func readFilesBlocks(_ *call, r skill.FilesRead) (list []Block) {
	for _, f := range r.Files {
		if f.Type != "" && f.Err == nil {
			list = append(list, Block{Type: f.Type, Path: f.Path, Data: f.Content})
		}
	}
	return list
}
