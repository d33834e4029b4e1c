package skill

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"textskill/skill/internal/words"
	"textskill/skill/internal/workspace"
)

// Undo undoes a change. Without ID and Since it undoes the last change that is in effect
// and is not an undo. Undoing an undo redoes the change. It returns a [Reverted].
type Undo struct {
	ID    string   // undo this change
	Since string   // undo this change and all later ones; not together with ID
	Run   string   // undo the changes of this run of an expert; not together with ID or Since
	After []string // with Run, only those after this [Executor.Position]
	Whole bool     // with Run, undo nothing if one of them cannot be undone
	// also undo a change of a file that has changed since, and save the current version; pass over
	// what cannot be undone
	Force bool
	// also undo paths that others may have changed: see [UndoError]
	Perhaps bool
}

func (Undo) op() {}

// An UndoError reports a change that does not exist or cannot be undone now. Its Hint says
// what to do.
type UndoError = workspace.UndoError

// A PartlyUndoneError reports that some changes of a run were not undone.
type PartlyUndoneError = workspace.PartlyUndoneError

// Reverted is the result of [Undo].
type Reverted struct {
	Changes []workspace.Undone // the last change first
	Damaged int                // records that cannot be read

	program string // what to type for the program
}

// Message lists the changes that were undone, and those that were passed over for that.
func (r Reverted) Message() string {
	if len(r.Changes) == 0 {
		return "nothing was changed since"
	}
	lines := make([]string, len(r.Changes))
	for i, u := range r.Changes {
		lines[i] = reverted(u)
	}
	for _, u := range r.Changes {
		for _, err := range u.Passed[:min(len(u.Passed), maxPassed)] {
			lines = append(lines, "passed over: "+err.Error())
		}
		if more := len(u.Passed) - maxPassed; more > 0 {
			lines = append(lines, fmt.Sprintf("passed over: %d more; %s history names them", more, r.program))
		}
	}
	if note := damagedNote(r.Damaged, r.program); note != "" {
		lines = append(lines, note)
	}
	return strings.Join(lines, "\n")
}

// String is Message, not the list of the changes, which are worded as not made.
func (r Reverted) String() string { return r.Message() }

// maxPassed is how many changes that were passed over are explained.
const maxPassed = 3

// reverted describes one change that was undone.
func reverted(u workspace.Undone) string {
	word := "undid"
	if !u.Applied {
		word = "would undo"
	}
	text := word + " change " + u.Of + ": " + u.What
	if u.More > 0 {
		text += fmt.Sprintf(" (%d files)", u.More+1)
	} else {
		text += " " + u.Path
	}
	list := func(what string, names []string) {
		const most = 3
		if n := len(names); n > most {
			names = append(names[:most:most], fmt.Sprintf("and %d more", n-most))
		}
		if len(names) > 0 {
			text += "; " + what + " " + strings.Join(names, ", ")
		}
	}
	if len(u.Took) > 0 {
		text += "; took back lines of later changes too: " + strings.Join(u.Took, ", ")
	}
	list("kept later changes in", u.Merged)
	list("replaced a later version, which is saved, of", u.Lost)
	list("did not remove, because something else is in it:", u.Stays)
	for _, name := range slices.Sorted(maps.Keys(u.Unlinked)) {
		text += "; " + name + " is no longer another name of " + u.Unlinked[name]
		if n := len(u.Unlinked); n > 3 {
			text += fmt.Sprintf(", and %d more are files of their own", n-1)
			break
		}
	}
	for _, name := range slices.Sorted(maps.Keys(u.Held)) {
		text += "; " + name + " is open in " + cmp.Or(u.Held[name], "another program") + ", which goes on with the old file until it opens it again"
	}
	if n := len(u.Unasked); n > 0 {
		text += "; the system does not tell whether a program has " + u.Unasked[0] + " open"
		if n > 1 {
			text += fmt.Sprintf(", nor %d more files", n-1)
		}
	}
	if u.Left > 0 {
		text += "; " + words.Count(u.Left, "other file that it changed stays as it is",
			"other files that it changed stay as they are")
		if len(u.Leaves) > 0 {
			text += ", first " + u.Leaves[0].String()
		}
	}
	if n := len(u.Kept); n > 0 {
		const most = 3
		text += "; " + words.Count(n, "file stays", "files stay")
		for _, e := range u.Kept[:min(n, most)] {
			text += "\n  " + e.Path + " " + e.Reason
		}
		if n > most {
			text += fmt.Sprintf("\n  and %d more", n-most)
		}
	}
	if n := len(u.Skipped); n > 0 {
		text += fmt.Sprintf("; %s, first %s: %s", words.Count(n, "of these files stays as it is",
			"of these files stay as they are"), u.Skipped[0].Path, u.Skipped[0].Reason)
	}
	if len(u.NotSeen) > 0 {
		text += "; not looked at: " + strings.Join(u.NotSeen, ", ")
	}
	text += dryRun(u)
	return text
}

// dryRun lists what an undo would do at each path, and the diff; "" for an undo that was made.
func dryRun(u workspace.Undone) string {
	if u.Applied {
		return ""
	}
	text := ""
	for _, s := range u.Steps {
		text += fmt.Sprintf("\n  %-7s %s", s.Does, s.Path)
		if s.Grade != "" {
			text += " (" + s.Grade + ")"
		}
	}
	if u.Diff != "" {
		text += "\n" + strings.TrimSuffix(u.Diff, "\n")
	}
	return text
}

// Left reports whether paths of the changes stayed that an undo could take back.
func (r Reverted) Left() bool {
	for _, u := range r.Changes {
		isLost := func(l Untracked) bool { return l.Lost }
		if len(u.Kept)+len(u.Skipped) > 0 || slices.ContainsFunc(u.Leaves, isLost) {
			return true
		}
	}
	return false
}

// UndoID returns the id that undoes the last of these undos, "" if there are none.
func (r Reverted) UndoID() string {
	if len(r.Changes) == 0 {
		return ""
	}
	return r.Changes[len(r.Changes)-1].ID
}

// UndoID returns the id that undoes the change, "" if it is not recorded.
func (c Changed) UndoID() string { return c.ID }

// CannotUndo says why the change cannot be undone although changes are recorded; "" if it
// can.
func (c Changed) CannotUndo() string { return c.NotKept }

func (x *Executor) Undo(ctx context.Context, s *Session, a Undo) (Reverted, error) {
	defer x.followed(s, "", nil)()
	if a.ID != "" && a.Since != "" {
		return Reverted{}, &ArgError{Arg: "since",
			Reason: "is given together with an id; one of them says what is undone"}
	}
	if a.Run != "" && a.ID+a.Since != "" {
		return Reverted{}, &ArgError{Arg: "run",
			Reason: "is given together with a change; one of them says what is undone"}
	}
	if err := x.ws.SeeCalls(ctx, x.process.WalkAll); err != nil {
		return Reverted{}, err
	}
	done, err := x.ws.Undo(ctx, workspace.UndoOptions(a))
	if err != nil {
		if e, ok := errors.AsType[*UndoError](err); ok && e.ID == "" && x.ws.Damaged() > 0 {
			e.Reason += "; " + damagedNote(x.ws.Damaged(), x.cfg.Program)
		}
		return Reverted{}, err
	}
	return Reverted{done, x.ws.Damaged(), x.cfg.Program}, nil
}

// A RunStep is a step of an expert's run, in which changes are made.
type RunStep = workspace.RunStep

// Unflushed is changes that are made and may not survive a power cut.
type Unflushed = workspace.Unflushed

// InRun returns an Executor like x that records changes with a run and its step. It shares everything
// else with x, and is not closed.
func (x *Executor) InRun(s RunStep) *Executor {
	by := x.ws.Author()
	by.RunStep = s
	return x.by(by)
}

// ByTool returns an Executor like x that records changes with the name of a dialect and of one of its
// tools. It shares everything else with x, and is not closed.
func (x *Executor) ByTool(dialect, tool string) *Executor {
	by := x.ws.Author()
	by.Dialect, by.Tool = dialect, tool
	return x.by(by)
}

func (x *Executor) by(a workspace.Author) *Executor {
	y := *x
	y.ws = x.ws.By(a)
	y.process = x.process.On(y.ws)
	y.git, y.project = x.git.On(y.ws, y.process), x.project.On(y.ws, y.process)
	return &y
}

// Runs opens the folder beside the history that holds the sums of experts' records, where no
// operation and no command reaches them. The caller closes it.
func (x *Executor) Runs() (*os.Root, error) { return x.ws.Runs() }

// Position returns where the history stands: the ID of the last change of each directory
// that has one. It is nil if nothing is recorded.
func (x *Executor) Position(ctx context.Context) ([]string, error) {
	if x.cfg.Journal.Off {
		return nil, nil
	}
	return x.ws.Position(ctx)
}
