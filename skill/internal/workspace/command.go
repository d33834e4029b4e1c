package workspace

import (
	"context"
	"fmt"
	"os"
	"path"
	"strings"

	"textskill/skill/internal/history"
)

// The types in which package history describes commands.
type (
	Walker  = history.Walker
	Visited = history.Visited
)

// Limits for the recording of commands: see package history.
const (
	CommandWorkers = history.Workers
	MaxKept        = history.MaxKept
	MaxVisited     = history.MaxVisited
)

// ErrTooManyFiles reports a workspace with more names than [MaxVisited].
var ErrTooManyFiles = history.ErrTooManyFiles

// A Command is a command that runs in the workspace. End records its changes.
type Command struct {
	w *Workspace
	j *journal
	c *history.Command

	Settings map[string]bool // absolute paths of files that settings of git, or of hg (true), include, for Change.Git
}

// An Untracked is a change of a command that undo does not revert, or not completely.
type Untracked struct {
	Path   string // absolute; "" if the change is not about one file
	Reason string
	Person bool // only the undo of a person takes it back
	Lost   bool // the undo of the rest is a part of an undo
}

// String returns the path and the reason.
func (l Untracked) String() string {
	if l.Path == "" {
		return l.Reason
	}
	return l.Path + ": " + l.Reason
}

// commands returns the journal that records commands, nil if they are not recorded.
func (w *Workspace) commands() *journal {
	if w.checkWritable() != nil || w.opts.DryRun {
		return nil
	}
	return w.recorder(w.roots[0])
}

// about returns the author's run, dialect and tool with a command.
func (w *Workspace) about(command string) history.About {
	by := w.author
	return history.About{Command: command, Run: by.Run, RunStep: by.Step, Host: by.Host, Agent: by.Agent,
		Dialect: by.Dialect, Tool: by.Tool}
}

// Begin saves the files of the workspace before a command runs: up to limit bytes, the smallest files
// first. It returns nil if nothing is recorded. Errors are [ErrTooManyFiles], the context's and the
// system's. After an error the caller must not start the command, unless [Workspace.RecordUnknown] can
// record it.
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
	c, err := s.Begin(ctx, w.about(command), base, limit, walk)
	if err != nil {
		return nil, err
	}
	return &Command{w: w, j: j, c: c}, nil
}

// Repositories returns the paths of the files and folders with the names .git and HEAD that there were
// before the command, but for those in repositories and in folders that tools build again.
func (c *Command) Repositories() (paths []string) {
	for _, name := range c.c.Repositories() {
		paths = append(paths, c.j.path(history.Name(name)))
	}
	return paths
}

// Window returns the file to hold open while the command may change something: [history.Command.Window].
func (c *Command) Window() *os.File { return c.c.Window() }

// Cancel drops a command that was not started.
func (c *Command) Cancel() { c.c.Cancel() }

// End records the changes of the command, without those that other ops recorded meanwhile. The Change
// has no ID if undo has nothing to revert.
func (c *Command) End(ctx context.Context) (Change, []Untracked, error) {
	change := Change{Kind: Run, Path: c.w.Dir()}
	op, err := c.c.End(ctx)
	if op == nil {
		return change, nil, err
	}
	for _, name := range op.NotSeen {
		change.NotSeen = append(change.NotSeen, string(name))
	}
	var left []Untracked
	for _, l := range op.Left {
		path := ""
		if l.Path != "" {
			path = c.j.path(l.Path)
		}
		left = append(left, Untracked{Path: path, Reason: l.Why})
	}
	if op.More > 0 {
		left = append(left, Untracked{Reason: fmt.Sprintf("and %d more", op.More)})
	}
	for _, d := range op.Deltas {
		if why := forbids(false)(string(d.Path)); why != "" {
			left = append(left, Untracked{Path: c.j.path(d.Path), Reason: why, Person: true})
		}
		base, at := path.Base(string(d.Path)), c.j.path(d.Path)
		in := "/" + string(d.Path)
		link := d.After.Kind == history.Link && (strings.Contains(in, "/.git/") || strings.Contains(in, "/.hg/"))
		_, included := c.Settings[at]
		if history.GitRunsCode(string(d.Path)) || history.HgRunsCode(string(d.Path)) || base == "config" || base == "config.worktree" || link ||
			path.Base(path.Dir(string(d.Path))) == "hooks" || included {
			change.Git = append(change.Git, at)
		}
	}
	parts := len(op.Deltas)+len(op.Left) == 0 && op.Note == "" // of the change are in other ops, which this one ends
	if op.ID == 0 || len(op.Deltas) == 0 && op.Note == "" && !parts {
		return change, left, err
	}
	change.ID, change.Applied, change.NotKept = c.w.changeID(c.j, op.ID), true, op.Note
	if len(op.Deltas) > 0 {
		change.Path = c.j.path(op.Deltas[len(op.Deltas)-1].Path)
	} else if !parts {
		change.ID = ""
	}
	if made := c.w.author.Made; made != nil && change.ID != "" {
		made(change.ID)
	}
	return change, left, err
}

// RecordUnknown records a command whose changes are unknown, and why.
func (w *Workspace) RecordUnknown(ctx context.Context, command, why string) error {
	return w.recordUnknown(ctx, command, why, false)
}

// RecordServer records the start of a server. A bare undo skips the record, because the changes of a
// running server are not the agent's.
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
		err = s.RecordUnknown(ctx, w.about(command), why, quiet)
	}
	return err
}

// oneLine returns the beginning of a command in one line.
func oneLine(command string) string {
	const most = 60
	command = strings.Join(strings.Fields(command), " ")
	if len(command) > most {
		command = strings.ToValidUTF8(command[:most], "") + "…"
	}
	return command
}
