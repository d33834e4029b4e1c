package workspace

import (
	"context"
	"errors"
	"slices"

	"textskill/skill/internal/state"
)

// Inspect describes the history of each folder that counts as inside, the workspace's own
// first, and changes nothing.
func (w *Workspace) Inspect(ctx context.Context) ([]state.Report, error) {
	var list []state.Report
	for _, h := range w.histories {
		r, err := state.Inspect(ctx, h.options)
		if err == nil && len(r.NoImage) > 0 {
			r.NoImage, err = w.notUndoable(ctx, h, r.NoImage)
		}
		if err != nil {
			return list, err
		}
		list = append(list, r)
	}
	return list, nil
}

// notUndoable returns those of ids, which are sorted, that are in effect and that undo refuses also with
// force. That an image is missing does not say so: an undo that was killed may have it.
func (w *Workspace) notUndoable(ctx context.Context, h *history, ids []int64) (list []int64, err error) {
	all := &undone{trial: true}
	for c, cerr := range h.changes(ctx, false) {
		if err = cerr; err != nil || c.ID < ids[0] {
			break
		}
		if _, lacks := slices.BinarySearch(ids, c.ID); !lacks || !c.applied() || c.undone && c.open == nil {
			continue
		}
		if u := w.newUndo(c, all, true); u.checkAll() != nil || len(u.left) > 0 {
			list = append(list, c.ID)
		}
	}
	slices.Reverse(list)
	return list, err
}

// Adopt makes an earlier history that of the workspace: see [state.Adopt].
func (w *Workspace) Adopt(key string) error {
	if err := w.checkWritable(); err != nil {
		return err
	}
	return state.Adopt(w.histories[0].options, key)
}

// GC deletes what the limits do not allow, and the histories of folders that have been gone
// for a month.
func (w *Workspace) GC(ctx context.Context) error {
	var errs []error
	for _, h := range w.histories {
		s, err := h.open()
		if err == nil {
			err = s.GC(ctx)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Damaged returns how many records were found that cannot be read.
func (w *Workspace) Damaged() (n int) {
	for _, h := range w.histories {
		if s, err := h.open(); err == nil {
			n += len(s.Damaged())
		}
	}
	return n
}
