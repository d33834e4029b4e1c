package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// maxDepth is how many experts may wait for each other.
const maxDepth = 16

// delegate returns the skill that gives tasks to another expert.
func (g *segment) delegate(key string) openedSkill {
	doc := g.cfg.Experts[key].Description
	if doc == "" {
		doc = "Give a task to the expert " + key + ". The answer is its report."
	}
	schema := json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","description":"the task; all that the expert is told of it"}},"required":["query"],"additionalProperties":false}`)
	return openedSkill{name: key, tools: []tool{newTool(key, delegating, delegateName(key), doc, schema)}}
}

// delegateName is what a model calls an expert: the last part of its key, without a
// version.
func delegateName(key string) string {
	name, _, _ := strings.Cut(key[strings.LastIndexByte(key, '/')+1:], "@")
	return toolName(name)
}

// undelegable says why a task cannot be given, "" if it can.
func (g *segment) undelegable(args json.RawMessage) string {
	depth := 0
	for p := g; p != nil; p = p.parent {
		depth++
	}
	switch {
	case taskOf(args) == "":
		return "query is required: the task, as a text"
	case depth >= maxDepth:
		return fmt.Sprintf("%d experts wait for each other already; do it without a delegate", depth)
	}
	return ""
}

func taskOf(args json.RawMessage) string {
	var in struct{ Query string }
	if json.Unmarshal(args, &in) != nil {
		return ""
	}
	return in.Query
}

// task is what a call of a delegate gives it to do.
func (g *segment) task(c ToolCall) *DelegateTo {
	e := g.cfg.Experts[c.SkillName]
	e.Key = c.SkillName
	return &DelegateTo{Expert: e.ref(), ToolCallID: c.ID, ToolName: c.ToolName, Query: taskOf(c.Args)}
}

// next returns who works when an expert has stopped: the one it gave a task to, or
// the one that waits for its report; nil when the run stops.
func (r *run) next(g *segment) (*segment, error) {
	step := g.last.StepNumber + 1
	if r.limit > 0 && step > r.limit {
		return nil, nil
	}
	switch {
	case g.last.Status == StoppedByDelegate && g.last.DelegateTo != nil:
		to := g.last.DelegateTo
		e, err := r.expert(to.Expert.Key)
		if err != nil {
			return nil, err
		}
		child := r.start(e, to.Query, step)
		child.parent = g
		child.cp.Usage, child.cp.ContextWindowUsage, child.cp.DelegateTo = g.last.Usage, g.last.ContextWindowUsage, to
		child.cp.DelegatedBy = &DelegatedBy{Expert: g.last.Expert, ToolCallID: to.ToolCallID, ToolName: to.ToolName, CheckpointID: g.last.ID}
		return child, nil
	case g.last.Status == Completed && g.parent != nil:
		g.close()
		p := g.parent
		err := p.answered(g.last.report())
		p.cp.StepNumber, p.cp.Usage = step, g.last.Usage
		return p, err
	}
	return nil, nil
}

// enter makes the skills of an expert ready and returns who works: where that fails
// for one that was just given a task, the one that gave it, which is told.
func (g *segment) enter(ctx context.Context) (*segment, error) {
	err := g.open(ctx)
	if err == nil || ctx.Err() != nil || g.parent == nil || g.cp.Status != Init {
		return g, err
	}
	p := g.parent
	if err := p.answered("Delegation error: " + err.Error()); err != nil {
		return p, err
	}
	return p, p.open(ctx)
}

// report is the text with which an expert completed its work.
func (c *Checkpoint) report() string {
	if n := len(c.Messages); n > 0 && c.Messages[n-1].Type == ExpertMessage {
		if p := c.Messages[n-1].Contents; len(p) > 0 && p[0].Type == TextPart {
			return p[0].Text
		}
	}
	return "(no report)"
}

// waiting returns the expert that waits for the one of a checkpoint, behind those
// that wait for it, nil if there is none. The outermost must be the run's.
func (r *run) waiting(ctx context.Context, from Checkpoint) (*segment, error) {
	records := Records{r.cfg.Executor}
	var chain []Checkpoint
	for c := from; c.DelegatedBy != nil; {
		if len(chain) >= maxDepth {
			return nil, fmt.Errorf("checkpoint %s: more than %d experts wait for each other", from.ID, maxDepth)
		}
		p, err := records.Checkpoint(ctx, r.id, c.DelegatedBy.CheckpointID)
		if err != nil {
			return nil, err
		}
		chain = append(chain, p)
		c = p
	}
	if root := append([]Checkpoint{from}, chain...)[len(chain)]; root.Expert.Key != r.cfg.Expert {
		return nil, fmt.Errorf("Checkpoint expert key %s does not match input expert key %s", root.Expert.Key, r.cfg.Expert)
	}
	var parent *segment
	for _, c := range slices.Backward(chain) {
		e, err := r.expert(c.Expert.Key)
		if err != nil {
			return nil, errors.Join(err, fmt.Errorf("it waits since checkpoint %s", c.ID))
		}
		g := r.segment(e)
		g.parent, g.last = parent, &c
		c.restore(g.session)
		parent = g
	}
	return parent, nil
}
