package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	rawjson "textskill/parser/json"
)

const (
	maxCalls    = 1000    // of one answer
	atOnce      = 8       // calls that run beside each other
	maxResult   = 1 << 20 // bytes of text that one result takes
	unreadable  = "The arguments are no JSON object: "
	stillToCome = "Not completed: other calls of the same answer failed or have no result yet. See to them, then call attemptCompletion again."
)

// A call is one call of an answer, read.
type call struct {
	ToolCall                 // as it is recorded: without secrets
	args     json.RawMessage // as the model gave them
	tool     *tool           // nil where there is none of that name
	wrong    string          // why it is not carried out, for the model
	outcome  outcome
}

func (c *call) result(parts ...Part) ToolResult {
	return ToolResult{ID: c.ID, SkillName: c.SkillName, ToolName: c.ToolName, Result: parts}
}

func ids(calls []*call) (list []string) {
	for _, c := range calls {
		list = append(list, c.ID)
	}
	return list
}

// read finds the tools of calls and reads their arguments. Ids that are missing
// or come twice are given anew.
func (t *task) read(calls []Call) []*call {
	list := make([]*call, len(calls))
	seen := map[string]bool{}
	for i, asked := range calls {
		c := &call{tool: t.tool(asked.Name)}
		c.ID, c.ToolName = t.clean.Text(asked.ID), t.clean.Text(asked.Name)
		if c.ID == "" || seen[c.ID] {
			c.ID = newID()
		}
		seen[c.ID] = true
		text := asked.Arguments
		if strings.TrimSpace(text) == "" {
			text = "{}"
		}
		args, _, err := rawjson.Decode(text)
		switch {
		case err != nil:
			c.wrong = unreadable + err.Error()
		case args[0] != '{':
			c.wrong = unreadable + "they are " + shorten(string(args), 100)
		default:
			c.args = args
		}
		switch {
		case c.tool == nil:
			c.wrong = fmt.Sprintf("Tool %s not found", c.ToolName)
		case c.wrong == "" && c.tool.kind == delegating:
			c.wrong = t.undelegable(c.args)
			fallthrough
		default:
			c.SkillName = c.tool.skill
		}
		c.Args = json.RawMessage("{}")
		if c.args != nil {
			c.Args = t.clean.JSON(c.args)
		}
		list[i] = c
	}
	return list
}

// expertMessage is what the model said.
func expertMessage(calls []*call, text string) Message {
	m := newMessage(ExpertMessage)
	for _, c := range calls {
		m.Contents = append(m.Contents, callPart(c.ToolCall))
	}
	if text != "" {
		m.Contents = append(m.Contents, textPart(text))
	}
	return m
}

// act carries out the calls of an answer: first those that tools answer, then the
// one that would end the run; it stops for those that others answer.
func (t *task) act(ctx context.Context, a Answer) (done bool, err error) {
	calls := t.read(a.Calls)
	m := expertMessage(calls, t.clean.Text(a.Text))
	t.say(m)
	t.order, t.results, t.pending = ids(calls), nil, nil
	told := &teller{message: m, usage: a.Usage}
	var now, last, later []*call
	for _, c := range calls {
		switch {
		case c.wrong == "" && c.tool.kind != plain:
			later = append(later, c)
		case c.SkillName == baseSkill && c.ToolName == completion:
			last = append(last, c)
		default:
			now = append(now, c)
		}
	}
	if err := t.perform(ctx, now, told); err != nil {
		return true, err
	}
	if len(later) > 0 || slices.ContainsFunc(now, func(c *call) bool { return c.outcome.failed }) {
		for _, c := range last {
			c.wrong = stillToCome
		}
	}
	if err := t.perform(ctx, last, told); err != nil {
		return true, err
	}
	t.keepFirst(append(now, last...), calls[0])
	if len(later) > 0 {
		slices.SortStableFunc(later, func(a, b *call) int { return int(a.tool.kind) - int(b.tool.kind) })
		for _, c := range later {
			t.pending = append(t.pending, c.ToolCall)
		}
		t.told = told
		return true, t.stopForCall(ctx)
	}
	t.say(resultMessage(t.order, t.results))
	t.order, t.results = nil, nil
	if len(last) > 0 && last[len(last)-1].outcome.done {
		return true, t.complete(ctx)
	}
	return false, t.emit(ctx, Event{Type: FinishToolCall, NewMessages: t.step.NewMessages[len(t.step.NewMessages)-1:]})
}

// A teller says in events what of an answer is new: its text and usage come with
// the first call.
type teller struct {
	message Message
	usage   Usage
	begun   bool
}

// of returns the event of one call.
func (t *teller) of(e EventType, c ToolCall) Event {
	m := t.message
	m.Contents = nil
	for _, p := range t.message.Contents {
		if p.ToolCallID == c.ID || p.Type == TextPart && !t.begun {
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

// keepFirst notes the first call and its result as those of the step.
func (t *task) keepFirst(done []*call, first *call) {
	t.step.ToolCall = &first.ToolCall
	if slices.Contains(done, first) {
		r := first.result(texts(first.outcome.contents)...)
		t.step.ToolResult = &r
	}
}

// perform carries out calls in their order; neighbours that only read run beside
// each other.
func (t *task) perform(ctx context.Context, calls []*call, told *teller) error {
	for len(calls) > 0 {
		n := 1
		for n < len(calls) && calls[0].reads() && calls[n].reads() {
			n++
		}
		for _, c := range calls[:n] {
			if err := t.emit(ctx, told.of(CallTool, c.ToolCall)); err != nil {
				return err
			}
		}
		t.together(ctx, calls[:n])
		for _, c := range calls[:n] {
			t.results = append(t.results, c.result(c.outcome.contents...))
			e := Event{Type: c.outcome.event}
			if e.Type == "" {
				e.Type = ResolveToolResult
			}
			r := c.result(texts(c.outcome.contents)...)
			e.ToolResult = &r
			if err := t.emit(ctx, e); err != nil {
				return err
			}
		}
		calls = calls[n:]
	}
	return nil
}

// reads tells whether a call changes nothing.
func (c *call) reads() bool { return c.wrong != "" || c.tool.reads }

// together carries out calls at the same time, a few of them.
func (t *task) together(ctx context.Context, calls []*call) {
	slots := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for _, c := range calls {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			if c.wrong != "" {
				c.outcome = said(string(rawjson.Encode(reason{"Error", c.wrong})), true)
			} else {
				sent := c.ToolCall
				sent.Args = c.args
				c.outcome = c.tool.call(ctx, sent)
			}
			for i, p := range c.outcome.contents {
				c.outcome.contents[i].Text = bounded(t.clean.Text(p.Text))
			}
		})
	}
	all.Wait()
}

// texts returns the parts that are text. The others come with the message.
func texts(parts []Part) []Part {
	return slices.DeleteFunc(slices.Clone(parts), func(p Part) bool { return p.Type != TextPart })
}

// bounded cuts a text that is too long for a conversation, and says so.
func bounded(text string) string {
	if len(text) <= maxResult {
		return text
	}
	return fmt.Sprintf("%s\n… %d bytes of %d are not shown; ask for less at once", shorten(text, maxResult), len(text)-maxResult, len(text))
}

// shorten returns the beginning of a text, of at most n bytes.
func shorten(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// stopForCall stops the run for the first call that waits.
func (t *task) stopForCall(ctx context.Context) error {
	c := t.pending[0]
	if t.told == nil {
		t.told = &teller{message: newMessage(ExpertMessage, callPart(c))}
	}
	t.cp.PendingToolCalls, t.cp.PartialToolResults = t.pending, t.results
	called := t.tool(c.ToolName)
	if called == nil || called.kind == plain {
		return fmt.Errorf("the run waits for the result of %s, which is no tool of another any more", c.ToolName)
	}
	if called.kind == delegating {
		t.cp.DelegateTo = t.delegateTo(c)
		if err := t.emit(ctx, t.told.of(CallDelegate, c)); err != nil {
			return err
		}
		return t.stop(ctx, Event{Type: StopRunByDelegate}, StoppedByDelegate)
	}
	if err := t.emit(ctx, t.told.of(CallInteractiveTool, c)); err != nil {
		return err
	}
	return t.stop(ctx, Event{Type: StopRunByInteractiveTool}, StoppedByInteractiveTool)
}

// complete asks for the run's result and ends the run with it.
func (t *task) complete(ctx context.Context) error {
	answer, err := t.generate(ctx, nil)
	if err != nil {
		return t.fail(ctx, err)
	}
	text := t.clean.Text(answer.Text)
	if text != "" {
		t.say(newMessage(ExpertMessage, textPart(text)))
	}
	return t.stop(ctx, Event{Type: CompleteRun, Text: &text, Usage: &answer.Usage}, Completed)
}
