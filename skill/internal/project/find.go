package project

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"textskill/skill/internal/refusal"
	"textskill/skill/internal/workspace"
)

// A project is a directory that contains the marker file of a kind.
type project struct {
	x      *Tools
	dir    string          // absolute; the working directory of programs
	names  map[string]bool // the entries of dir
	arg    string          // target as an argument for programs in dir; never looks like an option
	target string          // absolute path that the task is for
	whole  bool            // target is dir
	file   bool            // target is a file
}

// A kind describes the projects of one language.
type kind struct {
	name    string
	markers []string                                  // a directory with one of these files is a project
	suffix  []string                                  // suffixes of its source files
	runners []string                                  // programs that may be requested by name
	plan    func(p *project, a Task) (*runner, error) // returns nil, nil if there is no program for the task
}

// kinds lists the kinds in order of preference, for directories with several markers.
var kinds = []kind{
	{"go", []string{"go.mod"}, []string{".go"}, nil, planGo},
	{"rust", []string{"Cargo.toml"}, []string{".rs"}, nil, planRust},
	{"python", []string{"pyproject.toml", "pytest.ini", "setup.cfg", "setup.py", "tox.ini",
		"requirements.txt"},
		[]string{".py", ".pyi"}, []string{"pip", "poetry", "ruff", "black", "pylint", "mypy"}, planPython},
	{"node", []string{"package.json"}, []string{".js", ".ts", ".jsx", ".tsx", ".mjs", ".cjs", ".mts", ".cts"},
		[]string{"npm"}, planNode},
	{"make", []string{"Makefile", "GNUmakefile", "makefile"}, nil, nil, planMake},
}

// namedRunners lists the programs that may be requested by name.
var namedRunners = map[Purpose][]string{
	Lint:    {"ruff", "pylint", "mypy"},
	Format:  {"ruff", "black"},
	Install: {"pip", "poetry", "npm"},
}

// plan returns the project and the program for a task, from the nearest directory, at
// the path or above it, whose kind has a program for the task. Otherwise it plans
// for Python in the session's directory.
func (x *Tools) plan(base string, a Task) (*project, *runner, error) {
	if a.Runner != "" && !slices.Contains(namedRunners[a.Do], a.Runner) {
		return nil, nil, fmt.Errorf("%s %w %s; there are %s", a.Runner, ErrUnknownRunner, a.Do,
			strings.Join(namedRunners[a.Do], ", "))
	}
	at, err := x.taskPath(base, a)
	if err != nil {
		return nil, nil, err
	}
	for dir := at.start; ; dir = filepath.Dir(dir) {
		entries, err := x.ws.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrPermission) {
			return nil, nil, err
		}
		if err != nil { // dir is above the workspace
			break
		}
		names := make(map[string]bool, len(entries))
		for _, e := range entries {
			names[e.Name] = true
		}
		if p, r, err := x.planIn(dir, names, at, a); r != nil || err != nil {
			return p, r, err
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	if at.file || a.Runner != "" {
		return x.planUnmarked(at, a)
	}
	return x.planBelow(at, a)
}

// planIn returns the plan of the first kind that a directory with these names is a project of. It
// returns no runner if no kind has a program for the task.
func (x *Tools) planIn(dir string, names map[string]bool, at taskPath, a Task) (*project, *runner, error) {
	for _, k := range kinds {
		marked := slices.ContainsFunc(k.markers, func(m string) bool { return names[m] })
		if !marked || !at.accepts(k, a.Runner) {
			continue
		}
		p := at.project(x, dir, names)
		if r, err := k.plan(p, a); r != nil || err != nil {
			return p, r, err
		}
	}
	return nil, nil, nil
}

// planBelow returns the plan for the one project below a directory that is in none. A
// directory with Python files of its own needs no marker.
func (x *Tools) planBelow(at taskPath, a Task) (*project, *runner, error) {
	entries, _ := x.ws.ReadDir(at.start)
	if slices.ContainsFunc(entries, func(e workspace.Entry) bool {
		return slices.Contains([]string{".py", ".pyi"}, filepath.Ext(e.Name))
	}) {
		return x.planUnmarked(at, a)
	}
	var found []string
	level := []string{at.start}
	for depth := 0; depth < 3 && len(found) == 0; depth++ {
		level = x.foldersIn(level)
		for _, dir := range level {
			if x.isProject(dir) {
				found = append(found, dir)
			}
		}
	}
	switch len(found) {
	case 0:
		return x.planUnmarked(at, a)
	case 1:
		a.Path = found[0]
		return x.plan(at.base, a)
	}
	for i := range found {
		found[i], _ = filepath.Rel(at.start, found[i])
	}
	slices.Sort(found)
	return nil, nil, fmt.Errorf("%s is in no project, and there are several below it; give one as the path: %s", at.given, strings.Join(found[:min(len(found), 20)], ", "))
}

// maxLooked is how many directories of one depth are searched for projects.
const maxLooked = 500

// foldersIn returns the directories in dirs that may be, or hold, projects of the user.
func (x *Tools) foldersIn(dirs []string) (list []string) {
	for _, dir := range dirs {
		entries, _ := x.ws.ReadDir(dir)
		for _, e := range entries {
			own := !strings.HasPrefix(e.Name, ".") && e.Name != "node_modules" && e.Name != "vendor"
			if own && e.Type.IsDir() && len(list) < maxLooked {
				list = append(list, filepath.Join(dir, e.Name))
			}
		}
	}
	return list
}

// isProject reports whether a directory has the marker of a kind other than make.
func (x *Tools) isProject(dir string) bool {
	entries, _ := x.ws.ReadDir(dir)
	return slices.ContainsFunc(entries, func(e workspace.Entry) bool {
		return slices.ContainsFunc(kinds,
			func(k kind) bool { return k.name != "make" && slices.Contains(k.markers, e.Name) })
	})
}

func (x *Tools) planUnmarked(at taskPath, a Task) (*project, *runner, error) {
	dir := at.base
	if a.Do == Install {
		dir = at.start
	}
	for _, k := range kinds {
		if !at.accepts(k, a.Runner) || a.Runner == "" && k.name != "python" {
			continue
		}
		p := at.project(x, dir, map[string]bool{})
		r, err := k.plan(p, a)
		return p, r, err
	}
	return nil, nil, fmt.Errorf("cannot %s %s: no project of its kind is there or above", a.Do, at.given)
}

// A taskPath is the path that a task is for.
type taskPath struct {
	given string // as the caller wrote it
	real  string // absolute, without links
	start string // directory in which the search begins: real, or its nearest existing parent
	base  string // the session's directory
	file  bool
}

// taskPath resolves the path of a task, which may end in the names of tests: a_test.py::TestA.
func (x *Tools) taskPath(base string, a Task) (at taskPath, err error) {
	at.given = cmp.Or(a.Path, ".")
	name, _, _ := strings.Cut(at.given, "::")
	if err := refusal.CheckPath("path", name, x.ws.Abs(base, name)); err != nil {
		return at, err
	}
	if at.real, err = x.ws.Real(base, name, true); err != nil {
		return at, err
	}
	if at.base, err = x.ws.Real(base, "", true); err != nil {
		return at, err
	}
	info, err := x.ws.Stat(at.real, true)
	switch {
	case errors.Is(err, fs.ErrNotExist) && (a.Do == Lint || a.Do == Format || a.Do == Typecheck):
		// the program reports it
	case err != nil:
		return at, err
	case a.Do == Install && !info.IsDir():
		return at, &fs.PathError{Op: "chdir", Path: at.real, Err: errNotDir}
	}
	at.file = err == nil && !info.IsDir()
	at.start = at.real
	for err != nil || !info.IsDir() {
		at.start = filepath.Dir(at.start)
		info, err = x.ws.Stat(at.start, true)
		if errors.Is(err, fs.ErrPermission) {
			return at, err
		}
	}
	return at, nil
}

var errNotDir = errors.New("it is not a directory")

// accepts reports whether a kind of project has the requested runner or, if runner is "",
// can contain the path.
func (at taskPath) accepts(k kind, runner string) bool {
	if runner != "" {
		return slices.Contains(k.runners, runner)
	}
	own := slices.IndexFunc(kinds,
		func(k kind) bool { return slices.Contains(k.suffix, filepath.Ext(at.real)) })
	return !at.file || own < 0 || kinds[own].name == k.name
}

// project returns dir as a project, for a task at this path.
func (at taskPath) project(x *Tools, dir string, names map[string]bool) *project {
	p := &project{x: x, dir: dir, names: names, target: at.real, whole: at.real == dir, file: at.file,
		arg: at.given}
	if dir != at.base {
		rel, err := filepath.Rel(dir, at.real)
		if err != nil {
			rel = at.real
		}
		_, tests, some := strings.Cut(at.given, "::")
		if p.arg = rel; some {
			p.arg += "::" + tests
		}
	}
	if strings.HasPrefix(p.arg, "-") {
		p.arg = "./" + p.arg
	}
	return p
}

// maxMarkerSize is how many bytes of a marker file are read.
const maxMarkerSize = 1 << 20

// read returns the content of a file in the project's directory, nil if it cannot be read.
func (p *project) read(name string) []byte {
	if !p.names[name] {
		return nil
	}
	data, _ := p.x.ws.ReadUpTo(filepath.Join(p.dir, name), maxMarkerSize)
	return data
}

func (p *project) mentions(text string, files ...string) bool {
	return slices.ContainsFunc(files,
		func(name string) bool { return bytes.Contains(p.read(name), []byte(text)) })
}

// has reports whether the project's directory has an entry with one of the names.
func (p *project) has(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return p.names[name] })
}

// offline makes the programs of projects avoid the network.
var offline = []string{"GOPROXY=off", "GOTOOLCHAIN=local", "npm_config_offline=true", "YARN_ENABLE_NETWORK=0",
	"PIP_NO_INDEX=1", "UV_OFFLINE=1", "CARGO_NET_OFFLINE=true"}

// env returns variables for the project's programs. They put its virtual environment and
// node_modules/.bin first in PATH.
func (p *project) env() (env []string) {
	var paths []string
	for dir := p.dir; ; dir = filepath.Dir(dir) {
		for _, name := range []string{".venv", "venv"} {
			venv := filepath.Join(dir, name)
			if p.x.isDir(filepath.Join(venv, "bin")) {
				paths = append(paths, filepath.Join(venv, "bin"))
				env = append(env, "VIRTUAL_ENV="+venv)
				break
			}
		}
		if bin := filepath.Join(dir, "node_modules", ".bin"); p.x.isDir(bin) {
			paths = append(paths, bin)
		}
		if !p.x.isDir(filepath.Dir(dir)) || dir == filepath.Dir(dir) {
			break
		}
	}
	if len(env) > 1 { // use the nearest environment
		env = env[:1]
	}
	if len(paths) > 0 {
		env = append(env, "PATH="+strings.Join(append(paths, os.Getenv("PATH")),
			string(filepath.ListSeparator)))
	}
	if !p.x.network {
		env = append(env, offline...)
	}
	return env
}
