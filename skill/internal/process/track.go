package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"textskill/skill/internal/search"
	"textskill/skill/internal/workspace"
)

// Tracked says how the changes of a program can be undone.
type Tracked struct {
	Undo        string   // the id that undoes its changes; "" if nothing changed or was recorded
	NotUndoable []string // what undo cannot restore, and why; nil if nothing is known
	NotSeen     []string // folders that tools build again, in which changes were not looked for
	// settings and hooks that the program left, by which git or hg starts programs: a path, or a path and a name
	GitPrograms []string
	// when a person's command began to serve, from when on its changes are not recorded; else zero
	Served time.Time
}

// UndoID returns Undo.
func (c Tracked) UndoID() string { return c.Undo }

// CannotUndo says in one line what undo cannot restore; "" if nothing is known.
func (c Tracked) CannotUndo() string { return strings.Join(c.NotUndoable, "; ") }

// GitNote says what of the program's changes has git start programs or write elsewhere; "" if nothing does.
func (c Tracked) GitNote() string {
	if len(c.GitPrograms) == 0 {
		return ""
	}
	return "git or hg starts programs, or writes elsewhere, by " + strings.Join(c.GitPrograms, ", ")
}

// defaultSnapshot is how many bytes of the workspace are kept before a program runs, so
// that its changes can be undone.
const defaultSnapshot = 512 << 20

// Limits on the time for finding out what the workspace holds before a program runs,
// and what has changed after it.
const (
	snapshotTimeout = 10 * time.Second
	recordTimeout   = 30 * time.Second
)

// tracked is what a program that is tracked gets of its record.
type tracked struct {
	git    []string // the paths for [fence.guardGit]
	window *os.File // that its helper holds open, nil without a record
}

// Track calls run and records, under name, what it changes in the workspace. The commands of the Runner
// that run gets belong to this record.
func (x *Runner) Track(ctx context.Context, name string, run func(inner *Runner) error) (Tracked, error) {
	return x.track(ctx, name, nil, run)
}

// track is Track for a command whose record ends before its own end, once serves is closed; it may be nil.
func (x *Runner) track(ctx context.Context, name string, serves <-chan struct{},
	run func(inner *Runner) error) (c Tracked, err error) {
	if x.tracked != nil {
		return c, run(x)
	}
	command, berr := x.begin(ctx, name)
	if err = ctx.Err(); err != nil {
		if command != nil {
			command.Cancel()
		}
		return c, err
	}
	inner := *x
	inner.tracked = &tracked{git: x.gitPathsBefore(ctx, command)}
	if command != nil {
		inner.tracked.window = command.Window()
	}
	switch {
	case berr != nil && !isTooMuch(berr):
		return c, fmt.Errorf("the command was not started, because its changes cannot be recorded: %w; --no-journal runs it without undo", berr)
	case command == nil:
		err = run(&inner)
		if berr != nil && !IsSpawnError(err) {
			c.unknown(ctx, x.ws, name, berr)
		}
		return c, err
	}
	record := sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
		defer cancel()
		command.Settings = x.gitIncluded()
		change, left, rerr := command.End(ctx)
		c.Undo, c.NotSeen, c.GitPrograms = change.ID, change.NotSeen, x.gitPrograms(change.Git, command.Settings)
		if change.NotKept != "" {
			c.NotUndoable = append(c.NotUndoable, change.NotKept)
		}
		if rerr != nil {
			c.unknown(ctx, x.ws, name, rerr)
		}
		if serves != nil { // a person's command, and a person's undo takes these
			left = slices.DeleteFunc(left, func(l workspace.Untracked) bool { return l.Person })
		}
		c.add(left)
	})
	ended, recorded := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(recorded)
		select {
		case <-ended:
		case <-serves:
			c.Served = time.Now()
			record()
		}
	}()
	err = run(&inner)
	close(ended)
	<-recorded
	if IsSpawnError(err) {
		command.Cancel()
		return c, err
	}
	record()
	for _, dir := range x.cfg.Allow {
		c.NotUndoable = append(c.NotUndoable,
			workspace.Untracked{Path: dir, Reason: "it is a folder of --allow"}.String())
	}
	return c, err
}

// gitPathsBefore returns the paths for [fence.guardGit] of what there is before a command.
func (x *Runner) gitPathsBefore(ctx context.Context, command *workspace.Command) []string {
	if command != nil {
		return command.Repositories()
	}
	return x.gitPaths(ctx)
}

// maxUntracked is how many paths that undo cannot restore are listed.
const maxUntracked = 8

func (c *Tracked) add(left []workspace.Untracked) {
	for i, l := range left {
		if i == maxUntracked && len(left) > maxUntracked+1 {
			c.NotUndoable = append(c.NotUndoable, fmt.Sprintf("and %d more", len(left)-maxUntracked))
			return
		}
		c.NotUndoable = append(c.NotUndoable, l.String())
	}
}

// unknown says why it is not known what a program changed, and records that it was run: else
// an undo would take back the change before it without a word.
func (c *Tracked) unknown(ctx context.Context, ws *workspace.Workspace, name string, err error) {
	why := err.Error()
	switch {
	case errors.Is(err, workspace.ErrTooManyFiles):
		why = fmt.Sprintf("the workspace holds more than %d files", workspace.MaxVisited)
	case errors.Is(err, context.DeadlineExceeded):
		why = "it took too long to find out what there was"
	}
	c.NotUndoable = append(c.NotUndoable, "all that it changed: "+why)
	if c.Undo == "" {
		// if that fails, too, the answer has said it
		ws.RecordUnknown(context.WithoutCancel(ctx), name, "it is not known what the command changed: "+why)
	}
}

// isTooMuch reports whether the changes of a command cannot be told because the workspace holds too
// much, in which case it runs all the same.
func isTooMuch(err error) bool {
	return errors.Is(err, workspace.ErrTooManyFiles) || errors.Is(err, context.DeadlineExceeded)
}

// begin records what the workspace holds; nil if the changes of commands are not recorded.
func (x *Runner) begin(ctx context.Context, name string) (*workspace.Command, error) {
	ctx, cancel := context.WithTimeout(ctx, snapshotTimeout)
	defer cancel()
	return x.ws.Begin(ctx, name, x.SnapshotBytes(), x.WalkAll)
}

// SnapshotBytes returns how many bytes of the workspace are kept before a program runs; less than 0
// means none.
func (x *Runner) SnapshotBytes() int64 { return cmp.Or(x.cfg.SnapshotBytes, defaultSnapshot) }

// WalkAll implements [workspace.Walker].
func (x *Runner) WalkAll(ctx context.Context, visit func(worker int, v workspace.Visited) error) error {
	o := search.WalkOptions{Git: true, Ignore: true, Marked: true,
		Workers: min(search.Workers(), workspace.CommandWorkers)}
	ctx = workspace.WithProgress(ctx, func(int64, int64, string) {}) // the caller asked for no walk
	_, err := search.Walk(ctx, x.ws, x.ws.Dir(), o, func(worker int, e *search.Entry) error {
		return visit(worker, workspace.Visited{Folder: e.Folder(), Name: e.Name, Ignored: e.Ignored, File: e})
	})
	return err
}
