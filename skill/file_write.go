package skill

import (
	"bytes"
	"context"
	"strings"

	"textskill/skill/internal/workspace"
)

// WriteFile replaces the content of a file, or creates it. It returns a [Changed].
type WriteFile struct {
	Path      string
	Content   string // any bytes
	Parents   bool   // create the directories above Path
	NoReplace bool   // the file must not exist, otherwise EEXIST
	If        Condition
	Keep      bool // a content that has only LF gets the file's line ends and byte order mark
}

// AppendFile adds Content to the end of a file, or creates it. It returns a [Changed].
type AppendFile struct {
	Path    string
	Content string // any bytes
	Parents bool   // create the directories above Path
	Exists  bool   // the file must exist, otherwise ENOENT
	Keep    bool   // as of WriteFile
	If      Condition
	// Content is whole lines, with the file's line ends: one goes behind it, and before it where
	// the file's last line has none
	Lines bool
}

func (WriteFile) op()  {}
func (AppendFile) op() {}

// Changed is the result of operations that change the workspace.
type Changed struct {
	workspace.Change
	Bytes int64 // bytes written
	More  bool  // EditFile.CheckMore: the old text occurs again

	Added, Removed int      // EditFile.Edits: lines
	Rows           []Row    // EditFile.Edits: what was changed, folded
	Kept           []string // what WriteFile.Keep kept: "CRLF line ends", "byte order mark"
	Unread         int      // of a whole file that was replaced: its lines, if the session had not read it
}

// pastTense describes changes that have been made.
var pastTense = map[workspace.Kind]string{
	workspace.Write: "wrote", workspace.Append: "appended to", workspace.Edit: "edited",
	workspace.Copy: "copied",
	workspace.Move: "moved", workspace.Delete: "deleted", workspace.Mkdir: "created directory",
}

// Message says what was changed or, in a dry run, what would be changed.
func (c Changed) Message() string {
	switch {
	case !c.Applied:
		return c.Change.String()
	case c.From != "":
		return pastTense[c.Kind] + " " + c.From + " to " + c.Path
	}
	return pastTense[c.Kind] + " " + c.Path
}

// String is Message, not that of the change, which is about one that was not made.
func (c Changed) String() string { return c.Message() }

func (x *Executor) WriteFile(ctx context.Context, s *Session, a WriteFile) (Changed, error) {
	abs, err := x.path(s, "path", a.Path)
	if err != nil {
		return Changed{}, err
	}
	var kept []string
	if a.Keep {
		a.Content, kept = x.keepForm(abs, a.Content, false)
	}
	data, err := x.encodeLike(abs, a.Content)
	if err != nil {
		return Changed{}, err
	}
	unread, err := x.checkWhole(ctx, s, abs, a.If, verb{"not written", "write"}, false)
	if err != nil {
		return Changed{}, err
	}
	c, err := x.ws.WriteFile(ctx, abs, data,
		workspace.WriteOptions{Parents: a.Parents, NoReplace: a.NoReplace})
	if err == nil && c.Applied {
		x.noteOwn(s, abs, nil, data, true, nil)
	}
	return Changed{Change: c, Bytes: int64(len(data)), Unread: unread, Kept: kept}, err
}

func (x *Executor) AppendFile(ctx context.Context, s *Session, a AppendFile) (Changed, error) {
	abs, err := x.path(s, "path", a.Path)
	if err != nil {
		return Changed{}, err
	}
	if a.Exists {
		if _, err := x.ws.Stat(abs, true); err != nil {
			return Changed{}, err
		}
	}
	var kept []string
	switch {
	case a.Lines:
		a.Content = x.asLines(abs, a.Content)
	case a.Keep:
		a.Content, kept = x.keepForm(abs, a.Content, true)
	}
	data, err := x.encodeEnd(abs, a.Content)
	if err == nil {
		err = a.If.checkHash(x, abs)
	}
	if err == nil {
		err = x.watched(s, abs, nil, func(*view) error { return nil })
	}
	if err != nil {
		return Changed{}, err
	}
	c, err := x.ws.AppendFile(ctx, abs, data, workspace.WriteOptions{Parents: a.Parents})
	x.noteChange(s, abs, err == nil && c.Applied)
	return Changed{Change: c, Bytes: int64(len(data)), Kept: kept}, err
}

// formSize is how many bytes of a file say what its line ends are.
const formSize = 64 << 10

// keepForm gives content the line ends of the file abs, and its byte order mark if the content
// replaces it. Content with a CR or a mark of its own stays as it is. It also says what it kept.
func (x *Executor) keepForm(abs, content string, add bool) (text string, kept []string) {
	if strings.Contains(content, "\r") || strings.HasPrefix(content, "\ufeff") {
		return content, nil
	}
	part, lines := x.form(abs, add)
	if isCRLF(lines) && strings.Contains(content, "\n") {
		content = strings.ReplaceAll(content, "\n", "\r\n")
		kept = append(kept, "CRLF line ends")
	}
	if !add && hasMark(part) {
		content = "\ufeff" + content
		kept = append(kept, "byte order mark")
	}
	return content, kept
}

// form returns the first or last bytes of a file, and their text without the NULs of UTF-16. Both are
// empty if the file cannot be read.
func (x *Executor) form(abs string, end bool) (part []byte, text string) {
	f, info, err := x.ws.Open(abs)
	if err != nil {
		return nil, ""
	}
	defer f.Close()
	at := int64(0)
	if end {
		at = max(info.Size-formSize, 0)
	}
	if part, err = readRange(f, at, min(at+formSize, info.Size)); err != nil {
		return nil, ""
	}
	return part, strings.ReplaceAll(string(part), "\x00", "")
}

// hasMark reports whether a file begins with the byte order mark of UTF-8 or UTF-16.
func hasMark(head []byte) bool {
	e, _ := declared(head[:min(len(head), 3)])
	return e != nil || bytes.HasPrefix(head, []byte("\ufeff"))
}

// isCRLF reports whether all lines of a text end with CR and LF, and there are some.
func isCRLF(text string) bool {
	n := strings.Count(text, "\n")
	return n > 0 && n == strings.Count(text, "\r\n")
}

// asLines returns content as lines that go to the end of the file abs.
func (x *Executor) asLines(abs, content string) string {
	before, end := "", "\n"
	_, text := x.form(abs, true)
	if strings.Contains(text, "\r\n") {
		end = "\r\n"
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		before = end
	}
	lines := strings.ReplaceAll(strings.TrimSuffix(content, "\n"), "\r\n", "\n")
	return before + strings.ReplaceAll(lines, "\n", end) + end
}
