package workspace

import (
	"context"
	"io"
	"os"
	"slices"
	"strings"

	"textskill/skill/internal/state"
	"textskill/skill/internal/workspace/tree"
)

// Before calls use with what a file held before a change, which stays as it is. abs is the
// file; "" is the only one that the change is about. It fails with an [*UndoError] if that
// is not kept.
func (w *Workspace) Before(ctx context.Context, id, abs string, use func(path string, size int64, content io.Reader) error) error {
	c, err := w.recorded(ctx, id)
	if err != nil {
		return err
	}
	s, err := w.fileBefore(c, id, abs)
	if err != nil {
		return err
	}
	d, found := differ{w, c.h, c}, false
	path := c.h.path(s.Path)
	if s.Patch != nil {
		found, err = d.beforePatch(s, func(content io.ReaderAt) error {
			return use(path, s.Before.Size, io.NewSectionReader(content, 0, s.Before.Size))
		})
	} else {
		err = d.find(s.Path, s.Before, func(in tree.Folder, base string) error {
			found = true
			f, info, err := tree.RegularFile(in.OpenFile(base, os.O_RDONLY, 0))
			if err != nil {
				return err
			}
			defer f.Close()
			return use(path, info.Size, f)
		})
	}
	if err == nil && !found {
		return &UndoError{ID: id, Reason: "has no saved version of " + path + " any more"}
	}
	return err
}

// fileBefore returns the step of a change that replaced or removed a file.
func (w *Workspace) fileBefore(c *change, id, abs string) (state.Step, error) {
	if c.unkept() {
		return state.Step{}, &UndoError{ID: id, Reason: "has no saved version: " + c.Record().Note}
	}
	var files []state.Step
	var names []string
	for _, s := range c.Record().Steps {
		if path := c.h.path(s.Path); s.Before.Kind == kindFile && !isMode(s) && (abs == "" || abs == path) {
			files, names = append(files, s), append(names, path)
		}
	}
	switch {
	case len(files) == 1:
		return files[0], nil
	case len(files) > 1:
		return state.Step{}, &UndoError{ID: id, Reason: "is about several files; name one: " + strings.Join(names[:min(len(names), 10)], ", ")}
	case abs != "":
		return state.Step{}, &UndoError{ID: id, Reason: "did not replace or remove a file " + abs}
	case slices.ContainsFunc(c.Record().Steps, func(s state.Step) bool { return s.Before.Kind == kindFolder && !isEmptyFolder(s.Before) }):
		return state.Step{}, &UndoError{ID: id, Reason: "removed a folder; only undo brings that back"}
	}
	return state.Step{}, &UndoError{ID: id, Reason: "did not replace or remove a file"}
}

// beforePatch calls use with what a file held before a patch, if that is still in it.
func (d differ) beforePatch(s state.Step, use func(content io.ReaderAt) error) (ok bool, err error) {
	f, info, err := d.current(s)
	if err != nil {
		return false, nil
	}
	defer f.Close()
	if s.Patch.Sum != "" {
		added := make([]byte, s.Patch.New)
		_, err := f.ReadAt(added, s.Patch.Offset)
		if info.Size < s.Patch.Offset || err == nil && sumOf(added) != s.Patch.Sum {
			return false, nil
		}
	} else if there, err := stateOf(f, allBytes); err != nil || !same(there, s.After) {
		return false, nil
	}
	old, err := d.h.replaced(s, d.c.ID)
	if err != nil {
		return false, nil
	}
	return true, use(before{f, s.Patch, old})
}
