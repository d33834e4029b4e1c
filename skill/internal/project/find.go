package project

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"textskill/skill/internal/refusal"
)

// project is a folder that files in it mark as one.
type project struct {
	x      *Tools
	kind   string
	dir    string          // absolute; programs run there
	names  map[string]bool // what is in it
	arg    string          // what the task is for, as programs in dir are told; never an option
	target string          // the same, absolute
	whole  bool            // that is dir itself
	file   bool            // that is a file
}

// kind is a sort of project.
type kind struct {
	name    string
	markers []string                                  // one of them makes a folder a project
	suffix  []string                                  // of files that belong to it
	runners []string                                  // that may be asked for by name
	plan    func(p *project, a Task) (*runner, error) // nil, nil where it has none for the task
}

// kinds has those first that count where a folder is several.
var kinds = []kind{
	{"go", []string{"go.mod"}, []string{".go"}, nil, planGo},
	{"rust", []string{"Cargo.toml"}, []string{".rs"}, nil, planRust},
	{"python", []string{"pyproject.toml", "pytest.ini", "setup.cfg", "setup.py", "tox.ini", "requirements.txt"},
		[]string{".py", ".pyi"}, []string{"pip", "poetry", "ruff", "black", "pylint", "mypy"}, planPython},
	{"node", []string{"package.json"}, []string{".js", ".ts", ".jsx", ".tsx", ".mjs", ".cjs", ".mts", ".cts"}, []string{"npm"}, planNode},
	{"make", []string{"Makefile", "GNUmakefile", "makefile"}, nil, nil, planMake},
}

// explicit are the runners that may be asked for by name.
var explicit = map[Purpose][]string{
	Lint:    {"ruff", "pylint", "mypy"},
	Format:  {"ruff", "black"},
	Install: {"pip", "poetry", "npm"},
}

// plan finds the project and its program for a task: of the nearest folder, at the
// path or above, whose kind of project has one. Without any it is Python's, in the
// session's folder.
func (x *Tools) plan(base string, a Task) (*project, *runner, error) {
	if a.Runner != "" && !slices.Contains(explicit[a.Do], a.Runner) {
		return nil, nil, &UnknownRunnerError{a.Do, a.Runner, explicit[a.Do]}
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
		if err != nil { // above the workspace
			break
		}
		names := make(map[string]bool, len(entries))
		for _, e := range entries {
			names[e.Name] = true
		}
		for _, k := range kinds {
			if !slices.ContainsFunc(k.markers, func(m string) bool { return names[m] }) || !at.takes(k, a.Runner) {
				continue
			}
			p := at.project(x, k.name, dir, names)
			if r, err := k.plan(p, a); r != nil || err != nil {
				return p, r, err
			}
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return x.planWithout(at, a)
}

// planWithout is the plan where no folder is marked.
func (x *Tools) planWithout(at taskPath, a Task) (*project, *runner, error) {
	dir := at.base
	if a.Do == Install {
		dir = at.start
	}
	for _, k := range kinds {
		if !at.takes(k, a.Runner) || a.Runner == "" && k.name != "python" {
			continue
		}
		p := at.project(x, k.name, dir, map[string]bool{})
		r, err := k.plan(p, a)
		return p, r, err
	}
	return nil, nil, fmt.Errorf("nothing tells how to %s %s: no project of its kind is there or above", a.Do, at.given)
}

// taskPath is what a task is for.
type taskPath struct {
	given string // as the caller wrote it
	real  string // absolute, without links
	start string // the folder to begin the search in: real, or the nearest above that is there
	base  string // the session's folder
	file  bool
}

// taskPath finds the path of a task. Names of tests in a file may follow it.
func (x *Tools) taskPath(base string, a Task) (at taskPath, err error) {
	at.given = a.Path
	if at.given == "" {
		at.given = "."
	}
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
	case errors.Is(err, fs.ErrNotExist) && (a.Do == Lint || a.Do == Format || a.Do == Typecheck): // for the program to say
	case err != nil:
		return at, err
	case a.Do == Install && !info.IsDir():
		return at, &fs.PathError{Op: "chdir", Path: at.real, Err: errNotFolder}
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

var errNotFolder = errors.New("it is no folder")

// takes reports whether a kind of project has the runner that is asked for, or may
// hold what the task is for.
func (at taskPath) takes(k kind, runner string) bool {
	if runner != "" {
		return slices.Contains(k.runners, runner)
	}
	own := slices.IndexFunc(kinds, func(k kind) bool { return slices.Contains(k.suffix, filepath.Ext(at.real)) })
	return !at.file || own < 0 || kinds[own].name == k.name
}

// project is the folder dir as a project of a kind, for a task at this path.
func (at taskPath) project(x *Tools, kind, dir string, names map[string]bool) *project {
	p := &project{x: x, kind: kind, dir: dir, names: names, target: at.real, whole: at.real == dir, file: at.file, arg: at.given}
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

// maxMarker is how many bytes of a file are looked at that marks a project.
const maxMarker = 1 << 20

// read returns a file of the project's folder, nothing where it cannot be read.
func (p *project) read(name string) []byte {
	if !p.names[name] {
		return nil
	}
	data, _ := p.x.ws.ReadUpTo(filepath.Join(p.dir, name), maxMarker)
	return data
}

// says reports whether one of the files holds a text.
func (p *project) says(text string, files ...string) bool {
	return slices.ContainsFunc(files, func(name string) bool { return bytes.Contains(p.read(name), []byte(text)) })
}

// has reports whether the project's folder has a file of one of the names.
func (p *project) has(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return p.names[name] })
}

// offline tells the programs of projects not to ask other machines.
var offline = []string{"GOPROXY=off", "GOTOOLCHAIN=local", "npm_config_offline=true", "YARN_ENABLE_NETWORK=0",
	"PIP_NO_INDEX=1", "UV_OFFLINE=1", "CARGO_NET_OFFLINE=true"}

// env are variables for the project's programs: those of its virtual environment
// and of node_modules come before others.
func (p *project) env() (env []string) {
	var paths []string
	for dir := p.dir; ; dir = filepath.Dir(dir) {
		for _, name := range []string{".venv", "venv"} {
			venv := filepath.Join(dir, name)
			if p.x.isFolder(filepath.Join(venv, "bin")) {
				paths = append(paths, filepath.Join(venv, "bin"))
				env = append(env, "VIRTUAL_ENV="+venv)
				break
			}
		}
		if bin := filepath.Join(dir, "node_modules", ".bin"); p.x.isFolder(bin) {
			paths = append(paths, bin)
		}
		if !p.x.isFolder(filepath.Dir(dir)) || dir == filepath.Dir(dir) {
			break
		}
	}
	if len(env) > 1 { // the nearest counts
		env = env[:1]
	}
	if len(paths) > 0 {
		env = append(env, "PATH="+strings.Join(append(paths, os.Getenv("PATH")), string(filepath.ListSeparator)))
	}
	if !p.x.network {
		env = append(env, offline...)
	}
	return env
}
