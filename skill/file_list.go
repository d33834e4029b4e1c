package skill

import (
	"cmp"
	"slices"

	"textskill/skill/workspace"
)

// ListFolder lists the names in a folder.
type ListFolder struct{ Path string }

func (ListFolder) op() string { return "ListFolder" }

// Listed is the content of a folder, in the order of its names' bytes.
type Listed struct {
	Path    string // absolute
	Entries []workspace.Entry
}

// Message counts the entries.
func (l Listed) Message() string { return count(len(l.Entries), "entry", "entries") + " in " + l.Path }

func (x *Executor) listFolder(s *Session, a ListFolder) (Result, error) {
	abs, err := x.path(s, "path", a.Path)
	if err != nil {
		return nil, err
	}
	entries, err := x.ws.ReadDir(abs)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(entries, func(a, b workspace.Entry) int { return cmp.Compare(a.Name, b.Name) })
	return Listed{abs, entries}, nil
}
