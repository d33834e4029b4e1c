package workspace

import (
	"context"
	"strings"

	"textskill/skill/internal/history"
)

// A Call is a tool call that another agent's program reports: see package history.
type Call = history.Call

// calls returns the history that records calls, and the recorded name of the workspace's folder. The
// store is nil if nothing is recorded.
func (w *Workspace) calls() (s *history.Store, base string, err error) {
	j := w.commands()
	if j == nil {
		return nil, "", nil
	}
	s, err = j.open()
	return s, string(j.name(location{w.roots[0], "."})), err
}

// withPaths adds the paths of files to a call. A relative path begins at dir. A path in the workspace
// is added as it is spelled and with its links resolved. Other paths go to c.Outside.
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
			case rel == "." || strings.HasPrefix(rel, history.Inside): // skill's own records are not recorded
			default:
				add(&c.Paths, j.nameOf(abs))
			}
		}
	}
	return c
}

// BeginCall saves the workspace before a call, as [Workspace.Begin] does. For an edit it saves only
// the files of the call.
func (w *Workspace) BeginCall(
	ctx context.Context, c Call, dir string, files []string, limit int64, walk Walker,
) error {
	s, base, err := w.calls()
	if s == nil || err != nil {
		return err
	}
	return s.BeginCall(ctx, w.withPaths(c, dir, files), base, limit, walk)
}

// EndCall records the changes of a call that has ended.
func (w *Workspace) EndCall(ctx context.Context, c Call, dir string, files []string, walk Walker) error {
	s, base, err := w.calls()
	if s == nil || err != nil {
		return err
	}
	return s.EndCall(ctx, w.withPaths(c, dir, files), base, walk)
}

// Ended says which open calls are over: see package history.
type Ended = history.Ended

// CloseCalls records the changes of open calls that are over, and closes these calls.
func (w *Workspace) CloseCalls(ctx context.Context, ended Ended, walk Walker) error {
	s, base, err := w.calls()
	if s == nil || err != nil {
		return err
	}
	return s.CloseCalls(ctx, ended, base, walk)
}

// SeeCalls records the changes that open calls have made so far.
func (w *Workspace) SeeCalls(ctx context.Context, walk Walker) error {
	s, base, err := w.calls()
	if s == nil || err != nil {
		return err
	}
	return s.SeeCalls(ctx, base, walk)
}
