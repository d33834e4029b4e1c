package skill

import (
	"context"

	"textskill/skill/internal/workspace"
)

// Undo takes back what a change did: the last one that is in effect and is no undo
// itself, or what is named. An undo that is taken back makes its change again.
type Undo struct {
	ID    string // this change
	Since string // this change and all that came after it; not together with ID
	Force bool   // also where something else has changed a file since; what is there is kept
}

func (Undo) op() {}

// An UndoError reports that there is no such change to undo, or that it cannot be
// undone as things are. Its Hint says what to do.
type UndoError = workspace.UndoError

// Reverted is what an Undo took back, the last change first.
type Reverted struct{ Changes []workspace.Undone }

// Message names the changes.
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
	}
	return word + text
}

// UndoID returns what the last of the changes is taken back by.
func (r Reverted) UndoID() string {
	if len(r.Changes) == 0 {
		return ""
	}
	return r.Changes[len(r.Changes)-1].ID
}

// UndoID returns what the change is taken back by, "" where it is not recorded.
func (c Changed) UndoID() string { return c.ID }

// Left says why the change cannot be undone although changes are recorded.
func (c Changed) Left() string { return c.NotKept }

func (x *Executor) undo(ctx context.Context, a Undo) (Result, error) {
	if a.ID != "" && a.Since != "" {
		return nil, &ArgError{Arg: "since", Reason: "is given together with an id; one of them says what is undone"}
	}
	done, err := x.ws.Undo(ctx, workspace.UndoOptions{ID: a.ID, Since: a.Since, Force: a.Force})
	if err != nil {
		return nil, err
	}
	return Reverted{done}, nil
}

// WithLabel returns a context under which changes are recorded as those of a tool of
// a dialect.
func WithLabel(ctx context.Context, dialect, tool string) context.Context {
	return workspace.WithLabel(ctx, dialect, tool)
}
