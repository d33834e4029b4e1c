package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/pelletier/go-toml/v2"

	"textskill/internal/usage"
	"textskill/parser/rawjson"
	"textskill/skill/agent"
)

// rulesFile is the name of the settings of the user, in the folder skill of the
// configuration, and of a workspace.
const rulesFile = "skill.toml"

// toolRules are the patterns of tool names under [tools] of a skill.toml. Deny counts
// before ask, and ask before allow.
type toolRules struct{ Allow, Ask, Deny []string }

// A toolList is one of the lists under [tools].
type toolList struct {
	name     string
	patterns []string
}

// lists returns the lists under [tools].
func (r toolRules) lists() []toolList {
	return []toolList{{"allow", r.Allow}, {"ask", r.Ask}, {"deny", r.Deny}}
}

// settings are what a skill.toml says.
type settings struct {
	Tools toolRules
	flags map[string]any // by their names
	file  string
	data  []byte // of the file
}

// at returns the file and the line of a key like network or tools.ask.
func (s settings) at(key string) string {
	if line := keyLines(s.data)[key]; line > 0 {
		return fmt.Sprintf("%s:%d", s.file, line)
	}
	return s.file
}

// readSettings reads a skill.toml.
func readSettings(file string) (s settings, err error) {
	s.file = file
	data, err := readText(file)
	if err != nil {
		return s, err
	}
	if err := cmp.Or(toml.Unmarshal(data, &s), toml.Unmarshal(data, &s.flags)); err != nil {
		if wrong, ok := errors.AsType[*toml.DecodeError](err); ok {
			line, _ := wrong.Position()
			file = fmt.Sprintf("%s:%d", file, line)
		}
		return s, fmt.Errorf("%s: %s", file, usage.WrongTOML(err))
	}
	s.data = data
	rules, _ := s.flags["tools"].(map[string]any)
	for name := range rules {
		if !slices.Contains([]string{"allow", "ask", "deny"}, name) {
			return s, fmt.Errorf("%s: tools.%s: [tools] holds allow, ask and deny", s.at("tools."+name), name)
		}
	}
	delete(s.flags, "tools")
	for _, list := range s.Tools.lists() {
		for _, pattern := range list.patterns {
			if _, err := path.Match(pattern, ""); err != nil {
				return s, fmt.Errorf("%s: the pattern %q: %w", s.at("tools."+list.name), pattern, err)
			}
		}
	}
	return s, nil
}

// keyLines returns the lines of the keys of a skill.toml, from 1. Only errors ask for them.
func keyLines(data []byte) map[string]int {
	var none struct{ Tools struct{} } // so that each key is reported as missing, with its place
	lines := map[string]int{}
	d := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields()
	if missing, ok := errors.AsType[*toml.StrictMissingError](d.Decode(&none)); ok {
		for _, e := range missing.Errors {
			key := strings.Join(e.Key(), ".")
			lines[key], _ = e.Position()
		}
	}
	return lines
}

// rules returns the rules of the user's skill.toml, and of the workspace's skill.toml if the
// user has trusted it. No workspace allows what the user denies or asks about: neither by
// the user's rules nor, if asked is set, by --ask.
func (s *configuration) rules(asked bool) toolRules {
	user, theirs := s.user, s.theirs
	if asked {
		theirs.Allow = nil
	}
	return toolRules{slices.Concat(user.Allow, theirs.Allow), slices.Concat(user.Ask, theirs.Ask),
		slices.Concat(user.Deny, theirs.Deny)}
}

// settings returns the workspace's skill.toml as it asks for trust, and what it says; nil if
// the file is missing or empty.
func (ws *workspaceOptions) settings(c *cli) (*stranger, settings, error) {
	dir, err := filepath.Abs(ws.Dir)
	if err != nil {
		return nil, settings{}, err
	}
	w := &stranger{program: c.program(), dir: realDir(dir)}
	w.file = filepath.Join(w.dir, rulesFile)
	s, err := readSettings(w.file)
	// what is wrong with the workspace is said where it is opened
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, s, nil
	}
	w.store = c.getenv.trustStore(ws)

	for _, list := range s.Tools.lists() {
		if list.patterns != nil {
			w.powers = append(w.powers,
				agent.Power{Setting: "tools." + list.name, Value: string(rawjson.Encode(list.patterns))})
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
