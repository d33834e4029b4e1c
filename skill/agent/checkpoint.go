package agent

import (
	"fmt"

	"textskill/skill"
)

// A Checkpoint is what a run is at the end of a step. One that is recorded holds
// the messages of its step alone, and the id of the checkpoint before; that of
// [Records.Checkpoint] holds all of them, and is everything needed to go on. In an
// event it has none: those of the step are beside it.
type Checkpoint struct {
	ID                 string       `json:"id"`
	RunID              string       `json:"runId"`
	Expert             ExpertRef    `json:"expert"`
	StepNumber         int          `json:"stepNumber"`
	Status             Status       `json:"status"`
	Messages           []Message    `json:"messages"`
	Usage              Usage        `json:"usage"` // of the run so far
	ContextWindow      int          `json:"contextWindow,omitempty"`
	ContextWindowUsage *float64     `json:"contextWindowUsage,omitempty"` // share of the window that the last answer filled
	DelegateTo         *DelegateTo  `json:"delegateTo,omitempty"`
	DelegatedBy        *DelegatedBy `json:"delegatedBy,omitempty"`

	ParentID           string          `json:"parentId,omitempty"`           // the checkpoint before; "" for an expert's first
	Session            *skill.Snapshot `json:"session,omitempty"`            // the todos; nil in events
	PendingToolCalls   []ToolCall      `json:"pendingToolCalls,omitempty"`   // not answered yet; the run waits for the first
	PartialToolResults []ToolResult    `json:"partialToolResults,omitempty"` // of the calls beside those
}

// An ExpertRef names an expert.
type ExpertRef struct {
	Key     string `json:"key"`
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Status says how far a run is.
type Status string

// The states of a run.
const (
	Init                      Status = "init"
	Proceeding                Status = "proceeding"
	Completed                 Status = "completed"
	StoppedByInteractiveTool  Status = "stoppedByInteractiveTool"
	StoppedByDelegate         Status = "stoppedByDelegate"
	StoppedByExceededMaxSteps Status = "stoppedByExceededMaxSteps"
	StoppedByError            Status = "stoppedByError"
)

// DelegateTo is a task that an expert gives to another.
type DelegateTo struct {
	Expert     ExpertRef `json:"expert"`
	ToolCallID string    `json:"toolCallId"`
	ToolName   string    `json:"toolName"`
	Query      string    `json:"query"`
}

// DelegatedBy is where a task came from.
type DelegatedBy struct {
	Expert       ExpertRef `json:"expert"`
	ToolCallID   string    `json:"toolCallId"`
	ToolName     string    `json:"toolName"`
	CheckpointID string    `json:"checkpointId"` // of the expert that waits
}

// calls returns the ids of the calls of the last message, in their order.
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

// restore makes a session hold what the checkpoint does.
func (c *Checkpoint) restore(s *skill.Session) {
	if c.Session != nil {
		s.Restore(*c.Session)
	}
}

// waitsFor names the tool whose result the run waits for.
func (c *Checkpoint) waitsFor() string {
	if len(c.PendingToolCalls) == 0 {
		return "a tool"
	}
	return c.PendingToolCalls[0].ToolName
}

// answered returns the results of the calls before c, when text is that of the
// first that waits, and those that wait still.
func (c *Checkpoint) answered(text string) ([]ToolResult, []ToolCall, error) {
	if len(c.PendingToolCalls) == 0 {
		return nil, nil, fmt.Errorf("checkpoint %s waits for the result of a call that it does not name", c.ID)
	}
	call := c.PendingToolCalls[0]
	results := append(c.PartialToolResults[:len(c.PartialToolResults):len(c.PartialToolResults)],
		ToolResult{ID: call.ID, SkillName: call.SkillName, ToolName: call.ToolName, Result: []Part{textPart(text)}})
	return results, c.PendingToolCalls[1:], nil
}
