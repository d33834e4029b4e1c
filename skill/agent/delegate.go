package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// MaxDepth is how deep delegation may be nested.
const MaxDepth = 16

// delegate returns the skill whose tool delegates a task to the expert key.
func (b *toolbox) delegate(key, name string) openedSkill {
	doc := b.cfg.Experts[key].Description
	if doc == "" {
		doc = "Give a task to the expert " + key + ". The answer is its report."
	}
	schema := json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","description":"the task; all that the expert is told of it"}},"required":["query"],"additionalProperties":false}`)
	return openedSkill{name: key, tools: []tool{newTool(key, delegating, name, doc, schema)}}
}

// delegateName returns the tool name of an expert: the last part of its key, without the
// version. If a tool has that name it is the whole key, or that with a number.
func (b *toolbox) delegateName(key string) string {
	whole, _, _ := strings.Cut(strings.TrimPrefix(key, "@"), "@")
	name := ToolName(whole[strings.LastIndexByte(whole, '/')+1:])
	for n := 1; b.tool(name) != nil; n++ {
		if name = ToolName(whole); n > 1 || !strings.Contains(whole, "/") {
			name += fmt.Sprintf("_%d", n+1)
		}
	}
	return name
}

// undelegable says why a task with these arguments cannot be delegated, "" if it can.
func (t *task) undelegable(args json.RawMessage) string {
	depth := 0
	for p := t; p != nil; p = p.parent {
		depth++
	}
	switch {
	case queryOf(args) == "":
		return "query is required: the task, as a text"
	case depth >= MaxDepth:
		return fmt.Sprintf("%d experts wait for each other already; do it without a delegate", depth)
	}
	return ""
}

func queryOf(args json.RawMessage) string {
	var in struct{ Query string }
	if json.Unmarshal(args, &in) != nil {
		return ""
	}
	return in.Query
}

// delegateTo returns the task that a call delegates.
func (t *task) delegateTo(c ToolCall) *DelegateTo {
	e := t.cfg.Experts[c.SkillName]
	e.Key = c.SkillName
	return &DelegateTo{Expert: e.ref(), ToolCallID: c.ID, ToolName: c.ToolName, Query: queryOf(c.Args)}
}

// next returns the task to continue with after t has stopped: the one that t delegated, or
// the one that waits for t's report. It returns nil if the run stops.
func (r *run) next(t *task) (*task, error) {
	step := t.last.StepNumber + 1
	if s := &r.asker.spent; s.limit > 0 && step > s.limit || s.exceeded() != "" {
		return nil, nil
	}
	switch {
	case t.last.Status == StoppedByDelegate && t.last.DelegateTo != nil:
		to := t.last.DelegateTo
		e, err := r.expert(to.Expert.Key)
		if err != nil {
			return nil, err
		}
		child := r.start(e, t, to.Query, step)
		child.cp.Usage, child.cp.ContextWindowUsage, child.cp.DelegateTo = t.last.Usage,
			t.last.ContextWindowUsage, to
		child.cp.DelegatedBy = &DelegatedBy{Expert: t.last.Expert, ToolCallID: to.ToolCallID,
			ToolName: to.ToolName, CheckpointID: t.last.ID}
		return child, nil
	case t.last.Status == Completed && t.parent != nil:
		t.box.close()
		p := t.parent
		err := p.resumeWith(t.last.report())
		p.cp.StepNumber, p.cp.Usage = step, t.last.Usage
		return p, err
	}
	return nil, nil
}

// openOrReport opens the skills of t and returns t. If the skills of a new delegated task
// cannot be opened, it returns the parent, with the error as the result of its call.
func (t *task) openOrReport(ctx context.Context) (*task, error) {
	err := t.box.open(ctx)
	if err == nil || ctx.Err() != nil || t.parent == nil || t.cp.Status != Init {
		return t, err
	}
	p := t.parent
	if err := p.resumeWith("Delegation error: " + err.Error()); err != nil {
		return p, err
	}
	return p, p.box.open(ctx)
}

// report returns the final text of a completed task.
func (c *Checkpoint) report() string {
	if n := len(c.Messages); n > 0 && c.Messages[n-1].Type == ExpertMessage {
		if p := c.Messages[n-1].Contents; len(p) > 0 && p[0].Type == TextPart {
			return p[0].Text
		}
	}
	return "(no report)"
}

// waitingParent returns the task that waits for the report of a checkpoint's task, with
// its own parents, or nil. The outermost task must be that of the run's expert.
func (r *run) waitingParent(ctx context.Context, from Checkpoint) (*task, error) {
	var chain []Checkpoint
	root := from
	for root.DelegatedBy != nil {
		if len(chain) >= MaxDepth {
			return nil, fmt.Errorf("checkpoint %s: more than %d experts wait for each other",
				from.ID, MaxDepth)
		}
		var err error
		if root, err = r.records.Checkpoint(ctx, r.id, root.DelegatedBy.CheckpointID); err != nil {
			return nil, err
		}
		chain = append(chain, root)
	}
	if root.Expert.Key != r.cfg.Expert {
		return nil, expertMismatch(root.Expert.Key, r.cfg.Expert)
	}
	var parent *task
	for _, c := range slices.Backward(chain) {
		e, err := r.expert(c.Expert.Key)
		if err != nil {
			return nil, errors.Join(err, fmt.Errorf("it waits since checkpoint %s", c.ID))
		}
		t := r.newTask(e, parent)
		t.last = &c
		c.restore(t.box.session)
		parent = t
	}
	return parent, nil
}
