package agent

import "encoding/json"

// An Event is one transition of a run. Its type determines which of the fields after
// StepNumber are set. An event contains only messages that no earlier event contained,
// except that StartRun repeats the messages of an interrupted step.
type Event struct {
	Type       EventType `json:"type"`
	ID         string    `json:"id"`
	ExpertKey  string    `json:"expertKey"`
	Timestamp  int64     `json:"timestamp"` // milliseconds since 1970; no two events of a run share one
	RunID      string    `json:"runId"`
	StepNumber int       `json:"stepNumber"` // from 1, over all experts of the run

	InitialCheckpoint *Checkpoint `json:"initialCheckpoint,omitempty"`
	InputMessages     []Message   `json:"inputMessages,omitzero"`
	Messages          []Message   `json:"messages,omitzero"` // those sent to the model for the first time
	Reason            string      `json:"reason,omitempty"`  // JSON: {"error":…,"message":…}
	NewMessage        *Message    `json:"newMessage,omitempty"`
	NewMessages       []Message   `json:"newMessages,omitzero"`
	ToolCall          *ToolCall   `json:"toolCall,omitempty"`
	ToolResult        *ToolResult `json:"toolResult,omitempty"`
	Checkpoint        *Checkpoint `json:"checkpoint,omitempty"` // without messages; Step has the new ones
	Step              *Step       `json:"step,omitempty"`
	NextCheckpoint    *Checkpoint `json:"nextCheckpoint,omitempty"`
	Text              *string     `json:"text,omitempty"`
	Usage             *Usage      `json:"usage,omitempty"` // of one answer of the model
	Error             *RunError   `json:"error,omitempty"`
}

// ReasonText returns the message of Reason, or Reason as it is if that holds none.
func (e Event) ReasonText() string {
	var r reason
	if json.Unmarshal([]byte(e.Reason), &r) != nil || r.Message == "" {
		return e.Reason
	}
	return r.Message
}

// An EventType names a transition.
type EventType string

// The types of events.
const (
	StartRun            EventType = "startRun"
	StartGeneration     EventType = "startGeneration"
	Retry               EventType = "retry" // the model must answer again
	CallTool            EventType = "callTool"
	CallInteractiveTool EventType = "callInteractiveTool"
	CallDelegate        EventType = "callDelegate"
	ResolveToolResult   EventType = "resolveToolResult"
	ResolveImageFile    EventType = "resolveImageFile"
	ResolvePdfFile      EventType = "resolvePdfFile"
	AttemptCompletion   EventType = "attemptCompletion" // nothing remains to be done
	FinishToolCall      EventType = "finishToolCall"
	ContinueToNextStep  EventType = "continueToNextStep"
	// the messages of its step take the place of all before
	CompactConversation       EventType = "compactConversation"
	StopRunByInteractiveTool  EventType = "stopRunByInteractiveTool"
	StopRunByDelegate         EventType = "stopRunByDelegate"
	StopRunByExceededMaxSteps EventType = "stopRunByExceededMaxSteps"
	StopRunByError            EventType = "stopRunByError" // the request to the model failed
	CompleteRun               EventType = "completeRun"
)

// EventTypes lists the types of events.
var EventTypes = []EventType{
	StartRun, StartGeneration, Retry, CallTool, CallInteractiveTool, CallDelegate, ResolveToolResult,
	ResolveImageFile, ResolvePdfFile,
	AttemptCompletion, FinishToolCall, ContinueToNextStep, CompactConversation, StopRunByInteractiveTool,
	StopRunByDelegate,
	StopRunByExceededMaxSteps, StopRunByError, CompleteRun,
}

// Usage counts tokens.
type Usage struct {
	InputTokens       int `json:"inputTokens"` // including CachedInputTokens
	OutputTokens      int `json:"outputTokens"`
	ReasoningTokens   int `json:"reasoningTokens"` // included in OutputTokens
	TotalTokens       int `json:"totalTokens"`
	CachedInputTokens int `json:"cachedInputTokens"`
	// included in InputTokens; of providers that charge more for them
	CacheWriteTokens int `json:"cacheWriteTokens,omitempty"`
}

// Add returns the sum.
func (u Usage) Add(v Usage) Usage {
	u.InputTokens += v.InputTokens
	u.OutputTokens += v.OutputTokens
	u.ReasoningTokens += v.ReasoningTokens
	u.TotalTokens += v.TotalTokens
	u.CachedInputTokens += v.CachedInputTokens
	u.CacheWriteTokens += v.CacheWriteTokens
	return u
}

// A Step is one cycle of the loop.
type Step struct {
	StepNumber    int         `json:"stepNumber"`
	InputMessages []Message   `json:"inputMessages"` // none except in the first step after a start
	NewMessages   []Message   `json:"newMessages"`
	Usage         Usage       `json:"usage"`
	StartedAt     int64       `json:"startedAt"` // milliseconds since 1970
	ToolCall      *ToolCall   `json:"toolCall,omitempty"`
	ToolResult    *ToolResult `json:"toolResult,omitempty"` // of that call; the events have the others
	FinishedAt    int64       `json:"finishedAt,omitempty"`
}

// A RunError says why a run stopped.
type RunError struct {
	Name        string `json:"name"`
	Message     string `json:"message"`
	StatusCode  int    `json:"statusCode,omitempty"` // HTTP status
	IsRetryable bool   `json:"isRetryable"`          // the cause may be temporary: continue the run later
}
