package agent

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"textskill/parser/rawjson"
	"textskill/skill"
)

// A Power is a setting of a workspace that acts on its user: what is started, what is
// reached, which variables are passed on.
type Power struct {
	Setting string // as perstack.toml or a file of variables names it
	Value   string // JSON
}

// String returns the power as a line for a person.
func (p Power) String() string { return p.Setting + " = " + p.Value }

// Powers returns what a project has power over, sorted: the provider, its address, the
// files of variables, and the skills of all experts. Instructions are not among it.
func (p Project) Powers() []Power {
	var list []Power
	add := func(setting string, value any) {
		if text := string(rawjson.Encode(value)); text != `""` && text != "null" {
			list = append(list, Power{setting, text})
		}
	}
	add("provider.providerName", p.Provider.ProviderName)
	add("provider.setting.baseUrl", p.Provider.Setting.BaseURL)
	add("envPath", p.EnvPath)
	for _, key := range slices.Sorted(maps.Keys(p.Experts)) {
		list = append(list, p.Experts[key].powers()...)
	}
	return list
}

// powers returns the powers of an expert's skills: the servers that they start or reach.
// The Base Skill is this program's own, whatever it says about it.
func (e Expert) powers() []Power {
	var list []Power
	for _, name := range e.servers() {
		c := e.Skills[name]
		setting := "experts." + tomlKey(e.Key) + ".skills." + tomlKey(name)
		if c.Type == sseSkill {
			list = append(list, Power{setting + ".endpoint", string(rawjson.Encode(c.Endpoint))})
			for _, variable := range c.credentials() {
				u, _ := url.Parse(c.Endpoint)
				list = append(list, Power{setting + ".sends",
					string(rawjson.Encode(variable + " to " + u.Scheme + "://" + u.Host))})
			}
			continue
		}
		command := []string{c.Command}
		if c.PackageName != "" {
			command = append(command, c.PackageName)
		}
		list = append(list, Power{setting + ".command", string(rawjson.Encode(append(command, c.Args...)))})
		if len(c.RequiredEnv) > 0 {
			list = append(list, Power{setting + ".requiredEnv", string(rawjson.Encode(c.RequiredEnv))})
		}
	}
	return list
}

// tomlKey returns a key as TOML has it: in quotes if it is more than letters, digits, _
// and -, so that no name looks like another setting.
func tomlKey(key string) string {
	if key != "" && strings.Trim(key, runIDChars) == "" && !strings.Contains(key, ".") {
		return key
	}
	return strconv.Quote(key)
}

// servers returns the names of the skills that are servers, sorted.
func (e Expert) servers() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(e.Skills)), func(name string) bool {
		return name == baseSkill || e.Skills[name].Type == interactiveSkill ||
			e.Skills[name].Type == builtinSkill
	})
}

// granted returns an error if the expert needs a power of the workspace that the caller
// does not grant. An error that needs no grant comes first: it is found out without
// starting anything.
func (b *toolbox) granted() error {
	for _, name := range slices.Sorted(maps.Keys(b.expert.Skills)) {
		if err := b.missing(name, b.expert.Skills[name]); err != nil {
			return err
		}
	}
	if b.cfg.Grant == nil {
		return nil
	}
	return b.cfg.Grant(b.expert.powers())
}

// missing returns an error if a skill lacks a variable, or the program of a server.
func (b *toolbox) missing(name string, c SkillConfig) error {
	for _, variable := range slices.Concat(c.RequiredEnv, c.credentials()) {
		if b.cfg.Getenv(variable) == "" {
			//lint:ignore ST1005 the wording of the original runtime
			return fmt.Errorf("Skill %s requires environment variable %s", name, variable)
		}
	}
	if name == baseSkill || c.Type != stdioSkill { // it is built in, or elsewhere
		return nil
	}
	path := b.cfg.Executor.SafePath(b.cfg.Getenv("PATH"))
	if !slices.Contains(c.RequiredEnv, "PATH") {
		path = programPath(c.Command, path)
	}
	if _, err := lookPath(c.Command, path); err != nil {
		return fmt.Errorf("skill %s: %w", name, &skill.SpawnError{Command: c.Command, Err: syscall.ENOENT})
	}
	return nil
}
