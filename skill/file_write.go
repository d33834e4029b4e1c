package skill

import (
	"context"

	"textskill/skill/internal/workspace"
)

// WriteFile makes Content the whole of a file, which is created if need be.
type WriteFile struct {
	Path      string
	Content   string // any bytes
	Parents   bool   // create the folders above
	NoReplace bool   // the file must not exist: EEXIST
}

// AppendFile adds Content to the end of a file, which is created if need be.
type AppendFile struct {
	Path    string
	Content string // any bytes
	Parents bool   // create the folders above
	Exists  bool   // the file must exist: ENOENT
}

func (WriteFile) op()  {}
func (AppendFile) op() {}

// Changed is the result of every operation that changes the workspace.
type Changed struct {
	workspace.Change
	Bytes int64 // written; 0 where nothing was
	Again bool  // what was edited stands in the file once more, if that was asked
}

// past is how a change is told once it is made.
var past = map[workspace.Kind]string{
	workspace.Write: "wrote", workspace.Append: "appended to", workspace.Edit: "edited", workspace.Copy: "copied",
	workspace.Move: "moved", workspace.Delete: "deleted", workspace.Mkdir: "created directory",
}

// Message tells what was changed, or in a dry run what would be.
func (c Changed) Message() string {
	switch {
	case !c.Applied:
		return c.Change.String()
	case c.From != "":
		return past[c.Kind] + " " + c.From + " to " + c.Path
	}
	return past[c.Kind] + " " + c.Path
}

func (x *Executor) writeFile(ctx context.Context, s *Session, a WriteFile) (Result, error) {
	abs, err := x.path(s, "path", a.Path)
	if err != nil {
		return nil, err
	}
	c, err := x.ws.WriteFile(ctx, abs, []byte(a.Content), workspace.WriteOptions{Parents: a.Parents, NoReplace: a.NoReplace})
	if err != nil {
		return nil, err
	}
	return Changed{Change: c, Bytes: int64(len(a.Content))}, nil
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
	c, err := x.ws.AppendFile(ctx, abs, []byte(a.Content), workspace.WriteOptions{Parents: a.Parents})
	if err != nil {
		return nil, err
	}
	return Changed{Change: c, Bytes: int64(len(a.Content))}, nil
}
