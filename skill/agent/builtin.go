package agent

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"textskill/parser/wire"
	"textskill/skill/dialect"
)

// wires are those by which the models of providers are called. All others speak OpenAI's.
var wires = map[string]*wire.Wire{"": wire.OpenAI, "openai": wire.OpenAI, "anthropic": wire.Anthropic,
	"google": wire.Gemini}

// builtin returns a skill that has the tools of a dialect.
func (b *toolbox) builtin(name string, c SkillConfig) openedSkill {
	x := b.cfg.Executor
	if c.AllowedDomains != nil {
		x = x.WithDomains(c.AllowedDomains)
	}
	d := dialect.Named(c.Dialect).Spoken(wires[b.cfg.About.Provider], len(c.Pick) > 0)
	return b.dialectSkill(name, c, d, x)
}

// checkBuiltin validates the fields of a builtin skill.
func (c SkillConfig) checkBuiltin(name string) error {
	if name == baseSkill {
		return fmt.Errorf("%s has tools of its own; give the skill another name", baseSkill)
	}
	if c.Command != "" || c.PackageName != "" ||
		c.Endpoint != "" || c.Args != nil || c.RequiredEnv != nil ||
		c.LazyInit {
		return errors.New("command, packageName, args, requiredEnv, lazyInit and endpoint mean nothing where the type is " + builtinSkill + "; leave them out")
	}
	for _, d := range c.AllowedDomains {
		if name := strings.TrimPrefix(d, "*."); name == "" || strings.ContainsAny(name, "*/:@ ") {
			return fmt.Errorf("allowedDomains: %q is not the name of a host; write it like example.org or *.example.org", d)
		}
	}
	var names []string
	for _, d := range dialect.All {
		if d == dialect.Perstack { // which every expert has
			continue
		}
		if d.Name == c.Dialect {
			return nil
		}
		names = append(names, d.Name)
	}
	return fmt.Errorf("tools = %q is not a dialect; choose one of %s", c.Dialect, strings.Join(names, ", "))
}

// readTools reads the tools, which are the name of a dialect or a table of tools.
func (c *SkillConfig) readTools() error {
	defer func() { c.ToolsTOML = nil }()
	name, isName := c.ToolsTOML.(string)
	table, isTable := c.ToolsTOML.(map[string]any)
	switch {
	case c.ToolsTOML == nil:
		return nil
	case isName && c.Type == builtinSkill:
		c.Dialect = name
		return nil
	case !isTable || c.Type == builtinSkill:
		return fmt.Errorf("tools is the name of a dialect where the type is %s, and a table of tools where it is %s", builtinSkill, interactiveSkill)
	}
	data, err := toml.Marshal(table)
	if err != nil {
		return err
	}
	if err = toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(&c.Tools); err == nil {
		return nil
	}
	if missing, ok := errors.AsType[*toml.StrictMissingError](err); ok {
		return fmt.Errorf("unknown key tools.%s", strings.Join(missing.Errors[0].Key(), "."))
	}
	return errors.New("tools: each has a description and an inputJsonSchema, which are texts")
}
