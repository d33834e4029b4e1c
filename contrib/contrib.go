// Package contrib holds what other programs need to use this one, and installs it.
package contrib

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	rawjson "textskill/parser/json"
)

//go:embed achilles agent-skill hooks
var files embed.FS

// A Package is a set of files for another program.
type Package struct {
	Name string // as in "skill setup NAME"
	Doc  string // whom it is for

	from string   // the folder here
	to   []string // the folders below the place that get a copy
	fill func(text, program string) string
	mode fs.FileMode // of the files; 0 is 0644
}

// Packages lists the packages.
var Packages = []Package{
	{
		Name: "achilles", Doc: "agents of AchillesAgentLib",
		from: "achilles/skills", to: []string{"skills"},
		fill: func(text, program string) string {
			return strings.Replace(text, "SKILL_BINARY || 'skill'",
				"SKILL_BINARY || "+string(rawjson.Encode(program)), 1)
		},
	},
	{
		Name: "agent-skill", Doc: "agents that read SKILL.md",
		from: "agent-skill", to: []string{".agents/skills/skill", ".claude/skills/skill"},
		fill: func(text, program string) string {
			return strings.NewReplacer("`skill ", "`"+program+" ", "`skill`", "`"+program+"`").Replace(text)
		},
	},
}

// Hooks lists the files through which hosts call hooks, below the home folder.
var Hooks = []Package{
	{Name: "opencode", from: "hooks/opencode", to: []string{".config/opencode/plugins"}, fill: quoted},
	{Name: "cline", from: "hooks/cline", to: []string{".cline/hooks"}, fill: inShell, mode: 0o755},
	{Name: "goose", from: "hooks/goose", to: []string{".agents/plugins/skill"}, fill: quoted},
}

// quoted names the program in a text of JavaScript.
func quoted(text, program string) string {
	return strings.Replace(text, `"PROGRAM"`, string(rawjson.Encode(program)), 1)
}

// inShell names the program in a script.
func inShell(text, program string) string {
	return strings.Replace(text, "PROGRAM", "'"+strings.ReplaceAll(program, "'", `'\''`)+"'", 1)
}

// HookOf returns the files of a host; nil if it has none of its own.
func HookOf(host string) *Package { return named(Hooks, host) }

// Named returns the package of a name, nil for none.
func Named(name string) *Package { return named(Packages, name) }

func named(list []Package, name string) *Package {
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}

// Files returns the files below a place, by their paths with slashes, as they name the program.
func (p *Package) Files(program string) (map[string][]byte, error) {
	list := map[string][]byte{}
	err := fs.WalkDir(files, p.from, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := files.ReadFile(name)
		for _, to := range p.to {
			list[path.Join(to, strings.TrimPrefix(name, p.from))] = []byte(p.fill(string(text), program))
		}
		return err
	})
	return list, err
}

// mark stands in each file that Install writes.
func (p *Package) mark() []byte { return []byte("skill setup " + p.Name) }

// Install writes the files below dir. It returns the names of those that were not there like this.
// A file of another origin stays, and is an error, before anything is written.
func (p *Package) Install(dir, program string) (written []string, err error) {
	list, err := p.Files(program)
	for name := range list {
		if err == nil {
			_, err = p.own(filepath.Join(dir, filepath.FromSlash(name)))
		}
	}
	if err != nil {
		return nil, err
	}
	for _, name := range sorted(list) {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if have, err := os.ReadFile(at); err == nil && bytes.Equal(have, list[name]) {
			continue
		}
		if err := replace(at, list[name], cmp.Or(p.mode, 0o644)); err != nil {
			return written, err
		}
		written = append(written, at)
	}
	return written, nil
}

// Missing returns the files below dir that are not there as Install writes them.
func (p *Package) Missing(dir, program string) (missing []string, err error) {
	list, err := p.Files(program)
	for _, name := range sorted(list) {
		have, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil || !bytes.Equal(have, list[name]) {
			missing = append(missing, name)
		}
	}
	return missing, err
}

// Folder returns the first folder that gets the files, with slashes.
func (p *Package) Folder() string { return p.to[0] }

// Remove deletes the files below dir that Install has written, and the folders that are empty then.
func (p *Package) Remove(dir string) (removed []string, err error) {
	list, err := p.Files("")
	if err != nil {
		return nil, err
	}
	for _, name := range sorted(list) {
		at := filepath.Join(dir, filepath.FromSlash(name))
		there, err := p.own(at)
		if err != nil {
			return removed, err
		}
		if !there {
			continue
		}
		if err := os.Remove(at); err != nil {
			return removed, err
		}
		removed = append(removed, at)
		for below := path.Dir(name); below != "."; below = path.Dir(below) {
			if os.Remove(filepath.Join(dir, filepath.FromSlash(below))) != nil {
				break // it holds something else
			}
		}
	}
	return removed, nil
}

// own reports whether there is a file, and fails if it is not one that Install has written.
func (p *Package) own(at string) (bool, error) {
	info, err := os.Lstat(at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !info.Mode().IsRegular():
		return false, fmt.Errorf("%s is not a file; move it away, and type this again", at)
	}
	text, err := os.ReadFile(at)
	if err == nil && !bytes.Contains(text, p.mark()) {
		err = fmt.Errorf("%s is not of this program; move it away, and type this again", at)
	}
	return err == nil, err
}

// replace puts a file in the place of another in one step.
func replace(at string, data []byte, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return err
	}
	t, err := os.CreateTemp(filepath.Dir(at), filepath.Base(at)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(t.Name())
	_, err = t.Write(data)
	if err := errors.Join(err, t.Chmod(mode), t.Close()); err != nil {
		return err
	}
	return os.Rename(t.Name(), at)
}

func sorted(list map[string][]byte) []string { return slices.Sorted(maps.Keys(list)) }
