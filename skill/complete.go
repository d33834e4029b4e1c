package skill

import (
	"slices"

	"textskill/skill/internal/words"
)

// Complete asks whether the work is done: whether no todo of the session is open.
type Complete struct{}

func (Complete) op() {}

// Completed is the answer to Complete. The work is done where nothing remains.
type Completed struct{ Remaining []TodoItem }

// Message tells how many todos are open.
func (c Completed) Message() string {
	if len(c.Remaining) == 0 {
		return "nothing remains to be done"
	}
	return words.Count(len(c.Remaining), "todo remains", "todos remain")
}

func (x *Executor) complete(s *Session) (Result, error) {
	return Completed{slices.DeleteFunc(s.list().all(), func(t TodoItem) bool { return t.Completed })}, nil
}
