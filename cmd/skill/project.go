package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

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
