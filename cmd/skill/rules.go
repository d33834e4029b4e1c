package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/pelletier/go-toml/v2"

	rawjson "textskill/parser/json"
	"textskill/skill/agent"
)

// rulesFile is the name of the settings of the user, in the folder skill of the
// configuration, and of a workspace.
const rulesFile = "skill.toml"

// toolRules are the patterns of tool names under [tools] of a skill.toml. Deny counts
// before ask, and ask before allow.
type toolRules struct{ Allow, Ask, Deny []string }

// readToolRules reads a skill.toml.
func readToolRules(file string) (toolRules, error) {
	var settings struct{ Tools toolRules }
	data, err := readRegular(file)
	if errors.Is(err, os.ErrNotExist) {
		return settings.Tools, err
	}
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

// and adds rules.
func (r toolRules) and(more toolRules) toolRules {
	return toolRules{slices.Concat(r.Allow, more.Allow), slices.Concat(r.Ask, more.Ask), slices.Concat(r.Deny, more.Deny)}
}

// userRules returns the path of the user's skill.toml; "" where there is no home folder.
func (c *cli) userRules() string {
	at, err := c.places()
	if err != nil || at.config == os.DevNull {
		return ""
	}
	return filepath.Join(at.config, "skill", rulesFile)
}

// readRules returns the rules of the user's skill.toml, and those of the workspace's if the
// user has trusted it. What the user denies or asks about no workspace allows: neither by
// the user's rules nor, if asked is set, by --ask.
func (c *cli) readRules(o *options, trusted, asked bool) (toolRules, error) {
	var user toolRules
	if file := c.userRules(); file != "" {
		var err error
		if user, err = readToolRules(file); err != nil && !errors.Is(err, os.ErrNotExist) {
			return user, err
		}
		if user.Allow != nil && o.holds(file) {
			fmt.Fprintf(c.stderr, "skill: allow in %s does not count, because the tools reach that file\n", file)
			user.Allow = nil
		}
	}
	w, theirs, err := o.settings(c)
	if w == nil || err != nil {
		return user, err
	}
	if all, _ := w.isTrusted(); !all && !trusted {
		fmt.Fprintf(c.stderr, "skill: %s of the workspace does not count, because you have not trusted it as it is: type skill trust %s\n", rulesFile, shellWord(w.dir))
		return user, nil
	}
	if asked {
		theirs.Allow = nil
	}
	return user.and(theirs), nil
}

// settings returns the workspace's skill.toml as it asks for trust, and its rules; nil if
// there is none, or it holds no rules.
func (o *options) settings(c *cli) (*stranger, toolRules, error) {
	dir, err := filepath.Abs(o.workspace)
	if err != nil {
		return nil, toolRules{}, err
	}
	w := &stranger{dir: realDir(dir), store: o.trustStore(c)}
	w.file = filepath.Join(w.dir, rulesFile)
	rules, err := readToolRules(w.file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, rules, nil
	}
	for _, list := range []struct {
		name     string
		patterns []string
	}{{"allow", rules.Allow}, {"ask", rules.Ask}, {"deny", rules.Deny}} {
		if list.patterns != nil {
			w.powers = append(w.powers, agent.Power{Setting: "tools." + list.name, Value: string(rawjson.Encode(list.patterns))})
		}
	}
	if err == nil && w.powers == nil {
		return nil, rules, nil
	}
	return w, rules, err
}
