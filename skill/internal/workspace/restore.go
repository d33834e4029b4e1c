package workspace

import (
	"context"
	"io"
	"strings"

	"textskill/skill/internal/history"
)

// Before calls use with the content of the file abs before a change. It does not undo the change. If
// abs is "", the change must be about a single file. Before fails with an [*UndoError] if that
// version is not kept.
func (w *Workspace) Before(ctx context.Context, id, abs string,
	use func(path string, size int64, content io.Reader) error) error {
	j, s, op, err := w.recorded(ctx, id)
	if err != nil {
		return err
	}
	d, err := fileBefore(j, op, id, abs)
	if err != nil {
		return err
	}
	path := j.path(d.Path)
	before := d.Before
	if d.Added { // the file after the change begins with the old content
		before = d.After
	}
	found, err := s.Read(d.Path, before, func(_ int64, content io.ReaderAt) error {
		return use(path, d.Before.Size, io.NewSectionReader(content, 0, d.Before.Size))
	})
	if err == nil && !found {
		return &UndoError{ID: id, Reason: "has no saved version of " + path + " any more"}
	}
	return err
}

// WriteBack returns the path of the file abs that a change replaced or removed, "" for the only one. It fails if
// the file may be on another disk.
func (w *Workspace) WriteBack(ctx context.Context, id, abs string) (path string, err error) {
	j, s, op, err := w.recorded(ctx, id)
	if err != nil {
		return "", err
	}
	d, err := fileBefore(j, op, id, abs)
	if err != nil {
		return "", err
	}
	if why := s.Strange(op.ID); why != "" {
		return "", &UndoError{ID: id, Reason: "is not written back: " + why + "; write it to a file that you name"}
	}
	return j.path(d.Path), nil
}

// fileBefore returns the delta with which a change replaced or removed the file abs; "" means any file.
func fileBefore(j *journal, op *history.Op, id, abs string) (history.Delta, error) {
	if len(op.Deltas) == 0 && op.Note != "" {
		return history.Delta{}, &UndoError{ID: id, Reason: "has no saved version: " + op.Note}
	}
	var files []history.Delta
	var names []string
	folder := false
	for _, d := range op.Deltas {
		folder = folder || d.Before.Kind == history.Dir && d.Before.Whole
		moved := d.After.Kind == "" && isMoved(op, d.Path)
		if path := j.path(d.Path); d.Before.Kind == history.File && !moved && !d.Before.Same(d.After) &&
			(abs == "" || abs == path) {
			files, names = append(files, d), append(names, path)
		}
	}
	switch {
	case len(files) == 1:
		return files[0], nil
	case len(files) > 1:
		return history.Delta{}, &UndoError{ID: id, Reason: "is about several files; name one: " +
			strings.Join(names[:min(len(names), 10)], ", ")}
	case abs != "":
		return history.Delta{}, &UndoError{ID: id, Reason: "did not replace or remove a file " + abs}
	case folder:
		return history.Delta{}, &UndoError{ID: id, Reason: "removed a folder; only undo brings that back"}
	}
	return history.Delta{}, &UndoError{ID: id, Reason: "did not replace or remove a file"}
}

// isMoved reports whether an op moved the file name elsewhere.
func isMoved(op *history.Op, name history.Name) bool {
	for _, d := range op.Deltas {
		if d.From == name {
			return true
		}
	}
	return false
}
