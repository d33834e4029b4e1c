package workspace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Position returns where the histories stand: the ID of the last change in each.
func (w *Workspace) Position(ctx context.Context) ([]string, error) {
	var at []string
	for _, h := range w.histories {
		last, err := h.lastID(ctx)
		if err != nil {
			return nil, err
		}
		at = append(at, w.changeID(h, last))
	}
	return at, nil
}

// numberAt returns the number of a position in one history, -1 if it has none. Its record may not
// be there any more.
func (w *Workspace) numberAt(h *history, position []string) int64 {
	for _, id := range position {
		number, _, _ := strings.Cut(id, "@")
		if n, err := strconv.ParseInt(number, 10, 64); err == nil && w.changeID(h, n) == id {
			return n
		}
	}
	return -1
}

// A PartlyUndoneError reports that some changes of a run were not undone, or one of those since another.
type PartlyUndoneError struct {
	Run  string   // "" for those since another
	Done []Undone // those that were undone; nil if Whole was asked for
	Left []error  // why the others were not, the last one first
}

func (e *PartlyUndoneError) Error() string {
	var left []string
	for _, err := range e.Left {
		left = append(left, err.Error())
	}
	if e.Run == "" {
		return fmt.Sprintf("later changes were undone (undo of all since %s makes them again), and %s", e.Done[0].ID, strings.Join(left, "; "))
	}
	return fmt.Sprintf("%d changes of the run %s were undone, and %d were not: %s", len(e.Done), e.Run, len(left), strings.Join(left, "; "))
}

// Unwrap returns the errors of the changes that were not undone.
func (e *PartlyUndoneError) Unwrap() []error { return e.Left }

// Force reports whether [UndoOptions].Force would undo some of the others.
func (e *PartlyUndoneError) Force() bool {
	return slices.ContainsFunc(e.Left, func(err error) bool {
		u, ok := errors.AsType[*UndoError](err)
		return ok && u.Force
	})
}

// Hint says what to do, "" if nothing helps.
func (e *PartlyUndoneError) Hint() string {
	if !e.Force() {
		return ""
	}
	return "force: true undoes these too; the current versions are saved first"
}

// undoRun undoes the changes of a run, the last one first. It goes on after those that
// cannot be undone. Its undos are changes of the run, too, so that a position which the run
// had before can be returned to.
func (w *Workspace) undoRun(ctx context.Context, all *undone, o UndoOptions) (done []Undone, err error) {
	todo, err := w.changesOfRun(ctx, o.Run, o.After)
	if err != nil {
		return nil, err
	}
	ctx = WithRun(ctx, RunStep{Run: o.Run})
	failed := &PartlyUndoneError{Run: o.Run}
	var passed []error
	var made []*change
	for _, c := range todo {
		back, err := w.newUndo(c, all, o.Force).runAfter(ctx, made)
		refused, ok := errors.AsType[*UndoError](err)
		switch {
		case errors.Is(err, errNoEffect):
		case ok && c.unkept():
			passed = append(passed, refused)
		case ok:
			failed.Left = append(failed.Left, refused)
		case err != nil:
			return done, err
		default:
			done, made = append(done, back), append(made, c)
			c.undone = back.Applied
		}
		if o.Whole && len(failed.Left) > 0 {
			break
		}
	}
	if n := len(done); n > 0 {
		done[n-1].Passed = passed
	}
	switch {
	case len(failed.Left) == 0 && len(done) == 0 && !o.Whole:
		return nil, firstRefusal(passed)
	case len(failed.Left) == 0:
		return done, nil
	}
	if !o.Whole {
		failed.Done = done
		return nil, failed
	}
	if err := w.settleUndone(ctx, all); err != nil { // only complete undos are undone
		return done, errors.Join(failed, err)
	}
	for _, d := range slices.Backward(done) {
		if _, err := w.undoOne(ctx, all, d.ID, false); err != nil {
			return done, errors.Join(failed, err)
		}
	}
	return nil, failed
}

// changesOfRun returns the changes of a run after a position that are in effect, the last
// one first.
func (w *Workspace) changesOfRun(ctx context.Context, run string, after []string) (todo []*change, err error) {
	for _, h := range w.histories {
		from := w.numberAt(h, after)
		for c, err := range h.changes(ctx, false) {
			if err != nil {
				return nil, err
			}
			if c.ID <= from {
				break
			}
			if !c.MayHave(run) {
				continue
			}
			if c.Damaged() {
				return nil, &UndoError{ID: w.changeID(h, c.ID), Reason: "has a damaged record, and so it is not known whether it is of the run " + run}
			}
			if c.Record().Run == run && c.undoableTo(from) && w.holdsAll(c) {
				todo = append(todo, c)
			}
		}
		if from < 0 {
			continue
		}
		if first, err := h.first(ctx); err != nil {
			return nil, err
		} else if first > from+1 {
			return nil, &UndoError{Reason: fmt.Sprintf("the history begins with change %s, and does not go back to change %s any more", w.changeID(h, first), w.changeID(h, from))}
		}
	}
	return todo, nil
}
