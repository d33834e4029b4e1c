// Package contrib has the files through which other programs call skill. It installs and removes
// the files for "skill setup".
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

	"textskill/parser/rawjson"
)

//go:embed achilles agent-skill hooks
var files embed.FS

// A Package is a set of files for another program.
type Package struct {
	Name string // as in "skill setup NAME"
	Doc  string // its users

	from string   // a folder of this package
	to   []string // folders below dir; each gets a copy
	// writes into a file the path of the program, and the folder of histories, "" for the usual one
	fill  func(text, program, state string) string
	mode  fs.FileMode // of the files; 0 means 0644
	state string
}

// Packages lists the packages.
var Packages = []Package{
	{
		Name: "achilles", Doc: "agents of AchillesAgentLib",
		from: "achilles/skills", to: []string{"skills"},
		fill: func(text, program, _ string) string {
			return strings.Replace(text, "SKILL_BINARY || 'skill'",
				"SKILL_BINARY || "+string(rawjson.Encode(program)), 1)
		},
	},
	{
		Name: "agent-skill", Doc: "agents that read SKILL.md",
		from: "agent-skill", to: []string{".agents/skills/skill", ".claude/skills/skill"},
		fill: func(text, program, _ string) string {
			return strings.NewReplacer("`skill ", "`"+program+" ", "`skill`", "`"+program+"`").Replace(text)
		},
	},
}

// Hooks lists the files through which hosts call hooks, below the home folder.
var Hooks = []Package{
	{Name: "opencode", from: "hooks/opencode", to: []string{".config/opencode/plugins"}, fill: quoted},
	{Name: "kilo", from: "hooks/opencode", to: []string{".config/kilo/plugins"}, fill: forKilo},
	{Name: "cline", from: "hooks/cline", to: []string{".cline/hooks"}, fill: inShell, mode: 0o755},
	{Name: "goose", from: "hooks/goose", to: []string{".agents/plugins/skill"}, fill: quoted},
}

// quoted writes the path of the program and the state into JavaScript or JSON.
func quoted(text, program, state string) string {
	words := ""
	if state != "" {
		words = `, "--state", ` + string(rawjson.Encode(state))
	}
	text = strings.Replace(text, `, "STATE"`, words, 1)
	return strings.Replace(text, `"PROGRAM"`, string(rawjson.Encode(program)), 1)
}

// forKilo is quoted for Kilo, which loads plugins of opencode.
func forKilo(text, program, state string) string {
	return quoted(strings.ReplaceAll(text, "opencode", "kilo"), program, state)
}

// inShell writes the path of the program and the state into a shell script.
func inShell(text, program, state string) string {
	word := func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
	words := ""
	if state != "" {
		words = " --state " + word(state)
	}
	text = strings.Replace(text, " STATE", words, 1)
	return strings.Replace(text, "PROGRAM", word(program), 1)
}

// HookOf returns the hook files of a host, which name the folder of histories if state is not "". It returns
// nil if the host needs no files.
func HookOf(host, state string) *Package {
	p := named(Hooks, host)
	if p == nil {
		return nil
	}
	with := *p
	with.state = state
	return &with
}

// Named returns the package with a name, or nil.
func Named(name string) *Package { return named(Packages, name) }

func named(list []Package, name string) *Package {
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}

// Files returns the files of a package with the path of the program. The keys are relative paths
// with slashes.
func (p *Package) Files(program string) (map[string][]byte, error) {
	list := map[string][]byte{}
	err := fs.WalkDir(files, p.from, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := files.ReadFile(name)
		for _, to := range p.to {
			list[path.Join(to, strings.TrimPrefix(name, p.from))] = []byte(p.fill(string(text), program, p.state))
		}
		return err
	})
	return list, err
}

// mark returns a text that each file of Install contains.
func (p *Package) mark() []byte { return []byte("skill setup " + p.Name) }

// Install writes the files below dir, and returns the names of new and changed files. It fails,
// and writes nothing, if it would replace a file that it did not write.
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

// Missing returns the files below dir that are missing or differ from the files of Install.
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

// Remove deletes the files below dir that Install has written. It also deletes folders that are
// empty then.
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
				break // the folder has other files
			}
		}
	}
	return removed, nil
}

// own reports whether a file exists. It fails if Install has not written the file.
func (p *Package) own(at string) (bool, error) {
	info, err := os.Lstat(at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !info.Mode().IsRegular():
		return false, fmt.Errorf("%s is not a file; move it away, and try again", at)
	}
	text, err := os.ReadFile(at)
	if err == nil && !bytes.Contains(text, p.mark()) {
		err = fmt.Errorf("%s was not written by this program; move it away, and try again", at)
	}
	return err == nil, err
}

// replace writes a new file and gives it the name at in one step.
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
