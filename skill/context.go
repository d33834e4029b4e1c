package skill

import (
	"errors"
	"io/fs"
	"path/filepath"

	"textskill/skill/internal/words"
)

// LoadContext reads the files that tell an agent about the workspace: AGENTS.md,
// SOUL.md and TOOLS.md at its root. Those that are not there are left out.
type LoadContext struct{}

func (LoadContext) op() {}

// Context are the files that LoadContext found.
type Context struct{ Files []ContextFile }

// A ContextFile is one of them, whole.
type ContextFile struct{ Name, Content string }

// Message counts the files.
func (c Context) Message() string { return "loaded " + words.Count(len(c.Files), "file", "files") }

func (x *Executor) loadContext() (Result, error) {
	var c Context
	for _, name := range []string{"AGENTS.md", "SOUL.md", "TOOLS.md"} {
		text, err := x.smallText(filepath.Join(x.ws.Dir(), name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, err
		default:
			c.Files = append(c.Files, ContextFile{name, text})
		}
	}
	return c, nil
}
