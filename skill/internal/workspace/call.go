package workspace

import (
	"context"
	"strings"

	"textskill/skill/internal/history"
)

// A Call is a call of a tool of another agent, whose program tells of it: see package history.
type Call = history.Call

// calls returns what records calls in the workspace, and the folder in which commands run; nil if
// nothing is recorded.
func (w *Workspace) calls() (s *history.Store, base string, err error) {
	j := w.commands()
	if j == nil {
		return nil, "", nil
	}
	s, err = j.open()
	return s, string(j.name(location{w.roots[0], "."})), err
}

// withPaths returns a call with the paths of files, which are absolute or begin at dir: those in the
// workspace, each as it is spelled and as links lead, and those outside.
func (w *Workspace) withPaths(c Call, dir string, files []string) Call {
	j := w.journalOf(w.roots[0])
	add := func(list *[]history.Name, name history.Name) {
		for _, n := range *list {
			if n == name {
				return
			}
		}
		*list = append(*list, name)
	}
	for _, file := range files {
		for _, follow := range []bool{false, true} {
			abs, err := w.Real(dir, file, follow)
			rel := ""
			if err == nil {
				rel, _ = below(w.Dir(), abs)
			}
			switch {
			case err != nil || rel == "":
				add(&c.Outside, history.Name(w.Abs(dir, file)))
			case rel == "." || strings.HasPrefix(rel, history.Inside): // of records nothing is recorded
			default:
				add(&c.Paths, j.nameOf(abs))
			}
		}
	}
	return c
}

// BeginCall is called before a call, and keeps what is there as [Workspace.Begin] does, or for an edit
// what the files are.
func (w *Workspace) BeginCall(
	ctx context.Context, c Call, dir string, files []string, limit int64, walk Walker,
) error {
	s, base, err := w.calls()
	if s == nil || err != nil {
		return err
	}
	return s.BeginCall(ctx, w.withPaths(c, dir, files), base, limit, walk)
}

// EndCall is called after a call, and records what it changed.
func (w *Workspace) EndCall(ctx context.Context, c Call, dir string, files []string, walk Walker) error {
	s, base, err := w.calls()
	if s == nil || err != nil {
		return err
	}
	return s.EndCall(ctx, w.withPaths(c, dir, files), base, walk)
}

// CloseCalls records what open calls of a session have changed, and closes them. With an agent it
// closes the calls of that agent alone.
func (w *Workspace) CloseCalls(ctx context.Context, session, agent string, walk Walker) error {
	s, base, err := w.calls()
	if s == nil || err != nil {
		return err
	}
	return s.CloseCalls(ctx, session, agent, base, walk)
}

// SeeCalls records what calls that have not ended have changed so far.
func (w *Workspace) SeeCalls(ctx context.Context, walk Walker) error {
	s, base, err := w.calls()
	if s == nil || err != nil {
		return err
	}
	return s.SeeCalls(ctx, base, walk)
}
