package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"syscall"

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

// settings are what a skill.toml says.
type settings struct {
	Tools   toolRules
	Profile map[string]map[string]any // flags, by the name of the profile
	flags   map[string]any            // by their names
}

// readSettings reads a skill.toml.
func readSettings(file string) (s settings, err error) {
	data, err := readRegular(file)
	if errors.Is(err, os.ErrNotExist) {
		return s, err
	}
	if err == nil {
		err = errors.Join(toml.Unmarshal(data, &s), toml.Unmarshal(data, &s.flags))
	}
	rules, _ := s.flags["tools"].(map[string]any)
	for name := range rules {
		if !slices.Contains([]string{"allow", "ask", "deny"}, name) && err == nil {
			err = fmt.Errorf("tools.%s: [tools] holds allow, ask and deny", name)
		}
	}
	delete(s.flags, "tools")
	delete(s.flags, "profile")
	for _, pattern := range slices.Concat(s.Tools.Allow, s.Tools.Ask, s.Tools.Deny) {
		if _, wrong := path.Match(pattern, ""); wrong != nil && err == nil {
			err = fmt.Errorf("the pattern %q: %w", pattern, wrong)
		}
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", file, err)
	}
	return s, err
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
		s, err := readSettings(file)
		if user = s.Tools; err != nil && !errors.Is(err, os.ErrNotExist) {
			return user, err
		}
		if user.Allow != nil && o.holds(file) {
			fmt.Fprintf(c.stderr, "skill: allow in %s does not count, because the tools reach that file\n", file)
			user.Allow = nil
		}
	}
	w, s, err := o.settings(c)
	if w == nil || err != nil {
		return user, err
	}
	theirs := s.Tools
	if all, _ := w.isTrusted(); !all && !trusted {
		fmt.Fprintf(c.stderr, "skill: %s of the workspace does not count, because you have not trusted it as it is: type skill trust %s\n", rulesFile, shellWord(w.dir))
		return user, nil
	}
	if asked {
		theirs.Allow = nil
	}
	return user.and(theirs), nil
}

// settings returns the workspace's skill.toml as it asks for trust, and what it says; nil if
// there is none, or it says nothing.
func (o *options) settings(c *cli) (*stranger, settings, error) {
	dir, err := filepath.Abs(o.workspace)
	if err != nil {
		return nil, settings{}, err
	}
	w := &stranger{dir: realDir(dir), store: o.trustStore(c)}
	w.file = filepath.Join(w.dir, rulesFile)
	s, err := readSettings(w.file)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) { // what is wrong with the workspace is said where it is opened
		return nil, s, nil
	}
	for _, list := range []struct {
		name     string
		patterns []string
	}{{"allow", s.Tools.Allow}, {"ask", s.Tools.Ask}, {"deny", s.Tools.Deny}} {
		if list.patterns != nil {
			w.powers = append(w.powers, agent.Power{Setting: "tools." + list.name, Value: string(rawjson.Encode(list.patterns))})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.flags)) {
		w.powers = append(w.powers, agent.Power{Setting: name, Value: string(rawjson.Encode(s.flags[name]))})
	}
	if err == nil && w.powers == nil {
		return nil, s, nil
	}
	return w, s, err
}
