package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"textskill/skill/agent"
	"textskill/skill/dialect"
)

// toolRules are the patterns of tool names under [tools] of the user's skill.toml. Deny
// counts before ask, and ask before allow.
type toolRules struct{ Allow, Ask, Deny []string }

// userFile is the name of the user's settings, in the folder skill of the configuration.
const userFile = "skill.toml"

// readRules reads the user's skill.toml; without one there are no rules.
func (c *cli) readRules() (r toolRules, err error) {
	at, err := c.places()
	if err != nil {
		return r, nil // no home folder, no settings
	}
	file := filepath.Join(at.config, "skill", userFile)
	data, err := readRegular(file)
	if errors.Is(err, os.ErrNotExist) || at.config == os.DevNull {
		return r, nil
	}
	var settings struct{ Tools toolRules }
	if err == nil {
		err = toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(&settings)
	}
	for _, pattern := range slices.Concat(settings.Tools.Allow, settings.Tools.Ask, settings.Tools.Deny) {
		if _, wrong := path.Match(pattern, ""); wrong != nil && err == nil {
			err = fmt.Errorf("the pattern %q: %w", pattern, wrong)
		}
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", file, err)
	}
	return settings.Tools, err
}

// When the person is asked before a call.
const (
	askDestroy = "destroy" // before what may replace or remove
	askChange  = "change"  // before what may change anything
	askNever   = "never"
)

// A gate lets calls pass, asks the person about them, or refuses them.
type gate struct {
	*cli
	rules  toolRules
	when   string
	ask    func(question string) (string, error) // nil if there is nobody to ask
	always map[string]bool                       // names of tools that the person has allowed for good
}

// An unaskedError ends a run that has nobody to ask about a call.
type unaskedError struct{ call string }

func (e *unaskedError) Error() string {
	return "not done, because it needs your consent: " + e.call
}

// newGate returns what --ask and the user's rules say, nil if they allow all.
func (c *cli) newGate(when string, ask func(string) (string, error)) (*gate, error) {
	rules, err := c.readRules()
	if err != nil {
		return nil, err
	}
	switch when {
	case askDestroy, askChange, askNever:
	default:
		return nil, fmt.Errorf("--ask %s: it is destroy, change or never", when)
	}
	if when == askNever && len(rules.Ask)+len(rules.Deny) == 0 {
		return nil, nil
	}
	return &gate{c, rules, when, ask, map[string]bool{}}, nil
}

// setGate lets the calls of a run pass the gate.
func (c *cli) setGate(cfg *agent.Config, when string, ask func(string) (string, error)) error {
	g, err := c.newGate(when, ask)
	if g != nil {
		cfg.Allow = g.allow
	}
	return err
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { ok, _ := path.Match(p, name); return ok })
}

// allow implements Allow of [agent.Config].
func (g *gate) allow(_ context.Context, call agent.ToolCall, effect dialect.Effect) (refusal string, err error) {
	asks := matches(g.rules.Ask, call.ToolName)
	switch {
	case matches(g.rules.Deny, call.ToolName):
		return "The user's settings deny this tool.", nil
	case asks:
	case matches(g.rules.Allow, call.ToolName), g.when == askNever, effect == dialect.Reads, g.when == askDestroy && effect == dialect.Adds:
		return "", nil
	}
	what := oneLine(call.ToolName+" "+string(call.Args), lineWidth)
	if g.always[call.ToolName] {
		return "", nil
	}
	if g.ask == nil {
		return "", &unaskedError{what}
	}
	fmt.Fprintf(g.stdout, "\n     %s\n", what)
	reply, err := g.ask("Allow this call? (yes, no, or always for this tool) ")
	if err != nil && !errors.Is(err, errLeft) {
		return "", err
	}
	switch reply = strings.ToLower(reply); {
	case strings.HasPrefix(reply, "a"):
		g.always[call.ToolName] = true
	case !strings.HasPrefix(reply, "y"):
		return "The user did not allow this call. Ask what to do instead, or go another way.", nil
	}
	return "", nil
}
