package workspace

import (
	"context"
	"fmt"
	"strings"

	"textskill/skill/internal/history"
)

// The types in which package history describes commands.
type (
	Walker  = history.Walker
	Visited = history.Visited
)

// Limits of what is recorded of commands: see package history.
const (
	CommandWorkers = history.Workers
	MaxKept        = history.MaxKept
	MaxVisited     = history.MaxVisited
)

// ErrTooManyFiles reports a workspace of more names than [MaxVisited].
var ErrTooManyFiles = history.ErrTooManyFiles

// A Command is a command that runs in the workspace. End records what it changed.
type Command struct {
	w *Workspace
	j *journal
	c *history.Command
}

// An Untracked is something that a command changed and that undo leaves as it is, or does not
// bring back in every respect.
type Untracked struct {
	Path   string // absolute; "" if it is not about one file
	Reason string
}

// String returns the path and the reason.
func (l Untracked) String() string {
	if l.Path == "" {
		return l.Reason
	}
	return l.Path + ": " + l.Reason
}

// commands returns the journal in which commands are recorded, nil if they are not.
func (w *Workspace) commands() *journal {
	if w.checkWritable() != nil || w.opts.DryRun {
		return nil
	}
	return w.recorder(w.roots[0])
}

func about(ctx context.Context, command string) history.About {
	by := runOf(ctx)
	a := history.About{Command: command, Run: by.Run, RunStep: by.Step}
	a.Dialect, a.Tool = labelOf(ctx)
	return a
}

// Begin is called before a command runs. It keeps the contents of the files of the workspace, as far as
// they fit into limit bytes, the smaller files first. It returns nil if nothing is recorded. Errors are
// [ErrTooManyFiles], the context's and the system's: then the command is not to be started, unless
// [Workspace.RecordUnknown] can record it.
func (w *Workspace) Begin(ctx context.Context, command string, limit int64, walk Walker) (*Command, error) {
	j := w.commands()
	if j == nil || limit <= 0 {
		return nil, nil
	}
	s, err := j.open()
	if err != nil {
		return nil, err
	}
	base := string(j.name(location{w.roots[0], "."}))
	c, err := s.Begin(ctx, about(ctx, command), base, limit, walk)
	if err != nil {
		return nil, err
	}
	return &Command{w, j, c}, nil
}

// Cancel says that the command was not started.
func (c *Command) Cancel() { c.c.Cancel() }

// End records what the command changed, but for what other ops recorded meanwhile. A Change without an
// ID means that there was nothing which undo takes back.
func (c *Command) End(ctx context.Context) (Change, []Untracked, error) {
	change := Change{Kind: Run, Path: c.w.Dir()}
	op, err := c.c.End(ctx)
	if op == nil {
		return change, nil, err
	}
	var left []Untracked
	for _, l := range op.Left {
		path := ""
		if l.Path != "" {
			path = c.j.path(l.Path)
		}
		left = append(left, Untracked{path, l.Why})
	}
	if op.More > 0 {
		left = append(left, Untracked{"", fmt.Sprintf("and %d more", op.More)})
	}
	for _, d := range op.Deltas {
		if why := forbids(false)(string(d.Path)); why != "" {
			left = append(left, Untracked{c.j.path(d.Path), why})
		}
	}
	if op.ID == 0 || len(op.Deltas) == 0 && op.Note == "" {
		return change, left, err
	}
	change.ID, change.Applied, change.NotKept = c.w.changeID(c.j, op.ID), true, op.Note
	if len(op.Deltas) > 0 {
		change.Path = c.j.path(op.Deltas[len(op.Deltas)-1].Path)
	} else {
		change.ID = ""
	}
	if made := runOf(ctx).Made; made != nil && change.ID != "" {
		made(change.ID)
	}
	return change, left, err
}

// RecordUnknown records that a command was run, and why it is not known what it changed.
func (w *Workspace) RecordUnknown(ctx context.Context, command, why string) error {
	return w.recordUnknown(ctx, command, why, false)
}

// RecordServer records that a server was started. A bare undo passes over it: what a server changes is
// somebody else's change.
func (w *Workspace) RecordServer(ctx context.Context, command string) error {
	return w.recordUnknown(ctx, command, "it is not known what the server changes", true)
}

func (w *Workspace) recordUnknown(ctx context.Context, command, why string, quiet bool) error {
	j := w.commands()
	if j == nil {
		return nil
	}
	s, err := j.open()
	if err == nil {
		err = s.RecordUnknown(ctx, about(ctx, command), why, quiet)
	}
	return err
}

// oneLine shortens a command for a message.
func oneLine(command string) string {
	const most = 60
	command = strings.Join(strings.Fields(command), " ")
	if len(command) > most {
		command = strings.ToValidUTF8(command[:most], "") + "…"
	}
	return command
}
