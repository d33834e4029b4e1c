package skill

import (
	"context"
	"io"
	"strings"

	"textskill/skill/internal/workspace"
)

// WriteFile replaces the content of a file, or creates it. It returns a [Changed].
type WriteFile struct {
	Path      string
	Content   string // any bytes
	Parents   bool   // create the directories above Path
	NoReplace bool   // the file must not exist, otherwise EEXIST
}

// AppendFile adds Content to the end of a file, or creates it. It returns a [Changed].
type AppendFile struct {
	Path    string
	Content string // any bytes
	Parents bool   // create the directories above Path
	Exists  bool   // the file must exist, otherwise ENOENT
	Lines   bool   // Content is whole lines, with the file's line ends: one goes behind it, and before it where the file's last line has none
}

func (WriteFile) op()  {}
func (AppendFile) op() {}

// Changed is the result of operations that change the workspace.
type Changed struct {
	workspace.Change
	Bytes int64 // bytes written
	More  bool  // EditFile.CheckMore: the old text occurs again

	Added, Removed int   // EditFile.Edits: lines
	Rows           []Row // EditFile.Edits: what was changed, folded
	Unread         int   // of a whole file that was replaced: its lines, if the session had not read it
}

// pastTense describes changes that have been made.
var pastTense = map[workspace.Kind]string{
	workspace.Write: "wrote", workspace.Append: "appended to", workspace.Edit: "edited", workspace.Copy: "copied",
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

func (x *Executor) writeFile(ctx context.Context, s *Session, a WriteFile) (Result, error) {
	abs, err := x.path(s, "path", a.Path)
	if err != nil {
		return nil, err
	}
	data, err := x.encodeLike(abs, a.Content)
	if err != nil {
		return nil, err
	}
	unread, err := x.checkWhole(ctx, s, abs, verb{"not written", "write"}, false)
	if err != nil {
		return nil, err
	}
	c, err := x.ws.WriteFile(ctx, abs, data, workspace.WriteOptions{Parents: a.Parents, NoReplace: a.NoReplace})
	if err == nil && c.Applied {
		x.noteOwn(s, abs, nil, data, true, nil)
	}
	return result(Changed{Change: c, Bytes: int64(len(data)), Unread: unread}, err)
}

func (x *Executor) appendFile(ctx context.Context, s *Session, a AppendFile) (Result, error) {
	abs, err := x.path(s, "path", a.Path)
	if err != nil {
		return nil, err
	}
	if a.Exists {
		if _, err := x.ws.Stat(abs, true); err != nil {
			return nil, err
		}
	}
	if a.Lines {
		a.Content = x.asLines(abs, a.Content)
	}
	data, err := x.encodeEnd(abs, a.Content)
	if err == nil {
		err = conditionOf(ctx).checkHash(x, abs)
	}
	if err == nil {
		err = x.watched(s, abs, nil, func(*view) error { return nil })
	}
	if err != nil {
		return nil, err
	}
	c, err := x.ws.AppendFile(ctx, abs, data, workspace.WriteOptions{Parents: a.Parents})
	x.noteChange(s, abs, err == nil && c.Applied)
	return result(Changed{Change: c, Bytes: int64(len(data))}, err)
}

// asLines returns content as lines that go to the end of the file abs.
func (x *Executor) asLines(abs, content string) string {
	before, end := "", "\n"
	if f, info, err := x.ws.Open(abs); err == nil {
		defer f.Close()
		const enough = 64 << 10
		tail, err := io.ReadAll(io.NewSectionReader(f, max(info.Size-enough, 0), enough))
		text := strings.ReplaceAll(string(tail), "\x00", "") // of UTF-16
		if strings.Contains(text, "\r\n") {
			end = "\r\n"
		}
		if err == nil && text != "" && !strings.HasSuffix(text, "\n") {
			before = end
		}
	}
	lines := strings.ReplaceAll(strings.TrimSuffix(content, "\n"), "\r\n", "\n")
	return before + strings.ReplaceAll(lines, "\n", end) + end
}
