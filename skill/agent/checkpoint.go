package agent

import (
	"fmt"

	"textskill/skill"
)

// A Checkpoint is the state of a run at the end of a step. A stored checkpoint has the
// messages of its own step and the id of the checkpoint before it. [Records.Checkpoint]
// returns it with all messages, which is all that is needed to continue the run. In an
// event it has no messages; the event's Step has them.
type Checkpoint struct {
	ID            string    `json:"id"`
	RunID         string    `json:"runId"`
	Expert        ExpertRef `json:"expert"`
	StepNumber    int       `json:"stepNumber"`
	Status        Status    `json:"status"`
	Messages      []Message `json:"messages"`
	Usage         Usage     `json:"usage"` // of the run so far
	ContextWindow int       `json:"contextWindow,omitempty"`
	// fraction of the window used by the last request and answer
	ContextWindowUsage *float64     `json:"contextWindowUsage,omitempty"`
	DelegateTo         *DelegateTo  `json:"delegateTo,omitempty"`
	DelegatedBy        *DelegatedBy `json:"delegatedBy,omitempty"`

	// checkpoint before it; "" for the first one of an expert
	ParentID string `json:"parentId,omitempty"`
	// its messages take the place of all before
	Compacted bool `json:"compacted,omitempty"`
	// nil in the events that end a step
	Session *SessionState `json:"session,omitempty"`
	// without a result; the run waits for that of the first
	PendingToolCalls   []ToolCall   `json:"pendingToolCalls,omitempty"`
	PartialToolResults []ToolResult `json:"partialToolResults,omitempty"` // of the other calls of the answer
}

// A SessionState is what is kept of a task besides its conversation.
type SessionState struct {
	skill.Snapshot // the todos
	// of a checkpoint: see [skill.Executor.Position]; nil if it is not known
	History []string `json:"history,omitempty"`
	Changes []string `json:"changes,omitempty"` // of a call: the IDs of the changes that it made
}

// withoutFiles returns the state for another checkpoint.
func (s *SessionState) withoutFiles() *SessionState {
	if s == nil {
		return nil
	}
	return &SessionState{Snapshot: s.Snapshot}
}

// An ExpertRef names an expert.
type ExpertRef struct {
	Key     string `json:"key"`
	Name    string `json:"name"`
	Version string `json:"version"`
}

// A Status is the state of a run.
type Status string

// The values of Status.
const (
	Init                      Status = "init"
	Proceeding                Status = "proceeding"
	Completed                 Status = "completed"
	StoppedByInteractiveTool  Status = "stoppedByInteractiveTool"
	StoppedByDelegate         Status = "stoppedByDelegate"
	StoppedByExceededMaxSteps Status = "stoppedByExceededMaxSteps"
	StoppedByError            Status = "stoppedByError"
)

// A DelegateTo is a task that an expert delegates to another one.
type DelegateTo struct {
	Expert     ExpertRef `json:"expert"`
	ToolCallID string    `json:"toolCallId"`
	ToolName   string    `json:"toolName"`
	Query      string    `json:"query"`
}

// A DelegatedBy says which call delegated a task.
type DelegatedBy struct {
	Expert       ExpertRef `json:"expert"`
	ToolCallID   string    `json:"toolCallId"`
	ToolName     string    `json:"toolName"`
	CheckpointID string    `json:"checkpointId"` // at which the delegating expert waits
}

// calls returns the ids of the calls in the last message, in their order.
func (c *Checkpoint) calls() (ids []string) {
	if len(c.Messages) == 0 {
		return nil
	}
	for _, p := range c.Messages[len(c.Messages)-1].Contents {
		if p.Type == ToolCallPart {
			ids = append(ids, p.ToolCallID)
		}
	}
	return ids
}

// restore restores a session to the checkpoint's.
func (c *Checkpoint) restore(s *skill.Session) {
	if c.Session != nil {
		s.Restore(c.Session.Snapshot)
	}
}

// pendingToolName returns the name of the tool whose result the run waits for.
func (c *Checkpoint) pendingToolName() string {
	if len(c.PendingToolCalls) == 0 {
		return "a tool"
	}
	return c.PendingToolCalls[0].ToolName
}

// answer takes text as the result of the first pending call. It returns all results so far
// and the calls that remain pending.
func (c *Checkpoint) answer(text string) ([]ToolResult, []ToolCall, error) {
	if len(c.PendingToolCalls) == 0 {
		return nil, nil, fmt.Errorf("checkpoint %s waits for the result of a call that it does not name", c.ID)
	}
	call := c.PendingToolCalls[0]
	results := append(c.PartialToolResults[:len(c.PartialToolResults):len(c.PartialToolResults)],
		ToolResult{ID: call.ID, SkillName: call.SkillName, ToolName: call.ToolName,
			Result: []Part{textPart(text)}})
	return results, c.PendingToolCalls[1:], nil
}
