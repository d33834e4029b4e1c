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

// CompletionTool is the tool that ends a run. Every request has it.
const CompletionTool = completion

// base returns the Base Skill, which is built in. The expert may configure its rule, pick
// and omit.
func (b *toolbox) base() openedSkill {
	return b.dialectSkill(baseSkill, b.expert.Skills[baseSkill], b.cfg.Base, b.cfg.Executor)
}

// dialectSkill returns the skill that has the tools of a dialect, carried out by x.
func (b *toolbox) dialectSkill(name string, c SkillConfig, d *dialect.Dialect, x *skill.Executor) openedSkill {
	s := openedSkill{name: name, rule: c.Rule}
	call := func(ctx context.Context, c ToolCall, step skill.RunStep) outcome {
		return b.callDialect(ctx, c, d, x.InRun(step))
	}
	for i := range d.Tools {
		row := &d.Tools[i]
		s.tools = append(s.tools, tool{
			Tool:  Tool{Name: row.Name, Doc: row.Doc, Schema: row.Schema()},
			skill: name, effect: row.Effect, dialect: d, inside: name == baseSkill && !row.Open, call: call,
		})
	}
	s.unknown, s.tools = c.unknown(s.tools), c.filter(s.tools)
	return s
}

// callDialect runs a call of a tool of a dialect.
func (b *toolbox) callDialect(ctx context.Context, c ToolCall, d *dialect.Dialect, x *skill.Executor) outcome {
	reply := d.Do(ctx, x, b.session, parser.ToolCall{ID: c.ID, Name: c.ToolName, Arguments: c.Args})
	o := textOutcome(reply.Body, reply.Err != nil)
	if hosts := reply.Refused(); len(hosts) > 0 && b.cfg.Hosts != nil {
		note, err := b.cfg.Hosts(ctx, x, hosts)
		if err != nil {
			note = "[" + err.Error() + "]"
		}
		o.contents = append(o.contents, textPart(note))
	}
	for _, b := range reply.Blocks {
		if b.Data != nil {
			o.contents = append(o.contents, mediaPart(b.Type, b.Data))
		}
	}
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

// mediaPart is an image or PDF itself.
func mediaPart(mediaType string, data []byte) Part {
	p := Part{Type: ImageInlinePart, EncodedData: base64.StdEncoding.EncodeToString(data),
		MimeType: mediaType, ID: newID()}
	if mediaType == "application/pdf" {
		p.Type = FileInlinePart
	}
	return p
}

// inline adds an image or PDF itself to the outcome that names it.
func inline(ctx context.Context, x *skill.Executor, o outcome, m skill.MediaFound) outcome {
	r, err := x.Execute(ctx, &skill.Session{}, skill.ReadFile{Path: m.Path, MaxBytes: m.Size})
	if err != nil {
		return textOutcome(fmt.Sprintf("Failed to read file %q: %v", m.Path, err), true)
	}
	o.event = ResolveImageFile
	if m.Type == "application/pdf" {
		o.event = ResolvePdfFile
	}
	o.contents = append(o.contents, mediaPart(m.Type, r.(skill.FileRead).Content))
	return o
}
