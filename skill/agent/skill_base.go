package agent

import (
	"context"
	"encoding/base64"
	"fmt"

	"textskill/parser"
	"textskill/skill"
	"textskill/skill/dialect"
)

// The names of the Base Skill and of its tool that ends a run.
const (
	baseSkill  = "@perstack/base"
	completion = "attemptCompletion"
)

// base returns the Base Skill, which is built in. The expert may configure its rule, pick
// and omit.
func (t *task) base() openedSkill {
	c := t.expert.Skills[baseSkill]
	s := openedSkill{name: baseSkill, rule: c.Rule}
	for i := range t.cfg.Base.Tools {
		row := &t.cfg.Base.Tools[i]
		s.tools = append(s.tools, tool{
			Tool:  Tool{Name: row.Name, Doc: row.Doc, Schema: row.Schema()},
			skill: baseSkill, reads: row.Effect == dialect.Reads, call: t.callBase,
		})
	}
	s.unknown, s.tools = c.unknown(s.tools), c.filter(s.tools)
	return s
}

// callBase runs a call of the Base Skill.
func (t *task) callBase(ctx context.Context, c ToolCall) outcome {
	x := t.cfg.Executor
	reply := t.cfg.Base.Do(ctx, x, t.session, parser.ToolCall{ID: c.ID, Name: c.ToolName, Arguments: c.Args})
	o := textOutcome(reply.Body, reply.Err != nil)
	switch r := reply.Result.(type) {
	case skill.Completed:
		if len(r.Remaining) == 0 {
			o.done, o.event = true, AttemptCompletion
		}
	case skill.MediaFound:
		if reply.Err == nil {
			return inline(ctx, x, o, r)
		}
	}
	return o
}

// inline adds an image or PDF itself to the outcome that names it.
func inline(ctx context.Context, x *skill.Executor, o outcome, m skill.MediaFound) outcome {
	r, err := x.Execute(ctx, &skill.Session{}, skill.ReadFile{Path: m.Path, MaxBytes: m.Size})
	if err != nil {
		return textOutcome(fmt.Sprintf("Failed to read file %q: %v", m.Path, err), true)
	}
	data := base64.StdEncoding.EncodeToString(r.(skill.FileRead).Content)
	p := Part{Type: ImageInlinePart, EncodedData: data, MimeType: m.Type, ID: newID()}
	o.event = ResolveImageFile
	if m.Type == "application/pdf" {
		p.Type, o.event = FileInlinePart, ResolvePdfFile
	}
	o.contents = append(o.contents, p)
	return o
}
