package project

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"textskill/skill/internal/process"
)

// anyTestFile is the pattern by which pytest is to find files unless the project
// or the caller has another.
const anyTestFile = "test*.py"

// planPython has Python's programs, the one that is asked for or the first that is
// there.
func planPython(p *project, a Task) (*runner, error) {
	switch a.Do {
	case Test:
		return p.pytest(a), nil
	case Lint:
		return choose(a.Runner, [][]string{{"ruff", "check", p.arg}, {"pylint", p.arg}, {"flake8", p.arg}, {"mypy", p.arg}}), nil
	case Format:
		ruff, black := []string{"ruff", "format"}, []string{"black"}
		if a.Check {
			ruff, black = append(ruff, "--check"), append(black, "--check")
		}
		return choose(a.Runner, [][]string{append(ruff, p.arg), append(black, p.arg)}), nil
	case Typecheck:
		lines := [][]string{{"mypy", p.arg, "--ignore-missing-imports"}, {"pyright", p.arg}}
		if p.has("pyrightconfig.json") || p.says("[tool.pyright]", "pyproject.toml") {
			slices.Reverse(lines)
		}
		return choose("", lines), nil
	}
	return p.pythonInstall(a)
}

// choose returns the command of the program with that name, or without a name one
// after another for as long as a program is not there.
func choose(name string, lines [][]string) (first *runner) {
	for _, line := range slices.Backward(lines) {
		if name == "" || name == line[0] {
			first = &runner{line: line, instead: first}
		}
	}
	return first
}

func (p *project) pytest(a Task) *runner {
	line := []string{"pytest", p.arg}
	own := p.says("python_files", "pytest.ini", "pyproject.toml", "setup.cfg", "tox.ini")
	if a.Pattern != "" && (a.Pattern != anyTestFile || !own) {
		line = append(line, "-o", "python_files="+a.Pattern)
	}
	if a.Name != "" {
		line = append(line, "-k", a.Name)
	}
	if !a.Brief {
		line = append(line, "-v")
	}
	r := &runner{line: line, read: new(pytestTests), none: 5}
	if in, ok := p.unittests(); ok {
		r.instead = p.unittest(a, in)
	}
	return r
}

// unittest has Python itself run the tests that are in a folder of the path, where
// pytest is not there.
func (p *project) unittest(a Task, in string) *runner {
	line := []string{"python3", "-m", "unittest"}
	if p.file {
		line = append(line, p.arg)
	} else {
		line = append(line, "discover", "-s", below(p.arg, in), "-p", cmp.Or(a.Pattern, anyTestFile))
	}
	if a.Name != "" {
		line = append(line, "-k", a.Name)
	}
	if !a.Brief {
		line = append(line, "-v")
	}
	return &runner{name: "unittest", line: line, read: &unittestTests{dir: p.dir}, none: 5, some: true}
}

// below is a folder in what a program is told of, which stays no option.
func below(arg, in string) string {
	if in == "" {
		return arg
	}
	return strings.TrimSuffix(arg, "/") + "/" + in
}

// unittests finds the folder of the path with tests that import unittest: itself,
// or one of the usual names. Not all of many files are looked at.
func (p *project) unittests() (in string, ok bool) {
	uses := func(name string) bool {
		data, _ := p.x.ws.ReadUpTo(name, maxMarker)
		return bytes.Contains(data, []byte("import unittest")) || bytes.Contains(data, []byte("from unittest "))
	}
	if p.file {
		return "", uses(p.target)
	}
	looked := 0
	for _, in := range []string{"", "tests", "test"} {
		entries, _ := p.x.ws.ReadDir(filepath.Join(p.target, in))
		for _, e := range entries {
			if test, _ := path.Match(anyTestFile, e.Name); test && looked < 50 {
				if looked++; uses(filepath.Join(p.target, in, e.Name)) {
					return in, true
				}
			}
		}
	}
	return "", false
}

// pythonInstall takes what the lockfiles say, without building anything unless
// scripts are allowed.
func (p *project) pythonInstall(a Task) (*runner, error) {
	build := func(env ...string) []string {
		if a.Scripts {
			return nil
		}
		return env
	}
	switch {
	case a.Runner == "" && p.has("uv.lock"):
		line := []string{"uv", "sync", "--frozen"}
		if !a.Scripts {
			line = append(line, "--no-install-project")
		}
		return &runner{line: line, env: build("UV_NO_BUILD=1")}, nil
	case a.Runner == "poetry", a.Runner == "" && (p.has("poetry.lock") || p.says("[tool.poetry]", "pyproject.toml")):
		return &runner{line: []string{"poetry", "install"},
			env: append(build("POETRY_INSTALLER_ONLY_BINARY=:all:"), "POETRY_NO_INTERACTION=1", "POETRY_VIRTUALENVS_IN_PROJECT=true")}, nil
	}
	r := &runner{line: []string{"pip", "install", "-r", "requirements.txt"}, venv: true,
		env: append(build("PIP_ONLY_BINARY=:all:"), "PIP_REQUIRE_VIRTUALENV=1", "PIP_NO_INPUT=1", "PIP_DISABLE_PIP_VERSION_CHECK=1")}
	if a.Runner == "" && !p.has("requirements.txt") && p.has("pyproject.toml", "setup.py") {
		if !a.Scripts {
			return nil, errors.New("without a lockfile or requirements.txt the project itself is built, which runs its programs; scripts: true lets it")
		}
		r.line = []string{"pip", "install", "-e", "."}
	}
	return r, nil
}

// pipOutside is the exit code by which pip refuses to install into the system.
const pipOutside = 3

// venvDir is the virtual environment that is made where there is none.
const venvDir = ".venv"

// installApart makes a virtual environment and installs there. Where that cannot
// be, the answer is what there was before.
func (x *Tools) installApart(ctx context.Context, base string, a Task, p *project, r *runner, before Run, failed error) (Run, error) {
	venv := &runner{name: "venv", line: []string{"python3", "-m", "venv", venvDir}}
	made, err := x.runIn(ctx, base, a, p, venv)
	switch {
	case process.IsSpawnError(err):
		return before, failed
	case err != nil || made.Failed():
		return made, err
	}
	inside := *r
	inside.line = append([]string{filepath.Join(p.dir, venvDir, "bin", "pip")}, r.line[1:]...)
	return x.runIn(ctx, base, a, p, &inside)
}
