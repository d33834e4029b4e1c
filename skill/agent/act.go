package agent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"textskill/parser/rawjson"
	"textskill/skill"
	"textskill/skill/dialect"
)

const (
	maxCalls          = 1000    // of one answer
	maxConcurrent     = 8       // calls that run beside each other
	maxResult         = 1 << 20 // bytes of text that one result takes where the window is not known
	unreadable        = "The arguments are no JSON object: "
	completionRefused = "Not completed: other calls of the same answer failed or have no result yet. See to them, then call attemptCompletion again."
)

// A call is one tool call of an answer.
type call struct {
	ToolCall                 // as recorded, without secrets
	args     json.RawMessage // as the model gave them
	tool     *tool           // nil if no tool has the name
	fault    string          // tells the model why the call is not run; "" if it is
	outcome  outcome
	changes  []string // IDs of what it changed in the workspace
}

func (c *call) result(parts ...Part) ToolResult {
	return ToolResult{ID: c.ID, SkillName: c.SkillName, ToolName: c.ToolName, Result: parts}
}

// changed notes a change that the call made. An operation makes one change after the other.
func (c *call) changed(id string) { c.changes = append(c.changes, id) }

func ids(calls []*call) (list []string) {
	for _, c := range calls {
		list = append(list, c.ID)
	}
	return list
}

// parseCalls finds the tools of calls and parses their arguments. Missing ids, and ids that
// the conversation has already, are replaced.
func (t *task) parseCalls(calls []Call) []*call {
	list := make([]*call, len(calls))
	seen := map[string]bool{}
	for _, m := range t.history {
		for _, p := range m.Contents {
			seen[p.ToolCallID] = true
		}
	}
	for i, asked := range calls {
		c := &call{tool: t.box.named(asked.Name)}
		c.ID, c.ToolName = t.cfg.clean.Text(asked.ID), t.cfg.clean.Text(asked.Name)
		if c.tool != nil {
			c.ToolName = c.tool.Name
		}
		if c.ID == "" || seen[c.ID] {
			c.ID = newID()
		}
		seen[c.ID] = true
		text := asked.Arguments
		args, err := readArguments(text)
		switch {
		case asked.Err != nil:
			c.fault = unreadable + asked.Err.Error()
		case err != nil:
			c.fault = unreadable + err.Error()
		case args[0] != '{':
			c.fault = unreadable + "they are " + shorten(string(args), 100)
		default:
			c.args = args
		}
		switch {
		case c.tool == nil:
			c.fault = fmt.Sprintf("Tool %s not found", c.ToolName)
		case c.fault == "" && c.tool.kind == delegating:
			c.fault = t.undelegable(c.args)
			fallthrough
		default:
			c.SkillName = c.tool.skill
		}
		c.Args = c.args
		if c.Args == nil {
			c.Args = rawjson.Encode(map[string]string{"unreadable": limitText(text, maxResult)})
		}
		c.Args = t.cfg.clean.JSON(c.Args)
		list[i] = c
	}
	return list
}

// expertMessage returns the message of an answer, whose calls are given.
func (t *task) expertMessage(calls []*call, a Answer) Message {
	m := newMessage(ExpertMessage)
	for _, c := range calls {
		m.Contents = append(m.Contents, callPart(c.ToolCall))
	}
	if a.Text != "" {
		m.Contents = append(m.Contents, textPart(t.cfg.clean.Text(a.Text)))
	}
	if a.Thinking.Text != "" || a.Thinking.Replay != nil {
		m.Contents = append(m.Contents, t.thinkingPart(a.Thinking))
	}
	return m
}

// thinkingPart returns the part for what a model thought. A signature does not hold for a
// text from which a secret was taken out.
func (t *task) thinkingPart(thought Thinking) Part {
	p := textPart(t.cfg.clean.Text(thought.Text))
	p.Type, p.Model = ThinkingPart, thought.Model
	if thought.Replay != nil && bytes.Equal(t.cfg.clean.JSON(thought.Replay), thought.Replay) {
		p.Replay = thought.Replay
	}
	return p
}

// act runs the calls of an answer: first tools, then attemptCompletion. It stops
// the run if calls remain that another expert or the user must answer.
func (t *task) act(ctx context.Context, a Answer) (done bool, err error) {
	calls := t.parseCalls(a.Calls)
	m := t.expertMessage(calls, a)
	t.addMessage(m)
	t.callIDs, t.results, t.pending = ids(calls), nil, nil
	events := &callEvents{message: m, usage: a.Usage}
	var now, completions, waiting []*call
	for _, c := range calls {
		switch {
		case c.fault == "" && c.tool.kind != plain:
			waiting = append(waiting, c)
		case c.SkillName == baseSkill && c.ToolName == completion:
			completions = append(completions, c)
		default:
			now = append(now, c)
		}
	}
	if err := t.runCalls(ctx, now, events); err != nil {
		return true, err
	}
	if len(waiting) > 0 || slices.ContainsFunc(now, func(c *call) bool { return c.outcome.failed }) {
		for _, c := range completions {
			c.fault = completionRefused
		}
	}
	if err := t.runCalls(ctx, completions, events); err != nil {
		return true, err
	}
	t.recordFirst(append(now, completions...), calls[0])
	if len(waiting) > 0 {
		slices.SortStableFunc(waiting, func(a, b *call) int { return int(a.tool.kind) - int(b.tool.kind) })
		for _, c := range waiting {
			t.pending = append(t.pending, c.ToolCall)
		}
		t.callEvents = events
		return true, t.stopForCall(ctx)
	}
	t.addMessage(resultMessage(t.callIDs, t.results))
	t.callIDs, t.results = nil, nil
	if len(completions) > 0 && completions[len(completions)-1].outcome.done {
		return t.complete(ctx)
	}
	return false, t.emit(ctx,
		Event{Type: FinishToolCall, NewMessages: t.step.NewMessages[len(t.step.NewMessages)-1:]})
}

// callEvents makes the events of an answer's calls. The event of the first call also
// carries the text, the thinking and the usage of the answer.
type callEvents struct {
	message Message
	usage   Usage
	begun   bool
}

// event returns the event of one call.
func (t *callEvents) event(e EventType, c ToolCall) Event {
	m := t.message
	m.Contents = nil
	for _, p := range t.message.Contents {
		if p.ToolCallID == c.ID || p.Type != ToolCallPart && !t.begun {
			m.Contents = append(m.Contents, p)
		}
	}
	usage := t.usage
	if t.begun {
		usage = Usage{}
	}
	t.begun = true
	return Event{Type: e, NewMessage: &m, ToolCall: &c, Usage: &usage}
}

// recordFirst records the first call and its result in the step, which has room for one.
func (t *task) recordFirst(done []*call, first *call) {
	t.step.ToolCall = &first.ToolCall
	if slices.Contains(done, first) {
		r := first.result(texts(first.outcome.contents)...)
		t.step.ToolResult = &r
	}
}

// runCalls runs calls in their order, and consecutive calls that only read concurrently. What
// they do is on the disk when it returns, also after an error.
func (t *task) runCalls(ctx context.Context, calls []*call, events *callEvents) error {
	err := t.runInOrder(ctx, calls, events)
	return cmp.Or(err, t.recorder.before(ctx, callsEnded))
}

// runInOrder is runCalls without the last wait for the disk. Before a call that may act outside
// of the workspace, it waits for that and for those before. Of other calls it is on the disk
// that they have begun as soon as their changes are.
func (t *task) runInOrder(ctx context.Context, calls []*call, events *callEvents) error {
	for len(calls) > 0 {
		together := calls[:1]
		for n := 2; n <= len(calls) && calls[0].readOnly() && calls[n-1].readOnly(); n++ {
			together = calls[:n]
		}
		if err := t.announce(ctx, together, events); err != nil {
			return err
		}
		before := t.box.session.Snapshot()
		t.cfg.point(beforeChange)
		t.runConcurrently(ctx, together)
		for _, c := range together {
			if err := t.resolve(ctx, c, before); err != nil {
				return err
			}
		}
		calls = calls[len(together):]
	}
	return nil
}

// announce asks whether calls are allowed, and reports that they begin.
func (t *task) announce(ctx context.Context, calls []*call, events *callEvents) error {
	comes := callInside
	for _, c := range calls {
		if err := t.allow(ctx, c); err != nil {
			return err
		}
		if c.tool != nil && !c.tool.inside {
			comes = callOutside
		}
	}
	if comes == callOutside && !calls[0].readOnly() {
		comes = actOutside
	}
	for _, c := range calls {
		t.asker.spent.called(c.ToolCall)
		if err := t.emit(ctx, events.event(CallTool, c.ToolCall)); err != nil {
			return err
		}
	}
	if err := t.recorder.before(ctx, comes); err != nil {
		return err
	}
	if comes == actOutside && t.cfg.Begin != nil {
		return t.cfg.Begin(ctx, calls[0].ToolCall)
	}
	return nil
}

// resolve reports the result of a call. The session was as before when the call began.
func (t *task) resolve(ctx context.Context, c *call, before skill.Snapshot) error {
	t.recorder.files.add(c.changes...)
	spent := &t.asker.spent
	if told := spent.round.answered(c.ToolCall, c.outcome.contents); told != "" && spent.EqualCalls > 0 {
		c.outcome.contents = append(c.outcome.contents, textPart("\n"+told))
	}
	t.results = append(t.results, c.result(c.outcome.contents...))
	r := c.result(texts(c.outcome.contents)...)
	r.IsError = c.outcome.failed
	if after := t.box.session.Snapshot(); !slices.Equal(after.Todos, before.Todos) || c.changes != nil {
		r.Session = &SessionState{Snapshot: t.cfg.clean.snapshot(after), Changes: c.changes}
	}
	return t.emit(ctx, Event{Type: cmp.Or(c.outcome.event, ResolveToolResult), ToolResult: &r})
}

// allow refuses a call that the user does not allow.
func (t *task) allow(ctx context.Context, c *call) (err error) {
	if t.cfg.Allow == nil || c.fault != "" || c.SkillName == baseSkill && c.ToolName == completion {
		return nil
	}
	if err := t.recorder.before(ctx, userAsked); err != nil {
		return err
	}
	effect := c.tool.effect
	if c.tool.dialect != nil {
		effect = c.tool.dialect.EffectOf(t.cfg.Executor, t.box.session, c.ToolName, c.Args)
	}
	c.fault, err = t.cfg.Allow(ctx, c.ToolCall, effect)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// readOnly reports whether a call changes nothing.
func (c *call) readOnly() bool { return c.fault != "" || c.tool.effect == dialect.Reads }

// runConcurrently runs calls concurrently, at most maxConcurrent at a time.
func (t *task) runConcurrently(ctx context.Context, calls []*call) {
	ctx, release := t.asker.spent.within(ctx)
	defer release()
	slots := make(chan struct{}, maxConcurrent)
	var all sync.WaitGroup
	for _, c := range calls {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			began := time.Now()
			if c.fault != "" {
				c.outcome = textOutcome(string(rawjson.Encode(reason{"Error", c.fault})), true)
			} else {
				sent := c.ToolCall
				sent.Args = c.args
				step := skill.RunStep{Run: t.recorder.store.run, Step: t.cp.StepNumber, Made: c.changed,
					Hide: t.cfg.clean.Text}
				if c.tool.inside {
					step.Later = &t.recorder.unflushed
				}
				c.outcome = c.tool.call(ctx, sent, step)
			}
			t.box.record(ctx, c, began)
			for i, p := range c.outcome.contents {
				c.outcome.contents[i].Text = limitText(t.cfg.clean.Text(p.Text), maxResult)
			}
			if t.asker.window > 0 {
				c.outcome.contents = limitParts(c.outcome.contents,
					min(maxResult, t.asker.share(recent)*bytesPerToken))
			}
		})
	}
	all.Wait()
}

// texts returns the parts that are text. Events leave out the others.
func texts(parts []Part) []Part {
	return slices.DeleteFunc(slices.Clone(parts), func(p Part) bool { return p.Type != TextPart })
}

// stopForCall stops the run for the first pending call.
func (t *task) stopForCall(ctx context.Context) error {
	c := t.pending[0]
	if t.callEvents == nil {
		t.callEvents = &callEvents{message: newMessage(ExpertMessage, callPart(c))}
	}
	t.cp.PendingToolCalls, t.cp.PartialToolResults = t.pending, t.results
	called := t.box.tool(c.ToolName)
	if called == nil || called.kind == plain {
		return fmt.Errorf("the run waits for the result of %s, which is not a delegate or interactive tool any more", c.ToolName)
	}
	if called.kind == delegating {
		t.cp.DelegateTo = t.delegateTo(c)
		if err := t.emit(ctx, t.callEvents.event(CallDelegate, c)); err != nil {
			return err
		}
		return t.stop(ctx, Event{Type: StopRunByDelegate}, StoppedByDelegate)
	}
	if err := t.emit(ctx, t.callEvents.event(CallInteractiveTool, c)); err != nil {
		return err
	}
	return t.stop(ctx, Event{Type: StopRunByInteractiveTool}, StoppedByInteractiveTool)
}
