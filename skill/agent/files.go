package agent

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"textskill/skill"
)

// A position in the undo history is, for each directory that has one, the ID of its last
// change: see [skill.Executor.Position].
type filePosition []string

// add notes changes.
func (p filePosition) add(ids ...string) {
	for _, id := range ids {
		for i, last := range p {
			if directory(last) == directory(id) {
				p[i] = id
			}
		}
	}
}

// before reports whether a change came after the position.
func (p filePosition) before(id string) bool {
	return slices.ContainsFunc(p, func(last string) bool { return directory(last) == directory(id) && number(last) < number(id) })
}

func number(id string) int64 {
	text, _, _ := strings.Cut(id, "@")
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// directory returns what the ID of a change says of the directory, "" for the workspace.
func directory(id string) string {
	_, dir, _ := strings.Cut(id, "@")
	return dir
}

// openFiles finds the last change of the undo history. If the caller wants the files of the
// checkpoint that the run continues from, it first undoes what the run changed since.
func (r *run) openFiles(ctx context.Context) error {
	x := r.cfg.Executor
	if r.cfg.From != nil && r.cfg.Files {
		u, err := r.cfg.From.UndoAfter()
		if err != nil {
			return err
		}
		u.Whole = true
		done, err := x.Execute(ctx, &skill.Session{}, u)
		if partly, ok := errors.AsType[*skill.PartlyUndoneError](err); ok {
			return fmt.Errorf("the files cannot be taken back to checkpoint %s, and are as they were: %w",
				r.cfg.From.ID, errors.Join(partly.Left...))
		}
		if err != nil {
			return fmt.Errorf("the files cannot be taken back to checkpoint %s: %w", r.cfg.From.ID, err)
		}
		if n := len(done.(skill.Reverted).Changes); n > 0 {
			r.cfg.Warn(fmt.Sprintf("the files are as at checkpoint %s: changes undone: %d; \"%s\" makes them again", r.cfg.From.ID, n, r.again("undo", "--since", done.(skill.Reverted).Changes[0].ID)))
		}
		if err := r.warnOfLeft(ctx); err != nil {
			return err
		}
	}
	at, err := x.Position(ctx)
	r.recorder.files = at
	return err
}

// warnOfLeft says which changes since the checkpoint an undo has passed over.
func (r *run) warnOfLeft(ctx context.Context) error {
	since, err := r.cfg.From.ChangesAfter(ctx, r.cfg.Executor)
	left := since.List[:0]
	for _, e := range since.List {
		if e.WhyNotKept() != "" {
			left = append(left, e)
		}
	}
	if len(left) > 0 {
		r.cfg.Warn(fmt.Sprintf("not all files are as at checkpoint %s: changes of which nothing was kept: %d, the last one change %s: %s",
			r.cfg.From.ID, len(left), left[0].ID, left[0].WhyNotKept()))
	}
	return err
}

// UndoAfter returns the operation that undoes what the run changed after the checkpoint. It
// fails if the checkpoint does not say where the history stood.
func (c *Checkpoint) UndoAfter() (skill.Undo, error) {
	if c.Session == nil || c.Session.History == nil {
		return skill.Undo{}, fmt.Errorf("checkpoint %s does not say which changes came before it", c.ID)
	}
	return skill.Undo{Run: c.RunID, After: c.Session.History}, nil
}

// ChangesAfter lists what the run changed after the checkpoint and is still in effect.
func (c *Checkpoint) ChangesAfter(ctx context.Context, x *skill.Executor) (skill.Changes, error) {
	if _, err := c.UndoAfter(); err != nil {
		return skill.Changes{}, err
	}
	r, err := x.Execute(ctx, &skill.Session{}, skill.History{Run: c.RunID})
	if err != nil {
		return skill.Changes{}, err
	}
	all := r.(skill.Changes)
	kept := all.List[:0]
	for _, e := range all.List {
		at := filePosition(c.Session.History)
		if !e.Undone && at.before(e.ID) && (e.Of == "" || !at.before(e.Of)) {
			kept = append(kept, e)
		}
	}
	all.List = kept
	return all, nil
}

// maxUndone is how many undone files the model gets the names of.
const maxUndone = 20

// undoneSince names the files whose changes by the run were undone after a checkpoint, by
// others than the run.
func (r *run) undoneSince(ctx context.Context, c Checkpoint) (string, error) {
	var after []string
	if r.cfg.Executor.Config().Journal.Off {
		return "", nil
	}
	if c.Session != nil {
		after = c.Session.History
	}
	mine, err := r.cfg.Executor.Execute(ctx, &skill.Session{}, skill.History{Run: r.id})
	if err != nil {
		return "", err
	}
	all, err := r.cfg.Executor.Execute(ctx, &skill.Session{}, skill.History{After: after})
	if err != nil {
		return "", err
	}
	takesBack := map[string]bool{} // what the run did, or does it again
	for _, e := range mine.(skill.Changes).List {
		takesBack[e.ID] = false
	}
	var names []string
	for _, e := range slices.Backward(all.(skill.Changes).List) {
		did, ok := takesBack[e.Of]
		if !ok || e.Run == r.id && e.RunStep > 0 {
			continue
		}
		takesBack[e.ID] = !did // an undo, or the undo of one
		if name, err := filepath.Rel(r.cfg.Executor.Dir(), e.Path); err == nil && !e.Undone &&
			takesBack[e.ID] && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if more := len(names) - maxUndone; more > 0 {
		names = append(names[:maxUndone], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", "), nil
}

// AtStep returns the last checkpoint of a step's end, without messages. Step 0 is the
// beginning of the run.
func (r Records) AtStep(ctx context.Context, runID string, step int) (c Checkpoint, err error) {
	files, err := r.Find(ctx, runID)
	if err != nil {
		return c, err
	}
	for _, n := range slices.Backward(files) {
		if n.Kind != "checkpoint" || n.StepNumber != step {
			continue
		}
		// that may be in the middle of the next step
		if c, err = r.checkpoint(ctx, runID, n); err != nil || !c.Compacted {
			return c, err
		}
	}
	if e, err := r.Event(ctx, runID, files[0]); step == 0 && err == nil && e.Type == StartRun &&
		e.InitialCheckpoint != nil {
		return *e.InitialCheckpoint, nil
	}
	last := files[len(files)-1].StepNumber
	return c, fmt.Errorf("the run %s has no checkpoint of step %d; its last step is %d", runID, step, last)
}
