package project

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// packageJSON holds the used fields of package.json.
type packageJSON struct {
	PackageManager string
	Scripts        map[string]string

	Dependencies, DevDependencies map[string]any
}

// planNode uses the scripts in package.json, or the usual programs if a script is missing.
func planNode(p *project, a Task) (*runner, error) {
	var pkg packageJSON
	if err := json.Unmarshal(p.read("package.json"), &pkg); err != nil && p.has("package.json") {
		return nil, errors.New("package.json in " + p.dir + " is not a valid JSON object")
	}
	manager := p.manager(pkg)
	if a.Do == Install {
		return p.nodeInstall(a, manager), nil
	}
	for _, name := range map[Purpose][]string{
		Test: {"test"}, Lint: {"lint"}, Typecheck: {"typecheck", "type-check"},
		Format: formatScripts(a.Check),
	}[a.Do] {
		if script, ok := pkg.Scripts[name]; ok && !strings.Contains(script, "no test specified") {
			return p.script(a, manager, name, script), nil
		}
	}
	if a.Do == Test && p.has("package.json") {
		return p.nodeTest(a, pkg)
	}
	return p.nodeProgram(a)
}

// nodeProgram returns the usual program for a task, other than tests.
func (p *project) nodeProgram(a Task) (*runner, error) {
	switch {
	case a.Do == Lint:
		return &runner{argv: []string{"eslint", p.arg}}, nil
	case a.Do == Format && a.Check:
		return &runner{argv: []string{"prettier", "--check", p.arg}}, nil
	case a.Do == Format:
		return &runner{argv: []string{"prettier", "--write", p.arg}}, nil
	case a.Do == Typecheck && p.has("tsconfig.json"):
		return &runner{argv: []string{"tsc", "--noEmit"}}, nil
	case a.Do == Typecheck && p.has("package.json"):
		return nil, fmt.Errorf("package.json in %s has no script typecheck, and there is no tsconfig.json beside it: nothing says how types are checked", p.dir)
	}
	return nil, nil
}

func formatScripts(check bool) []string {
	if check {
		return []string{"format:check", "format-check"}
	}
	return []string{"format"}
}

// nodeTest runs the tests of a package without a script for them: with the runner that
// it depends on, or as files that node itself runs.
func (p *project) nodeTest(a Task, pkg packageJSON) (*runner, error) {
	var line []string
	for _, name := range []string{"vitest", "jest", "mocha"} {
		if pkg.DevDependencies[name] != nil || pkg.Dependencies[name] != nil {
			line = []string{name}
			break
		}
	}
	switch {
	case line == nil && !p.testsOfNode():
		return nil, fmt.Errorf("package.json in %s has no script for tests; add one, like \"scripts\": {\"test\": \"node --test\"}", p.dir)
	case line == nil:
		line = []string{"node", "--test"}
	case line[0] == "vitest":
		line = append(line, "run")
	}
	r := &runner{name: strings.Join(line, " "), summary: scriptSummary}
	if a.Name != "" {
		r.summary = namedSummary
		line = append(line, nameFlag(r.name), a.Name)
	}
	if !p.whole {
		line = append(line, p.arg)
	}
	r.argv = line
	return r, nil
}

// testsOfNode reports whether node --test finds files by their names.
func (p *project) testsOfNode() bool {
	for name := range p.names {
		ext := filepath.Ext(name)
		base := strings.TrimSuffix(name, ext)
		if name == "test" || slices.Contains([]string{".js", ".mjs", ".cjs"}, ext) &&
			(base == "test" || strings.HasPrefix(base, "test-") || strings.HasSuffix(base, ".test") ||
				strings.HasSuffix(base, "-test") || strings.HasSuffix(base, "_test")) {
			return true
		}
	}
	return false
}

// nameFlag is the flag by which a runner selects tests by their names.
func nameFlag(script string) string {
	switch {
	case strings.Contains(script, "--test"):
		return "--test-name-pattern"
	case strings.Contains(script, "mocha"):
		return "--grep"
	}
	return "-t"
}

// script runs a script of package.json, with the target as an argument unless that is
// the whole project.
func (p *project) script(a Task, manager, name, script string) *runner {
	line := []string{manager, "run", name}
	var args []string
	if !p.whole {
		args = append(args, p.arg)
	}
	r := &runner{name: strings.Join(line, " ")}
	if a.Do == Test {
		r.summary = scriptSummary
		if a.Name != "" {
			r.summary = namedSummary
			args = append(args, nameFlag(script), a.Name)
		}
	}
	if manager == "npm" && len(args) > 0 {
		line = append(line, "--")
	}
	r.argv = append(line, args...)
	return r
}

// manager returns the package manager that package.json names or whose lockfile exists.
func (p *project) manager(pkg packageJSON) string {
	name, _, _ := strings.Cut(pkg.PackageManager, "@")
	switch {
	case name == "npm" || name == "pnpm" || name == "yarn" || name == "bun":
		return name
	case p.has("pnpm-lock.yaml"):
		return "pnpm"
	case p.has("yarn.lock"):
		return "yarn"
	case p.has("bun.lock", "bun.lockb"):
		return "bun"
	}
	return "npm"
}

// nodeInstall installs the versions in the lockfile. It runs the packages' scripts only
// if a.Scripts is set.
func (p *project) nodeInstall(a Task, manager string) *runner {
	manager = cmp.Or(a.Runner, manager)
	line := []string{manager, "install"}
	var env []string
	if !a.Scripts {
		// .npmrc can name another git
		env = []string{"npm_config_ignore_scripts=true", "npm_config_git=git", "YARN_ENABLE_SCRIPTS=false"}
	}
	switch {
	case manager == "npm" && p.has("package-lock.json", "npm-shrinkwrap.json"):
		line = []string{"npm", "ci"}
	case manager == "yarn" && p.has("yarn.lock") && !p.classicYarn():
		line = append(line, "--immutable")
	case manager == "yarn" && p.has("yarn.lock"), manager == "pnpm" && p.has("pnpm-lock.yaml"),
		manager == "bun" && p.has("bun.lock", "bun.lockb"):
		line = append(line, "--frozen-lockfile")
	}
	if !a.Scripts && (manager == "bun" || manager == "yarn" && p.classicYarn()) {
		line = append(line, "--ignore-scripts")
	}
	return &runner{argv: line, env: env}
}

// classicYarn reports whether yarn.lock is from yarn 1.
func (p *project) classicYarn() bool { return p.mentions("# yarn lockfile v1", "yarn.lock") }
