package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"textskill/llmfallback/openai"
	rawjson "textskill/parser/json"
	"textskill/skill"
)

// maxFruitless is how many answers in a row may be without a tool call that can
// be carried out, before the model counts as unusable.
const maxFruitless = 20

// segment is one expert at work, from its start to its stop.
type segment struct {
	*run
	expert  Expert
	session *skill.Session
	skills  []openedSkill
	parent  *segment    // the expert that waits for the report; nil if there is none
	last    *Checkpoint // the one recorded last, or gone on from, with all messages

	query   *string   // to begin or go on with; nil for none
	history []Message // all that the expert and its model have said
	sent    int       // how many messages of the history events have shown the model

	cp        Checkpoint // of the step under way; messages are filled in at its end
	step      Step
	fruitless int

	// What is known of the calls of the last message while not all have a result.
	order   []string // their ids
	results []ToolResult
	pending []ToolCall // those that the run has to stop for, in order
	told    *teller    // of the answer that they are from; nil if it was given before this start
}

// work takes steps until the expert stops.
func (g *segment) work(ctx context.Context) error {
	initial := g.checkpoint(g.cp.Status)
	initial.Session = nil
	g.input()
	g.step.StartedAt = time.Now().UnixMilli()
	if err := g.emit(ctx, Event{Type: StartRun, InitialCheckpoint: initial, InputMessages: g.step.inputs()}); err != nil {
		return err
	}
	for {
		done, err := g.take(ctx)
		if err == nil && !done {
			done, err = g.finish(ctx)
		}
		if err != nil || done {
			return err
		}
	}
}

// input adds the messages that the expert starts or goes on with.
func (g *segment) input() {
	first := len(g.history)
	if first == 0 {
		m := newMessage(InstructionMessage, textPart(g.clean.Text(g.instruction())))
		m.Cache = true
		g.history = append(g.history, m)
	}
	if g.order != nil && len(g.pending) == 0 {
		g.history = append(g.history, resultMessage(g.order, g.results))
		g.order, g.results = nil, nil
	}
	if g.query != nil {
		g.history = append(g.history, newMessage(UserMessage, textPart(g.clean.Text(*g.query))))
	}
	g.step = Step{StepNumber: g.cp.StepNumber, InputMessages: g.history[first:len(g.history):len(g.history)]}
}

// inputs are the messages that the step began with, never nil.
func (s *Step) inputs() []Message {
	if s.InputMessages == nil {
		return []Message{}
	}
	return s.InputMessages
}

// goOn readies the expert to go on from its last checkpoint, at a step.
func (g *segment) goOn(step int) {
	g.history, g.sent = g.last.Messages, len(g.last.Messages)
	g.cp = Checkpoint{
		ID: newID(), StepNumber: step, Status: g.last.Status, ParentID: g.last.ID, Usage: g.last.Usage,
		ContextWindowUsage: g.last.ContextWindowUsage, DelegateTo: g.last.DelegateTo, DelegatedBy: g.last.DelegatedBy,
	}
}

// answered is goOn with the result of the call that the expert waits for.
func (g *segment) answered(text string) (err error) {
	g.results, g.pending, err = g.last.answered(g.clean.Text(text))
	g.order, g.told, g.query = g.last.calls(), nil, nil
	g.goOn(g.last.StepNumber + 1)
	return err
}

// take lets the model decide and carries it out. done is whether the run stopped.
func (g *segment) take(ctx context.Context) (done bool, err error) {
	if len(g.pending) > 0 {
		return true, g.stopForCall(ctx)
	}
	answer, err := g.generate(ctx, g.tools())
	if err != nil {
		return true, g.fail(ctx, err)
	}
	g.fruitless++
	switch {
	case len(answer.Calls) > maxCalls:
		err = g.again(ctx, answer, "Too many tool calls", fmt.Sprintf("There are %d tool calls; at most %d are carried out at once. Try again.", len(answer.Calls), maxCalls))
	case answer.Cut:
		err = g.again(ctx, answer, "Tool call generation failed", "Generation length exceeded. Try again.")
	case len(answer.Calls) == 0:
		err = g.again(ctx, answer, "No tool call generated", "You must generate a tool call. Try again.")
	default:
		g.fruitless = 0
		return g.act(ctx, answer)
	}
	if err == nil && g.fruitless >= maxFruitless {
		return true, g.fail(ctx, modelError(&openai.Error{Reason: fmt.Sprintf("%d answers in a row held no usable tool call", maxFruitless)}))
	}
	return false, err
}

// again tells the model why its answer cannot be used.
func (g *segment) again(ctx context.Context, a Answer, what, advice string) error {
	reason := string(rawjson.Encode(reason{"Error: " + what, advice}))
	e := Event{Type: Retry, Reason: reason, Usage: &a.Usage}
	first := len(g.step.NewMessages)
	if len(a.Calls) > 0 && len(a.Calls) <= maxCalls {
		calls := g.read(a.Calls)
		g.say(expertMessage(calls, g.clean.Text(a.Text)))
		var results []ToolResult
		for _, c := range calls {
			results = append(results, c.result(textPart(reason)))
		}
		e.ToolCall, e.ToolResult = &calls[0].ToolCall, &results[0]
		g.say(resultMessage(ids(calls), results))
	} else {
		if a.Text != "" {
			g.say(newMessage(ExpertMessage, textPart(g.clean.Text(a.Text))))
		}
		g.say(newMessage(UserMessage, textPart(reason)))
	}
	e.NewMessages = g.step.NewMessages[first:]
	return g.emit(ctx, e)
}

// reason is what a model is told of an answer that cannot be used.
type reason struct {
	Error   string `json:"error"`
	Message string `json:"message"`
}

// say adds a message of this step to the history.
func (g *segment) say(m Message) {
	g.history = append(g.history, m)
	g.step.NewMessages = append(g.step.NewMessages, m)
}

// finish ends a step. done is whether it was the last that may be taken.
func (g *segment) finish(ctx context.Context) (done bool, err error) {
	if g.limit > 0 && g.cp.StepNumber >= g.limit {
		return true, g.stop(ctx, Event{Type: StopRunByExceededMaxSteps}, StoppedByExceededMaxSteps)
	}
	next := g.cp
	next.ID, next.StepNumber, next.Status, next.ParentID = newID(), g.cp.StepNumber+1, Proceeding, g.cp.ID
	told := next
	told.RunID, told.Expert, told.Messages = g.id, g.expert.ref(), []Message{}
	told.ContextWindow = g.cfg.About.ContextWindow
	if err := g.stop(ctx, Event{Type: ContinueToNextStep, NextCheckpoint: &told}, Proceeding); err != nil {
		return true, err
	}
	g.cp = next
	g.step = Step{StepNumber: next.StepNumber, StartedAt: time.Now().UnixMilli()}
	return false, nil
}

// stop records the step and reports its end.
func (g *segment) stop(ctx context.Context, e Event, s Status) error {
	c := g.checkpoint(s)
	c.Messages = append(g.step.InputMessages[:len(g.step.InputMessages):len(g.step.InputMessages)], g.step.NewMessages...)
	g.step.FinishedAt = time.Now().UnixMilli()
	if err := g.store.checkpoint(ctx, c); err != nil {
		return err
	}
	last := *c
	last.Messages = g.history[:len(g.history):len(g.history)]
	g.last = &last
	told, step := *c, g.step
	told.Messages, told.Session = []Message{}, nil
	step.InputMessages, step.NewMessages = thin(step.InputMessages), thin(append([]Message{}, step.NewMessages...))
	e.Checkpoint, e.Step = &told, &step
	return g.emit(ctx, e)
}

// checkpoint returns what the expert is now, without messages.
func (g *segment) checkpoint(s Status) *Checkpoint {
	c := g.cp
	c.RunID, c.Expert, c.Status = g.id, g.expert.ref(), s
	c.Messages = []Message{}
	c.ContextWindow = g.cfg.About.ContextWindow
	if c.ContextWindow > 0 && c.ContextWindowUsage == nil {
		c.ContextWindowUsage = new(float64)
	}
	kept := g.session.Snapshot()
	c.Session = &kept
	return &c
}

// fail ends the run because the model cannot be asked, or because it is told to.
func (g *segment) fail(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err == errEnough {
		return err
	}
	e := &RunError{Name: "Error", Message: g.clean.Text(err.Error())}
	if fault, ok := errors.AsType[*openai.Error](err); ok {
		e.Name, e.StatusCode, e.IsRetryable = "ProviderError", fault.Status, fault.Retry
	}
	if err := g.stop(ctx, Event{Type: StopRunByError, Error: e}, StoppedByError); err != nil {
		return err
	}
	return err
}

// emit completes an event, records it and hands it on.
func (g *segment) emit(ctx context.Context, e Event) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	e.ID, e.ExpertKey, e.RunID, e.StepNumber = newID(), g.expert.Key, g.id, g.cp.StepNumber
	if err := g.store.event(ctx, &e); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("the run cannot be recorded: %w", err)
	}
	if !g.yield(e, nil) {
		return errEnough
	}
	return nil
}
