package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"textskill/llmfallback/remote"
	"textskill/parser/rawjson"
	"textskill/skill"
)

// maxFruitless is how many answers in a row may have no tool call that can be
// carried out before the run fails.
const maxFruitless = 20

// A task is a query that one expert works on, from its start to its report.
type task struct {
	cfg      *Config
	recorder *recorder
	asker    *asker
	box      *toolbox
	schema   *reportSchema // of the report; nil for none
	note     string        // to the expert, before its next step; "" for none
	parent   *task         // the task that waits for the report; nil for the first
	last     *Checkpoint   // the one recorded last or continued from, with all messages

	query      *string   // to start or continue with; nil for none
	recovered  []Message // of the step that was under way when the run was interrupted
	completing bool      // that step lacks only the final report

	history []Message // all that the expert and its model have said
	sent    int       // how many messages of the history an event has shown as sent to the model
	size    int       // of the history, in tokens: as the endpoint counts, and estimated for what came since

	counted, estimated int // tokens of the last request: as the endpoint counts, and as its size says

	cp        Checkpoint // of the step under way; messages are filled in at its end
	step      Step
	fruitless int
	thoughts  int  // how many answers in a row were thoughts alone
	answered  bool // the last answer was a text

	// The calls of the last message, while some have no result.
	callIDs    []string // their ids
	results    []ToolResult
	pending    []ToolCall  // calls that the run has to stop for, in order
	callEvents *callEvents // of the answer that holds them; nil for an answer of an earlier run
}

// work takes steps until the run stops or goes on with another task.
func (t *task) work(ctx context.Context) error {
	initial := t.checkpoint(t.cp.Status)
	if initial.ParentID == "" && len(initial.Session.Todos) == 0 && initial.Session.History == nil {
		initial.Session = nil
	}
	t.input()
	t.step.StartedAt = time.Now().UnixMilli()
	if err := t.emit(ctx, Event{Type: StartRun, InitialCheckpoint: initial, InputMessages: t.step.inputs()}); err != nil {
		return err
	}
	for {
		done, err := t.takeStep(ctx)
		if err == nil && !done {
			done, err = t.finishStep(ctx)
		}
		if err != nil || done {
			return err
		}
	}
}

// input adds the messages that the task starts or continues with.
func (t *task) input() {
	first := len(t.history)
	if first == 0 && (len(t.recovered) == 0 || t.recovered[0].Type != InstructionMessage) {
		m := newMessage(InstructionMessage, textPart(t.cfg.clean.Text(t.instruction())))
		m.Cache = true
		t.history = append(t.history, m)
	}
	t.history = append(t.history, t.recovered...)
	t.recovered = nil
	if t.callIDs != nil && len(t.pending) == 0 {
		t.history = append(t.history, resultMessage(t.callIDs, t.results))
		t.callIDs, t.results = nil, nil
	}
	if t.note != "" {
		t.history = append(t.history, newMessage(UserMessage, textPart(t.cfg.clean.Text(t.note))))
		t.note = ""
	}
	if t.query != nil {
		t.history = append(t.history, newMessage(UserMessage, textPart(t.cfg.clean.Text(*t.query))))
	}
	t.step = Step{StepNumber: t.cp.StepNumber, InputMessages: t.history[first:len(t.history):len(t.history)]}
	t.size = tokens(t.history...)
	t.answered = asksForCall(t.history)
}

// asksForCall reports whether a conversation ends with a text of the model and the request
// for a call instead.
func asksForCall(history []Message) bool {
	n := len(history)
	return n > 1 && history[n-2].Type == ExpertMessage && history[n-2].calls() == 0 &&
		history[n-1].Text() == unusable(noToolCall, callATool)
}

// inputs returns the messages that the step began with, never nil.
func (s *Step) inputs() []Message {
	if s.InputMessages == nil {
		return []Message{}
	}
	return s.InputMessages
}

// resumeAt continues the task from its last checkpoint at a step.
func (t *task) resumeAt(step int) {
	t.history, t.sent = t.last.Messages, len(t.last.Messages)
	t.cp = Checkpoint{
		ID: newID(), StepNumber: step, Status: t.last.Status, ParentID: t.last.ID, Usage: t.last.Usage,
		ContextWindowUsage: t.last.ContextWindowUsage, DelegateTo: t.last.DelegateTo,
		DelegatedBy: t.last.DelegatedBy,
	}
}

// resumeWithin continues the task in the step that was under way.
func (t *task) resumeWithin(from position, query string) {
	t.recovered, t.completing = from.input, from.completing && query == ""
	if query != "" {
		t.query = &query
	}
	t.resumeAt(from.step)
	t.cp.Usage = from.usage
}

// resumeWith continues the task with the result of the call that it waits for.
func (t *task) resumeWith(text string) (err error) {
	t.results, t.pending, err = t.last.answer(t.cfg.clean.Text(text))
	t.callIDs, t.callEvents, t.query = t.last.calls(), nil, nil
	t.resumeAt(t.last.StepNumber + 1)
	return err
}

// takeStep asks the model what to do and does it. It reports whether work is over.
func (t *task) takeStep(ctx context.Context) (done bool, err error) {
	if len(t.pending) > 0 {
		return true, t.stopForCall(ctx)
	}
	if t.completing {
		t.completing = false
		return t.complete(ctx)
	}
	t.box.renew(ctx)
	answer, err := t.ask(ctx, t.box.tools())
	if err != nil {
		return true, t.fail(ctx, err)
	}
	if err := t.onlyThinks(answer); err != nil {
		return true, t.fail(ctx, err)
	}
	t.box.read(&answer)
	t.fruitless++
	said := strings.TrimSpace(answer.Text) != ""
	reports := said && len(answer.Calls) == 0 && t.mayReport()
	t.answered = false
	report, misfit := t.fitting(answer.Text)
	switch {
	case len(answer.Calls) > maxCalls:
		err = t.again(ctx, answer, "Too many tool calls",
			fmt.Sprintf("There are %d tool calls; at most %d are carried out at once. Try again.",
				len(answer.Calls), maxCalls))
	case answer.Cut:
		err = t.again(ctx, answer, "Tool call generation failed", "Generation length exceeded. Try again.")
	case reports && misfit == nil:
		answer.Text = report
		return true, t.report(ctx, answer)
	case reports:
		t.answered = true
		err = t.again(ctx, answer, misfitting, misfit.Error())
	case len(answer.Calls) == 0:
		t.answered = said
		err = t.again(ctx, answer, noToolCall, callATool)
	default:
		t.fruitless = 0
		return t.act(ctx, answer)
	}
	if err != nil {
		return true, err
	}
	return t.tooManyFruitless(ctx)
}

// How many answers in a row may be thoughts alone: of those that fill all the room there is, each costs
// as much as the room for an answer.
const (
	maxFilled   = 2
	maxThoughts = 5
)

// onlyThinks counts the answers that are thoughts alone. It returns an error after too many.
func (t *task) onlyThinks(a Answer) error {
	thought := a.Thinking.Text != "" || a.Usage.ReasoningTokens > 0
	if !thought || strings.TrimSpace(a.Text) != "" || len(a.Calls) > 0 {
		t.thoughts = 0
		return nil
	}
	t.thoughts++
	said := fmt.Sprintf("%d answers in a row were thoughts alone", t.thoughts)
	switch {
	case a.Cut && t.thoughts >= maxFilled:
		return modelError(&remote.Error{Reason: said + ", up to the limit of tokens",
			Advice: "let the model think less (--reasoning-budget), or give it more room for an answer"})
	case t.thoughts >= maxThoughts:
		return modelError(&remote.Error{Reason: said + ", without a text or a call",
			Advice: "see whether the endpoint takes the model's answers for thoughts"})
	}
	return nil
}

// mayReport reports whether a text without calls is the report: a second one, or the first in a
// conversation, if no todos are open.
func (t *task) mayReport() bool {
	open := slices.ContainsFunc(t.box.session.Snapshot().Todos,
		func(todo skill.TodoItem) bool { return !todo.Completed })
	return (t.answered || t.cfg.Talk && t.parent == nil) && !open
}

// tooManyFruitless ends the run after too many answers in a row that were of no use.
func (t *task) tooManyFruitless(ctx context.Context) (done bool, err error) {
	if t.fruitless < maxFruitless {
		return false, nil
	}
	return true, t.fail(ctx, modelError(&remote.Error{Reason: fmt.Sprintf("%d answers in a row held no usable tool call", maxFruitless)}))
}

// again answers the model why its answer cannot be used.
func (t *task) again(ctx context.Context, a Answer, what, advice string) error {
	reason := unusable(what, advice)
	e := Event{Type: Retry, Reason: reason, Usage: &a.Usage}
	first := len(t.step.NewMessages)
	if len(a.Calls) > 0 && len(a.Calls) <= maxCalls {
		calls := t.parseCalls(a.Calls)
		t.addMessage(t.expertMessage(calls, a))
		var results []ToolResult
		for _, c := range calls {
			results = append(results, c.result(textPart(reason)))
		}
		e.ToolCall, e.ToolResult = &calls[0].ToolCall, &results[0]
		t.addMessage(resultMessage(ids(calls), results))
	} else {
		if a.Text != "" {
			t.addMessage(t.expertMessage(nil, a))
		}
		t.addMessage(newMessage(UserMessage, textPart(reason)))
	}
	e.NewMessages = t.step.NewMessages[first:]
	return t.emit(ctx, e)
}

// A reason tells a model why its answer cannot be used.
type reason struct {
	Error   string `json:"error"`
	Message string `json:"message"`
}

const (
	noToolCall = "No tool call generated"
	callATool  = "You must generate a tool call. Try again."
)

func unusable(what, advice string) string {
	return string(rawjson.Encode(reason{"Error: " + what, advice}))
}

// addMessage adds a message of this step to the history.
func (t *task) addMessage(m Message) {
	t.history = append(t.history, m)
	t.size += tokens(m)
	t.step.NewMessages = append(t.step.NewMessages, m)
}

// finishStep ends a step. It reports whether that was the last step allowed.
func (t *task) finishStep(ctx context.Context) (done bool, err error) {
	if done, err := t.exceeded(ctx); done {
		return true, err
	}
	next := t.cp
	next.ID, next.StepNumber, next.Status, next.ParentID = newID(), t.cp.StepNumber+1, Proceeding, t.cp.ID
	shown := next
	shown.RunID, shown.Expert, shown.Messages = t.recorder.store.run, t.box.expert.ref(), []Message{}
	shown.ContextWindow = t.cfg.About.ContextWindow
	if err := t.stop(ctx, Event{Type: ContinueToNextStep, NextCheckpoint: &shown}, Proceeding); err != nil {
		return true, err
	}
	t.cp = next
	t.step = Step{StepNumber: next.StepNumber, StartedAt: time.Now().UnixMilli()}
	return false, nil
}

// stop records the step and reports its end.
func (t *task) stop(ctx context.Context, e Event, s Status) error {
	c := t.checkpoint(s)
	c.Messages = append(t.step.InputMessages[:len(t.step.InputMessages):len(t.step.InputMessages)],
		t.step.NewMessages...)
	t.step.FinishedAt = time.Now().UnixMilli()
	err := t.recorder.store.checkpoint(ctx, c)
	if err == nil {
		err = t.recorder.remember(ctx, t.asker.setting(t.cfg, t.recorder.store.run, ""), t.cfg.clean)
	}
	if err != nil {
		return err
	}
	last := *c
	last.Messages = t.history[:len(t.history):len(t.history)]
	t.last = &last
	shown, step := *c, t.step
	shown.Messages, shown.Session = []Message{}, nil
	step.InputMessages, step.NewMessages = thin(append([]Message{}, step.InputMessages...)),
		thin(append([]Message{}, step.NewMessages...))
	e.Checkpoint, e.Step = &shown, &step
	return t.emit(ctx, e)
}

// checkpoint returns the state of the task, without messages.
func (t *task) checkpoint(s Status) *Checkpoint {
	c := t.cp
	c.RunID, c.Expert, c.Status = t.recorder.store.run, t.box.expert.ref(), s
	c.Messages = []Message{}
	c.ContextWindow = t.cfg.About.ContextWindow
	if c.ContextWindow > 0 && c.ContextWindowUsage == nil {
		c.ContextWindowUsage = new(float64)
	}
	c.Session = &SessionState{Snapshot: t.cfg.clean.snapshot(t.box.session.Snapshot()),
		History: slices.Clone(t.recorder.files)}
	return &c
}

// fail ends the run for an error of the model, or because ctx or the caller ended it.
func (t *task) fail(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err == errEnough {
		return err
	}
	if errors.Is(err, errTime) {
		_, err = t.exceeded(ctx)
		return err
	}
	e := &RunError{Name: "Error", Message: t.cfg.clean.Text(err.Error())}
	if fault, ok := errors.AsType[*remote.Error](err); ok {
		e.Name, e.StatusCode, e.IsRetryable = "ProviderError", fault.Status, fault.Retry
	}
	if err := t.stop(ctx, Event{Type: StopRunByError, Error: e}, StoppedByError); err != nil {
		return err
	}
	return err
}

// emit records an event of the task.
func (t *task) emit(ctx context.Context, e Event) error {
	e.ExpertKey, e.StepNumber = t.box.expert.Key, cmp.Or(e.StepNumber, t.cp.StepNumber)
	return t.recorder.event(ctx, e)
}
