package project

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"textskill/skill/internal/process"
	"textskill/skill/internal/words"
)

// defaultTestPattern matches test files unless the project or the caller says otherwise.
const defaultTestPattern = "test*.py"

// planPython uses the requested program, or the first one that is installed.
func planPython(p *project, a Task) (*runner, error) {
	switch a.Do {
	case Test:
		return p.pytest(a), nil
	case Lint:
		pylint := []string{"pylint", p.arg}
		if a.Runner == "" && !p.file { // of a directory that is not a package it says only that
			pylint = []string{"pylint", "--recursive=y", p.arg}
		}
		return firstInstalled(a.Runner, [][]string{{"ruff", "check", p.arg}, pylint, {"flake8", p.arg},
			{"mypy", p.arg}}), nil
	case Format:
		ruff, black := []string{"ruff", "format"}, []string{"black"}
		if a.Check {
			ruff, black = append(ruff, "--check"), append(black, "--check")
		}
		return firstInstalled(a.Runner, [][]string{append(ruff, p.arg), append(black, p.arg)}), nil
	case Typecheck:
		lines := [][]string{{"mypy", p.arg, "--ignore-missing-imports"}, {"pyright", p.arg}}
		if p.has("pyrightconfig.json") || p.mentions("[tool.pyright]", "pyproject.toml") {
			slices.Reverse(lines)
		}
		return firstInstalled("", lines), nil
	}
	return p.pythonInstall(a)
}

// firstInstalled returns a runner for the line of the program name or, if name is "", for
// the first line whose program is installed.
func firstInstalled(name string, lines [][]string) (first *runner) {
	for _, line := range slices.Backward(lines) {
		if name == "" || name == line[0] {
			first = &runner{argv: line, fallback: first}
		}
	}
	return first
}

func (p *project) pytest(a Task) *runner {
	line := []string{"pytest", p.arg}
	own := p.mentions("python_files", "pytest.ini", "pyproject.toml", "setup.cfg", "tox.ini")
	if a.Pattern != "" && (a.Pattern != defaultTestPattern || !own) {
		line = append(line, "-o", "python_files="+a.Pattern)
	}
	if a.Name != "" {
		line = append(line, "-k", a.Name)
	}
	if !a.Brief {
		line = append(line, "-v")
	}
	r := &runner{argv: line, noTestsCode: 5}
	if in, ok := p.unittests(); ok {
		r.fallback = p.unittest(a, in)
	}
	return r
}

// unittest runs the tests in the subdirectory in of the target without pytest.
func (p *project) unittest(a Task, in string) *runner {
	line := []string{"python3", "-m", "unittest"}
	if p.file {
		line = append(line, p.arg)
	} else {
		line = append(line, "discover", "-s", joinArg(p.arg, in), "-p", cmp.Or(a.Pattern, defaultTestPattern))
	}
	if a.Name != "" {
		line = append(line, "-k", a.Name)
	}
	if !a.Brief {
		line = append(line, "-v")
	}
	return &runner{name: "unittest", argv: line, summary: unittestSummary, noTestsCode: 5}
}

// joinArg appends a directory to an argument, which still does not look like an option.
func joinArg(arg, in string) string {
	if in == "" {
		return arg
	}
	return strings.TrimSuffix(arg, "/") + "/" + in
}

// unittests finds tests that import unittest, in at most 50 files: in the target itself
// or in its subdirectory tests or test, which it returns.
func (p *project) unittests() (in string, ok bool) {
	uses := func(name string) bool {
		data, _ := p.x.ws.ReadUpTo(name, maxMarkerSize)
		return bytes.Contains(data, []byte("import unittest")) ||
			bytes.Contains(data, []byte("from unittest "))
	}
	if p.file {
		return "", uses(p.target)
	}
	looked := 0
	for _, in := range []string{"", "tests", "test"} {
		entries, _ := p.x.ws.ReadDir(filepath.Join(p.target, in))
		for _, e := range entries {
			if test, _ := path.Match(defaultTestPattern, e.Name); test && looked < 50 {
				if looked++; uses(filepath.Join(p.target, in, e.Name)) {
					return in, true
				}
			}
		}
	}
	return "", false
}

// pythonInstall installs the versions in the lockfile. It builds packages only if
// a.Scripts is set.
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
		return &runner{argv: line, env: build("UV_NO_BUILD=1")}, nil
	case a.Runner == "poetry", a.Runner == "" &&
		(p.has("poetry.lock") || p.mentions("[tool.poetry]", "pyproject.toml")):
		return &runner{argv: []string{"poetry", "install"},
			env: append(build("POETRY_INSTALLER_ONLY_BINARY=:all:"), "POETRY_NO_INTERACTION=1",
				"POETRY_VIRTUALENVS_IN_PROJECT=true")}, nil
	}
	r := &runner{argv: []string{"pip", "install", "-r", "requirements.txt"}, needsVenv: true,
		env: append(build("PIP_ONLY_BINARY=:all:", "PYTHONUTF8=1" /* as checkWheels reads */),
			"PIP_REQUIRE_VIRTUALENV=1", "PIP_NO_INPUT=1", "PIP_DISABLE_PIP_VERSION_CHECK=1")}
	if a.Runner == "" && !p.has("requirements.txt") && p.has("pyproject.toml", "setup.py") {
		if !a.Scripts {
			return nil, errors.New("without a lockfile or requirements.txt the project itself must be built, which runs its programs; scripts: true allows it")
		}
		r.argv = []string{"pip", "install", "-e", "."}
	}
	if a.Scripts || !p.has("requirements.txt") { // pip says what it lacks
		return r, nil
	}
	return r, p.checkWheels(filepath.Join(p.dir, "requirements.txt"), map[string]bool{})
}

// These match the lines of a file of requirements with which pip builds nothing: a requirement with
// versions, conditions and hashes, one option, or a further file. With a slash or the ending of an
// archive a requirement can be a path. pip reads options as a shell does, and puts variables in place
// of ${NAME}: quotes, backslashes and $ can hide another name or option.
var (
	plainRequirement = words.Pattern(`^[A-Za-z0-9][\w.-]*( *\[[\w ,.-]*\])?( *[<>=!~(](-| *[\w.*+!<>=~,()])*)?( *;([^ $]| +[^ $-])*)?( +--hash[ =]\w+:\w+)*$`)
	archive          = words.Pattern(`(?i)^[^;]*\.(zip|tar|tgz|tbz|txz|tlz|tar\.\w+)\b`)
	plainOption      = words.Pattern(`^(--no-index|--pre|--prefer-binary|--require-hashes|(-i|-f|--index-url|--extra-index-url|--find-links|--trusted-host)( +|=)\S+)$`)
	moreRequirements = words.Pattern(`^(?:-r +|-c +|--(?:requirement|constraint)(?: +|=))([^\s"'\\$]+)$`)
	commentLine      = words.Pattern(`(?m)^[\x1f\p{Z}]*#.*$`)
	namedEncoding    = words.Pattern(`^(?:[^\n]*\n)??#[^\n]*?coding[:=]\s*([-\w.]+)`)
)

// checkWheels refuses a requirements file that may have pip build a package. With PIP_ONLY_BINARY, too, pip
// builds folders, addresses and archives, and what some options name. A further file that the file names
// is refused if it cannot be read.
func (p *project) checkWheels(file string, seen map[string]bool) error {
	if seen[file] {
		return nil
	}
	seen[file] = true
	var data []byte
	real, err := p.x.ws.Real("", file, true)
	if err == nil {
		data, err = p.x.ws.ReadUpTo(real, maxMarkerSize)
	}
	encoding := namedEncoding().FindSubmatch(data)
	if err != nil || len(seen) > 100 || encoding != nil && !strings.EqualFold(string(encoding[1]), "utf-8") {
		return errUnread
	}
	for line := range strings.Lines(joinedLines(string(data))) {
		line, _, _ = strings.Cut(" "+strings.TrimSpace(line), " #")
		err := p.checkRequirement(file, strings.TrimSpace(line), seen)
		if err == errUnread {
			err = fmt.Errorf("%s may have pip build %q, which runs its programs; scripts: true allows it",
				file, strings.TrimSpace(line))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// joinedLines returns the text of a requirements file with the lines that pip reads.
func joinedLines(text string) string {
	text = strings.Map(func(c rune) rune {
		if c == '\t' {
			return ' '
		}
		// pip takes all of these for the end of a line
		if strings.ContainsRune("\r\v\f\x1c\x1d\x1e\u0085\u2028\u2029", c) {
			return '\n'
		}
		return c
	}, strings.TrimPrefix(strings.ReplaceAll(text, "\r\n", "\n"), "\ufeff"))
	text = commentLine().ReplaceAllLiteralString(text, " #") // a \ at its end does not continue it
	return strings.ReplaceAll(text, "\\\n", "")
}

// checkRequirement is checkWheels for one line of the file. It returns errUnread for a line that may have pip
// build a package.
func (p *project) checkRequirement(file, line string, seen map[string]bool) error {
	plain := plainRequirement().MatchString(line) && !archive().MatchString(line)
	if line == "" || plain || plainOption().MatchString(line) {
		return nil
	}
	more := moreRequirements().FindStringSubmatch(line)
	if more == nil || filepath.IsAbs(more[1]) || strings.Contains(more[1], ":") { // an address may look like a path
		return errUnread
	}
	dir, _ := filepath.Split(file)
	return p.checkWheels(dir+more[1], seen) // not cleaned: link/../name is beside what the link leads to
}

var errUnread = errors.New("requirements.txt cannot be read, is not in UTF-8, or has more than 1 MiB; scripts: true installs it all the same")

// pipNeedsVenv is pip's exit code under PIP_REQUIRE_VIRTUALENV outside a virtual environment.
const pipNeedsVenv = 3

// venvDir is the virtual environment that is created if it is missing.
const venvDir = ".venv"

// installInVenv creates a virtual environment and installs in it. tried is false if Python is missing.
func (x *Tools) installInVenv(ctx context.Context, base string, a Task, p *project, r *runner) (done Run, tried bool,
	err error) {
	venv := &runner{name: "venv", argv: []string{"python3", "-m", "venv", venvDir}}
	made, err := x.runIn(ctx, base, a, p, venv)
	switch {
	case process.IsSpawnError(err):
		return done, false, nil
	case err != nil || made.Failed():
		return made, true, err
	}
	inside := *r
	inside.argv = append([]string{filepath.Join(p.dir, venvDir, "bin", "pip")}, r.argv[1:]...)
	done, err = x.runIn(ctx, base, a, p, &inside)
	return done, true, err
}
