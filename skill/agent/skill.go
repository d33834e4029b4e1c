package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"textskill/parser"
	"textskill/skill"
	"textskill/skill/dialect"
)

// An openedSkill is a skill whose tools can be called.
type openedSkill struct {
	name  string // as in perstack.toml
	rule  string // for the model; may be ""
	tools []tool
	close func() // ends what the skill started; may be nil

	renew func(ctx context.Context) []tool // returns the tools if they have changed, else nil; may be nil

	unknown  []string // names in pick and omit that are not tools of the skill
	nameless int      // tools that were left out because they have no name
}

// A tool is one tool of a skill.
type tool struct {
	Tool
	skill  string // name of the skill
	kind   toolKind
	effect dialect.Effect // of tools that only read several run at the same time

	dialect *dialect.Dialect // whose tool it is; nil if it is of none

	// It does nothing but read and change the workspace, by operations that can leave it to the
	// caller to wait for the disk.
	inside bool

	// call runs one call of a tool of kind plain in a step of the run. A failure is an outcome too. The
	// outcome is ignored if ctx is done.
	call func(ctx context.Context, c ToolCall, step skill.RunStep) outcome
}

// A toolKind says who answers a call.
type toolKind int

const (
	plain       toolKind = iota // the tool itself
	delegating                  // another expert, for which the run stops
	interactive                 // the user who started the run, which stops until then
)

// An outcome is the result of a call.
type outcome struct {
	contents []Part // for the model
	failed   bool
	done     bool      // the task is completed
	event    EventType // "" means ResolveToolResult
}

// textOutcome returns an outcome with a text.
func textOutcome(text string, failed bool) outcome {
	if text == "" {
		text = "Error: No content" // endpoints may refuse an empty message
	}
	return outcome{contents: []Part{textPart(text)}, failed: failed}
}

// record gives a call that no dialect has carried out to the executor's Called.
func (b *toolbox) record(ctx context.Context, c *call, began time.Time) {
	d, failure := b.cfg.Base, c.fault
	switch {
	case c.tool == nil:
	case c.tool.dialect == nil:
		d = &dialect.Dialect{Name: c.SkillName}
	case failure == "":
		return
	default:
		d = c.tool.dialect
	}
	if failure == "" && c.outcome.failed {
		failure = cmp.Or(c.outcome.contents[0].Text, "it failed")
	}
	var err error
	if failure != "" {
		err = errors.New(failure)
	}
	d.Report(ctx, b.cfg.Executor, b.session, parser.ToolCall{Name: c.ToolName, Arguments: c.args}, began, err)
}

// filter returns the tools that pick and omit select. It always keeps attemptCompletion,
// without which no run could end.
func (c SkillConfig) filter(tools []tool) []tool {
	return slices.DeleteFunc(slices.Clone(tools), func(t tool) bool {
		omitted := slices.Contains(c.Omit, t.Name) || len(c.Pick) > 0 && !slices.Contains(c.Pick, t.Name)
		return omitted && !(t.skill == baseSkill && t.Name == completion)
	})
}

// unknown returns the names in pick and omit that are not names of tools.
func (c SkillConfig) unknown(tools []tool) []string {
	return slices.DeleteFunc(slices.Concat(c.Pick, c.Omit), func(name string) bool {
		return slices.ContainsFunc(tools, func(t tool) bool { return t.Name == name })
	})
}

// interactive returns a skill whose calls are answered by the user who started the run.
func (c SkillConfig) interactive(name string) openedSkill {
	s := openedSkill{name: name, rule: c.Rule}
	for _, tool := range slices.Sorted(maps.Keys(c.Tools)) {
		t := c.Tools[tool]
		s.tools = append(s.tools,
			newTool(name, interactive, ToolName(tool), t.Description, json.RawMessage(t.InputJSONSchema)))
	}
	return s
}

func newTool(skill string, kind toolKind, name, doc string, schema json.RawMessage) tool {
	return tool{Tool: Tool{Name: name, Doc: doc, Schema: objectSchema(schema)}, skill: skill, kind: kind}
}

// A toolbox is what one expert works with: its skills, and the session of their calls.
type toolbox struct {
	cfg     *Config
	expert  Expert
	session *skill.Session
	skills  []openedSkill // nil until open

	makesCalls bool // the model has made a call as one, not in its text
}

// open opens the expert's skills, its servers concurrently. The caller closes them with
// close.
func (b *toolbox) open(ctx context.Context) error {
	if b.skills != nil { // they stayed open while it waited for a delegate
		return nil
	}
	if err := b.granted(); err != nil {
		return err
	}
	var interactives []openedSkill
	builtins := []openedSkill{b.base()}
	if d := b.cfg.Tools; d != nil {
		builtins = append(builtins, b.dialectSkill(d.Name, SkillConfig{}, d, b.cfg.Executor))
	}
	for _, name := range slices.Sorted(maps.Keys(b.expert.Skills)) {
		switch c := b.expert.Skills[name]; {
		case name == baseSkill:
		case c.Type == interactiveSkill:
			interactives = append(interactives, c.interactive(name))
		case c.Type == builtinSkill:
			builtins = append(builtins, b.builtin(name, c))
		}
	}
	servers := b.expert.servers()
	opened, errs := make([]openedSkill, len(servers)), make([]error, len(servers))
	var all sync.WaitGroup
	for i, name := range servers {
		all.Go(func() { opened[i], errs[i] = b.connect(ctx, name, b.expert.Skills[name]) })
	}
	all.Wait()
	b.skills = slices.Concat(builtins, opened, interactives)
	for _, key := range b.expert.Delegates {
		b.skills = append(b.skills, b.delegate(key, b.delegateName(key)))
	}
	if err := cmp.Or(errs...); err != nil {
		b.close()
		return err
	}
	b.distinguish()
	for _, s := range b.skills {
		if len(s.unknown) > 0 {
			b.cfg.Warn(fmt.Sprintf("skill %s: pick and omit name tools that it does not have: %s", s.name,
				strings.Join(s.unknown, ", ")))
		}
		if s.nameless > 0 {
			b.cfg.Warn(fmt.Sprintf("skill %s: %d of its tools have no name and are left out", s.name, s.nameless))
		}
	}
	return nil
}

// distinguish renames the tools of servers whose names other tools have: the skill's name comes
// before them.
func (b *toolbox) distinguish() {
	seen := map[string]bool{}
	for _, s := range b.skills {
		for i := range s.tools {
			own := &s.tools[i]
			if seen[own.Name] && own.kind == plain && own.dialect == nil {
				own.Name = ToolName(s.name + "_" + own.Name)
			}
			seen[own.Name] = true
		}
	}
}

// renew lists the tools of servers that have said that theirs have changed.
func (b *toolbox) renew(ctx context.Context) {
	for i := range b.skills {
		if s := &b.skills[i]; s.renew != nil {
			if tools := s.renew(ctx); tools != nil {
				s.tools = tools
				b.distinguish()
			}
		}
	}
}

// close closes the skills concurrently.
func (b *toolbox) close() {
	var all sync.WaitGroup
	for _, s := range b.skills {
		if s.close != nil {
			all.Go(s.close)
		}
	}
	all.Wait()
	b.skills = nil
}

// tool returns the tool with a name, nil for none. If several tools have the name,
// the first one wins.
func (b *toolbox) tool(name string) *tool {
	for _, s := range b.skills {
		for i := range s.tools {
			if s.tools[i].Name == name {
				return &s.tools[i]
			}
		}
	}
	return nil
}

// tools returns the tools for the model, each name once. It is never nil.
func (b *toolbox) tools() []Tool {
	list := []Tool{}
	for _, s := range b.skills {
		for _, own := range s.tools {
			if !slices.ContainsFunc(list, func(have Tool) bool { return have.Name == own.Name }) {
				list = append(list, own.Tool)
			}
		}
	}
	return list
}
