package skill

import (
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

// A ContextFile is one file of a [Context], with its whole content.
type ContextFile struct{ Name, Content string }

// Message says how many files there are.
func (c Context) Message() string { return "loaded " + words.Count(len(c.Files), "file", "files") }

func (x *Executor) loadContext() (Result, error) {
	var c Context
	for _, name := range []string{"AGENTS.md", "SOUL.md", "TOOLS.md"} {
		text, err := x.readText(filepath.Join(x.ws.Dir(), name), x.cfg.MaxRead)
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
