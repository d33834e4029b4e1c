package skill

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"textskill/skill/internal/words"
)

// LoadContext reads the files that describe the workspace to an agent: AGENTS.md, SOUL.md
// and TOOLS.md at its root. Missing files are skipped. It returns a [Context].
type LoadContext struct{}

func (LoadContext) op() {}

// A Context holds the files that [LoadContext] found.
type Context struct{ Files []ContextFile }

// A ContextFile is one file of a [Context].
type ContextFile struct {
	Name, Content string
	NotText       bool // Content is not UTF-8: the file is in no known encoding
	// the line after the last one of Content, counted from 0, where that is not all; else 0
	Next int
}

// Message says how many files there are.
func (c Context) Message() string { return "loaded " + words.Count(len(c.Files), "file", "files") }

func (x *Executor) LoadContext(ctx context.Context, s *Session, _ LoadContext) (Context, error) {
	var c Context
	for _, name := range []string{"AGENTS.md", "SOUL.md", "TOOLS.md"} {
		read, err := x.ReadFile(ctx, s, ReadFile{Path: filepath.Join(x.ws.Dir(), name), Split: true,
			AllowPartial: true})
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return Context{}, err
		}
		f := ContextFile{Name: name, Content: string(read.Content), NotText: read.NotText}
		if read.Partial || read.To < read.Lines {
			f.Next = read.To
		}
		c.Files = append(c.Files, f)
	}
	return c, nil
}
