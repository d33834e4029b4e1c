package process

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"textskill/skill/internal/search"
	"textskill/skill/internal/workspace"
)

// Tracked says how far what a program changed can be undone.
type Tracked struct {
	Undo        string   // what its changes are taken back by; "" where there are none, or they are not recorded
	NotUndoable []string // what undo leaves as it is, and why; nil where that is nothing that is known of
}

// UndoID returns what the changes of the program are taken back by.
func (c Tracked) UndoID() string { return c.Undo }

// Left says what undo leaves as it is, in one line; "" where that is nothing.
func (c Tracked) Left() string { return strings.Join(c.NotUndoable, "; ") }

// defaultSnapshot is how many bytes are kept of a workspace, for what programs change
// in it to be undone.
const defaultSnapshot = 256 << 20

// How long it may take to find out what there is before a program is run, and what
// has become different after it.
const (
	beforeTime = 10 * time.Second
	afterTime  = 30 * time.Second
)

type trackedKey struct{}

// Track runs a program, called name, that changes files on its own, and records what
// it changed. A run within another that is tracked is part of that one's changes.
func (x *Runner) Track(ctx context.Context, name string, run func(ctx context.Context) error) (c Tracked, err error) {
	if ctx.Value(trackedKey{}) != nil {
		return c, run(ctx)
	}
	inner := context.WithValue(ctx, trackedKey{}, true)
	s, serr := x.snapshot(ctx)
	if s == nil || serr != nil {
		if err = ctx.Err(); err == nil {
			err = run(inner)
		}
		if serr != nil {
			c.NotUndoable = []string{notTracked(serr)}
		}
		return c, err
	}
	defer s.Close()
	if err = run(inner); IsSpawn(err) {
		return c, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterTime)
	defer cancel()
	change, left, rerr := s.Record(ctx, name)
	c.Undo = change.ID
	if change.NotKept != "" {
		c.NotUndoable = append(c.NotUndoable, change.NotKept)
	}
	if rerr != nil {
		c.NotUndoable = append(c.NotUndoable, notTracked(rerr))
	}
	c.add(left)
	for _, dir := range x.cfg.Allow {
		c.NotUndoable = append(c.NotUndoable, workspace.Untracked{Path: dir, Reason: "it is a folder of --allow"}.String())
	}
	return c, err
}

// maxLeft is how many things are named that undo leaves as they are.
const maxLeft = 8

func (c *Tracked) add(left []workspace.Untracked) {
	for i, l := range left {
		if i == maxLeft && len(left) > maxLeft+1 {
			c.NotUndoable = append(c.NotUndoable, fmt.Sprintf("and %d more", len(left)-maxLeft))
			return
		}
		c.NotUndoable = append(c.NotUndoable, l.String())
	}
}

func notTracked(err error) string {
	switch {
	case errors.Is(err, workspace.ErrTooManyFiles):
		return fmt.Sprintf("nothing that it changed: the workspace holds more than %d files", workspace.MaxVisited)
	case errors.Is(err, context.DeadlineExceeded):
		return "nothing that it changed: it took too long to find out what there was"
	}
	return "nothing that it changed: " + err.Error()
}

// snapshot finds out what the workspace holds; nil where that is not wanted.
func (x *Runner) snapshot(ctx context.Context) (*workspace.Snapshot, error) {
	limit := x.cfg.SnapshotBytes
	if limit == 0 {
		limit = defaultSnapshot
	}
	ctx, cancel := context.WithTimeout(ctx, beforeTime)
	defer cancel()
	return x.ws.Snapshot(ctx, limit, x.walkAll)
}

// walkAll is the [workspace.Walker].
func (x *Runner) walkAll(ctx context.Context, visit func(worker int, v workspace.Visited) error) error {
	o := search.WalkOptions{Ignore: true, Marked: true, Workers: min(search.Workers(), workspace.SnapshotWorkers)}
	ctx = workspace.WithProgress(ctx, func(int64, int64, string) {}) // it is not what was asked for
	_, err := search.Walk(ctx, x.ws, x.ws.Dir(), o, func(worker int, e *search.Entry) error {
		return visit(worker, workspace.Visited{Folder: e.Folder(), Name: e.Name, Ignored: e.Ignored, Stat: e.Stat})
	})
	return err
}
