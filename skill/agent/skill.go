package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// An openedSkill is a source of tools that is open.
type openedSkill struct {
	name  string // as in perstack.toml
	rule  string // for the model; may be ""
	tools []tool
	close func() error // ends whatever the skill started; nil where there is nothing

	unknown []string // what pick and omit name that is none of its tools
}

// A tool is one of a skill's, as the loop sees it.
type tool struct {
	Tool
	skill string // its name
	kind  toolKind
	reads bool // it changes nothing, so it may run beside others that do not

	// call carries out one call of a tool of kind plain. A failure is an outcome;
	// once ctx is done nothing is made of it.
	call func(ctx context.Context, c ToolCall) outcome
}

// toolKind says who answers a call.
type toolKind int

const (
	plain       toolKind = iota // the tool itself
	delegating                  // another expert: the run stops for it
	interactive                 // whoever started the run, which stops for it
)

// An outcome is what a call came to.
type outcome struct {
	contents []Part // for the model
	failed   bool
	done     bool      // the work is completed
	event    EventType // "" means ResolveToolResult
}

// said is an outcome that is a text.
func said(text string, failed bool) outcome {
	if text == "" {
		text = "Error: No content" // an endpoint may refuse an empty message
	}
	return outcome{contents: []Part{textPart(text)}, failed: failed}
}

// filter returns the tools that a skill's configuration leaves, of which one
// never goes: without it no run could end.
func (c SkillConfig) filter(tools []tool) []tool {
	return slices.DeleteFunc(slices.Clone(tools), func(t tool) bool {
		omitted := slices.Contains(c.Omit, t.Name) || len(c.Pick) > 0 && !slices.Contains(c.Pick, t.Name)
		return omitted && !(t.skill == baseSkill && t.Name == completion)
	})
}

// unknown returns what pick and omit name that is none of the tools.
func (c SkillConfig) unknown(tools []tool) []string {
	return slices.DeleteFunc(slices.Concat(c.Pick, c.Omit), func(name string) bool {
		return slices.ContainsFunc(tools, func(t tool) bool { return t.Name == name })
	})
}

// interactive returns the skill whose tools whoever started the run answers.
func (c SkillConfig) interactive(name string) openedSkill {
	s := openedSkill{name: name, rule: c.Rule}
	for _, tool := range slices.Sorted(maps.Keys(c.Tools)) {
		t := c.Tools[tool]
		s.tools = append(s.tools, newTool(name, interactive, toolName(tool), t.Description, json.RawMessage(t.InputJSONSchema)))
	}
	return s
}

func newTool(skill string, kind toolKind, name, doc string, schema json.RawMessage) tool {
	return tool{Tool: Tool{Name: name, Doc: doc, Schema: schema}, skill: skill, kind: kind}
}

// open makes the expert's skills ready, its servers all at the same time. What it
// started ends with close.
func (t *task) open(ctx context.Context) error {
	if t.skills != nil { // it waited for a delegate
		return nil
	}
	var servers []string
	var asking []openedSkill
	for _, name := range slices.Sorted(maps.Keys(t.expert.Skills)) {
		switch c := t.expert.Skills[name]; {
		case name == baseSkill:
		case c.Type == interactiveSkill:
			asking = append(asking, c.interactive(name))
		default:
			servers = append(servers, name)
		}
	}
	opened, errs := make([]openedSkill, len(servers)), make([]error, len(servers))
	var all sync.WaitGroup
	for i, name := range servers {
		all.Go(func() { opened[i], errs[i] = t.connect(ctx, name, t.expert.Skills[name]) })
	}
	all.Wait()
	t.skills = slices.Concat([]openedSkill{t.base()}, opened, asking)
	for _, key := range t.expert.Delegates {
		t.skills = append(t.skills, t.delegate(key))
	}
	if err := cmp.Or(errs...); err != nil {
		t.close()
		return err
	}
	for _, s := range t.skills {
		if len(s.unknown) > 0 && t.cfg.Warn != nil {
			t.cfg.Warn(t.clean.Text(fmt.Sprintf("skill %s: pick and omit name what is none of its tools: %s", s.name, strings.Join(s.unknown, ", "))))
		}
	}
	return nil
}

// closeAll ends the skills of the expert and of those that wait for it.
func (t *task) closeAll() {
	for ; t != nil; t = t.parent {
		t.close()
	}
}

// close ends the skills, all at the same time.
func (t *task) close() {
	var all sync.WaitGroup
	for _, s := range t.skills {
		if s.close != nil {
			all.Go(func() { s.close() })
		}
	}
	all.Wait()
	t.skills = nil
}

// tool returns the tool of a name, nil if there is none. Of two with one name the
// first counts.
func (t *task) tool(name string) *tool {
	for _, s := range t.skills {
		for i := range s.tools {
			if s.tools[i].Name == name {
				return &s.tools[i]
			}
		}
	}
	return nil
}

// tools are what the model is told of, each name once. They are never nil.
func (t *task) tools() []Tool {
	list := []Tool{}
	for _, s := range t.skills {
		for _, own := range s.tools {
			if !slices.ContainsFunc(list, func(have Tool) bool { return have.Name == own.Name }) {
				list = append(list, own.Tool)
			}
		}
	}
	return list
}
