package skill

import (
	"context"
	"slices"

	"textskill/skill/internal/words"
)

// Complete lists the session's todos that are still open. It returns a [Completed].
type Complete struct{}

func (Complete) op() {}

// Completed is the result of [Complete]. If nothing remains, the work is done.
type Completed struct{ Remaining []TodoItem }

// Message says how many todos are open.
func (c Completed) Message() string {
	if len(c.Remaining) == 0 {
		return "nothing remains to be done"
	}
	return words.Count(len(c.Remaining), "todo remains", "todos remain")
}

func (x *Executor) Complete(_ context.Context, s *Session, _ Complete) (Completed, error) {
	return Completed{slices.DeleteFunc(s.list().all(), func(t TodoItem) bool { return t.Completed })}, nil
}
