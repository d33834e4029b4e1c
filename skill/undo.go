package skill

import (
	"context"
	"errors"
	"fmt"
	"os"

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
	Force bool     // also undo a change of a file that has changed since, and save the current version; pass over what cannot be undone
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
	word, text := "undid ", ""
	for i, u := range r.Changes {
		if !u.Applied {
			word = "would undo "
		}
		if i > 0 {
			text += ", "
		}
		text += "change " + u.Of + " of " + u.Path
		if u.More > 0 {
			text += fmt.Sprintf(" and %d more", u.More)
		}
		if u.Left > 0 {
			text += "; " + words.Count(u.Left, "other file that it changed stays as it is", "other files that it changed stay as they are")
		}
		if u.Unchecked {
			text += " (not checked: a change that is undone first is about the same files)"
		}
		if n := len(u.Skipped); n > 0 {
			text += fmt.Sprintf("; %s, first %s: %s", words.Count(n, "of these files stays as it is", "of these files stay as they are"), u.Skipped[0].Path, u.Skipped[0].Reason)
		}
		if u.Apart > 0 {
			text += fmt.Sprintf("; %s more names (hard links) then, and what is there now under the others stays as it is", words.Count(u.Apart, "file had", "files had"))
		}
		text += passedOver(u.Passed, r.program)
	}
	if note := damagedNote(r.Damaged, r.program); note != "" {
		text += "; " + note
	}
	return word + text
}

// maxPassed is how many changes that were passed over are explained.
const maxPassed = 3

// passedOver says which changes were passed over, and why the last ones were.
func passedOver(list []error, program string) (text string) {
	n := len(list)
	if n > maxPassed+1 {
		n = maxPassed
	}
	for _, err := range list[:n] {
		text += "; passed over: " + err.Error()
	}
	if more := len(list) - n; more > 0 {
		text += fmt.Sprintf("; passed over: %d more; %s history names them", more, program)
	}
	return text
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

func (x *Executor) undo(ctx context.Context, a Undo) (Result, error) {
	if a.ID != "" && a.Since != "" {
		return nil, &ArgError{Arg: "since", Reason: "is given together with an id; one of them says what is undone"}
	}
	if a.Run != "" && a.ID+a.Since != "" {
		return nil, &ArgError{Arg: "run", Reason: "is given together with a change; one of them says what is undone"}
	}
	done, err := x.ws.Undo(ctx, workspace.UndoOptions(a))
	if err != nil {
		if e, ok := errors.AsType[*UndoError](err); ok && e.ID == "" && x.ws.Damaged() > 0 {
			e.Reason += "; " + damagedNote(x.ws.Damaged(), x.cfg.Program)
		}
		return nil, err
	}
	return Reverted{done, x.ws.Damaged(), x.cfg.Program}, nil
}

// A RunStep is a step of an expert's run, in which changes are made.
type RunStep = workspace.RunStep

// Unflushed is changes that are made and may not survive a power cut.
type Unflushed = workspace.Unflushed

// WithRun returns a context in which changes are recorded as changes of a step of a run.
func WithRun(ctx context.Context, s RunStep) context.Context { return workspace.WithRun(ctx, s) }

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

// WithLabel returns a context in which changes are recorded with the name of a dialect and
// of one of its tools.
func WithLabel(ctx context.Context, dialect, tool string) context.Context {
	return workspace.WithLabel(ctx, dialect, tool)
}
