package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"textskill/parser/rawjson"
	"textskill/skill/agent"
)

// projectOptions say which files define experts and their variables.
type projectOptions struct {
	workspaceOptions
	config  string
	envPath []string
}

// addProject adds the flags that name files.
func (r *projectOptions) addProject(f *pflag.FlagSet) {
	f.StringVar(&r.config, "config", "",
		"read the experts from `FILE` (default perstack.toml, here or in a directory above)")
	f.StringSliceVar(&r.envPath, "env-path", nil,
		"read variables from `FILE`; may be repeated (default .env and .env.local)")
}

// project reads the file that defines the experts, and returns its path. program is how a person
// starts this program.
func (r *projectOptions) project(program string) (agent.Project, string, error) {
	file := r.config
	if file == "" {
		dir := cmp.Or(r.Dir, ".") // FindProject would look above one that is not there
		_, err := os.Stat(dir)
		if pe, ok := errors.AsType[*fs.PathError](err); ok {
			return agent.Project{}, "", fmt.Errorf("workspace %s: %w", dir, pe.Err)
		}
		if file, err = agent.FindProject(r.Dir); err != nil {
			return agent.Project{}, "",
				fmt.Errorf("%w\n%s init writes one with an expert to begin with; to run a command of yours: %[2]s exec -- COMMAND", err, program)
		}
	}
	data, err := readRegular(file)
	if errors.Is(err, os.ErrNotExist) {
		//lint:ignore ST1005 the wording of the original runtime
		return agent.Project{}, "", fmt.Errorf("Given config path %q is not found", file)
	}
	if err != nil {
		return agent.Project{}, "", err
	}
	p, err := agent.ReadProject(data)
	return p, file, err
}

// variables returns the variables of the environment and of the files of --env-path, which must
// exist; without the flag, of the files that the project names, where they exist.
func (r *projectOptions) variables(c *cli, p agent.Project) (*variables, error) {
	v := &variables{getenv: c.getenv}
	switch {
	case r.envPath != nil:
		for _, name := range r.envPath {
			if err := v.load(name, !r.holds(name)); err != nil {
				return nil, fmt.Errorf("--env-path: %w", err)
			}
		}
		return v, nil
	case p.EnvPath == nil:
		p.EnvPath = []string{".env", ".env.local"}
	}
	for _, name := range p.EnvPath {
		if !filepath.IsAbs(name) {
			name = filepath.Join(r.Dir, name)
		}
		if err := v.load(name, false); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	return v, nil
}

// variables are the variables of the environment, then of files.
type variables struct {
	getenv func(string) string
	files  map[string]variable
}

// A variable is one that a file defines.
type variable struct {
	value string
	from  string // the workspace's file; "" for a file that the user named outside of it
}

// get returns a variable, "" if it is not set.
func (v *variables) get(name string) string {
	if value := v.getenv(name); value != "" {
		return value
	}
	return v.files[name].value
}

// first returns the name of the first of some variables that is set, "" for none.
func (v *variables) first(names []string) string {
	for _, name := range names {
		if v.get(name) != "" {
			return name
		}
	}
	return ""
}

// power returns the variable as a power of the workspace. ok is false if it is not set,
// or not by a file of the workspace.
func (v *variables) power(name string) (p agent.Power, ok bool) {
	f := v.files[name]
	if v.getenv(name) != "" || f.value == "" || f.from == "" {
		return p, false
	}
	return agent.Power{Setting: f.from + ": " + name, Value: string(rawjson.Encode(f.value))}, true
}

// load adds the variables of a file, of the workspace unless users is set. If two files
// define a variable the first counts.
func (v *variables) load(file string, users bool) error {
	if v.files == nil {
		v.files = map[string]variable{}
	}
	data, err := readText(file)
	if err != nil {
		return err
	}
	from := ""
	if !users {
		if from, err = filepath.Abs(file); err != nil {
			return err
		}
		from = realDir(from)
	}
	for _, m := range assignment().FindAllStringSubmatch(string(data), -1) {
		if _, ok := v.files[m[1]]; !ok {
			v.files[m[1]] = variable{unquoted(m[2]), from}
		}
	}
	return nil
}

// assignment is a line like NAME=value or export NAME="value" # comment. A value
// in quotes may go over several lines.
var assignment = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_.]*)[ \t]*=[ \t]*("(?:[^"\\]|\\[\s\S])*"|'[^']*'|[^\r\n]*)`)
})

// unquoted returns a value without its quotes, or without the comment after it.
func unquoted(value string) string {
	switch {
	case len(value) > 1 && value[0] == '\'' && value[len(value)-1] == '\'':
		return value[1 : len(value)-1]
	case len(value) > 1 && value[0] == '"' && value[len(value)-1] == '"':
		return strings.NewReplacer(`\n`, "\n", `\r`, "\r", `\t`, "\t", `\"`, `"`, `\\`,
			`\`).Replace(value[1 : len(value)-1])
	}
	if i := strings.Index(value, " #"); i >= 0 || strings.HasPrefix(value, "#") {
		value = value[:max(i, 0)]
	}
	return strings.TrimSpace(value)
}

// secrets returns the credentials of the environment and of the files, which must not be
// recorded or shown.
func (v *variables) secrets() (values []string) {
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		values = append(values, agent.Credentials(name, value)...)
	}
	for name, f := range v.files {
		values = append(values, agent.Credentials(name, f.value)...)
	}
	return values
}
