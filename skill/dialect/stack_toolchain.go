package dialect

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"textskill/skill"
)

// The tools that run the programs of a project.
var (
	testTool = row(Tool{Name: "test", Effect: Destroys, Open: true,
		Doc: "Run the tests of a project: go test, cargo test, pytest, the script test of package.json or " +
			"make test, by the nearest file of these. Returns what they print, and fails where no test ran."},
		func(in *call, a struct {
			projectPath
			Pattern string      `arg:"pattern" default:"test*.py" doc:"names of the files with tests, for pytest"`
			Verbose bool        `arg:"verbose" default:"true" doc:"report every test"`
			Name    string      `arg:"name" doc:"run only tests whose name matches"`
			Timeout json.Number `arg:"timeout" default:"300" doc:"in seconds, 600 at most; 0 means 300"`
		}) (string, error) {
			return in.project(skill.Toolchain{Do: skill.Test, Path: a.Path, Pattern: a.Pattern, Name: a.Name,
				Brief: !a.Verbose}, runner{}, a.Timeout, 300)
		})
	lintTool = row(Tool{Name: "lint", Effect: Destroys, Open: true,
		Doc: "Lint code by the linter that is named, or by what the project has: go vet, cargo clippy, the " +
			"script lint of package.json, else ruff."},
		func(in *call, a struct {
			projectPath
			Linter  any         `arg:"linter" type:"string" enum:"ruff,pylint,mypy" is:"lenient" doc:"instead of the project's own"`
			Timeout json.Number `arg:"timeout" default:"120" doc:"in seconds, 600 at most; 0 means 120"`
		}) (string, error) {
			return in.project(skill.Toolchain{Do: skill.Lint, Path: a.Path, Brief: true},
				runner{"linter", a.Linter}, a.Timeout, 120)
		})
	formatTool = row(Tool{Name: "format", Effect: Destroys, Open: true,
		Doc: "Format code by the formatter that is named, or by what the project has: gofmt, cargo fmt, " +
			"prettier, else ruff. Returns which files changed."},
		func(in *call, a struct {
			projectPath
			Formatter any         `arg:"formatter" type:"string" enum:"ruff,black" is:"lenient" doc:"instead of the project's own"`
			Check     bool        `arg:"check" default:"false" doc:"only list what would change"`
			Timeout   json.Number `arg:"timeout" default:"120" doc:"in seconds, 600 at most; 0 means 120"`
		}) (string, error) {
			return in.project(skill.Toolchain{Do: skill.Format, Path: a.Path, Brief: true, Check: a.Check},
				runner{"formatter", a.Formatter}, a.Timeout, 120)
		})
	typecheckTool = row(Tool{Name: "typecheck", Effect: Destroys, Open: true,
		Doc: "Check types by what the project has: go build, cargo check, tsc, else mypy."},
		func(in *call, a struct {
			projectPath
			Timeout json.Number `arg:"timeout" default:"180" doc:"in seconds, 600 at most; 0 means 180"`
		}) (string, error) {
			return in.project(skill.Toolchain{Do: skill.Typecheck, Path: a.Path, Brief: true}, runner{},
				a.Timeout, 180)
		})
	installTool = row(Tool{Name: "install", Effect: Destroys, Open: true,
		Doc: "Install the dependencies of a project by the manager that is named or whose lockfile there is, " +
			"else pip, always into a virtual environment. Needs --network."},
		func(in *call, a struct {
			Path    string      `arg:"path" is:"path" default:"." doc:"the folder of the project"`
			Manager any         `arg:"package_manager" type:"string" enum:"pip,poetry,npm" is:"lenient" doc:"instead of the project's own"`
			Scripts bool        `arg:"scripts" default:"false" doc:"let packages run programs of their own while they are installed"`
			Timeout json.Number `arg:"timeout" default:"300" doc:"in seconds, 600 at most; 0 means 300"`
		}) (string, error) {
			return in.project(skill.Toolchain{Do: skill.Install, Path: a.Path, Brief: true, Scripts: a.Scripts},
				runner{"package_manager", a.Manager}, a.Timeout, 300)
		})
)

type projectPath struct {
	Path string `arg:"path" is:"path" default:"." doc:"a folder or file of the project"`
}

// A runner is the argument that names the program to run.
type runner struct {
	param string
	given any
}

func (r runner) unknown(name string) error {
	return failf("Unknown %s: %s", strings.ReplaceAll(r.param, "_", " "), name)
}

// project runs a task, whose timeout is usual seconds by default.
func (in *call) project(a skill.Toolchain, by runner, timeout json.Number, usual float64) (string, error) {
	name, isText := by.given.(string)
	var err error
	switch a.Timeout, err = seconds("timeout", timeout, usual); {
	case by.given != nil && !isText:
		return "", fmt.Errorf("%s must be a text", by.param)
	case by.given == "":
		return "", by.unknown("")
	case err != nil:
		return "", err
	}
	a.Runner, a.MaxOutput = name, stackOutput
	d, err := do[skill.ToolRun](in, a)
	if err == nil {
		return success(projectKeys(d)), projectFailure(d)
	}
	spawn, isSpawn := errors.AsType[*skill.SpawnError](err)
	path, isPath := errors.AsType[*fs.PathError](err)
	switch {
	case errors.Is(err, skill.ErrUnknownRunner) && name != "":
		err = by.unknown(name)
	case isSpawn && spawn.Err == syscall.ENOENT:
		err = withKeys(failf("%s not found", spawn.Command),
			keys{"hint", installHint(in.tool.Name, spawn.Command)})
	case isPath && path.Op == "stat" && errors.Is(err, fs.ErrNotExist):
		err = failf("Path not found: %s", a.Path)
	}
	return "", err
}

// projectKeys are the members of these tools beside success and error.
func projectKeys(d skill.ToolRun) keys {
	k := keys{"output", wellFormed(string(d.Stdout)), "errors", wellFormed(string(d.Stderr)), "returncode",
		d.ExitCode,
		"runner", d.Runner, "command", shellLine(d.Line), "cwd", d.Dir}
	k = append(k, "changed?", d.Changed)
	return append(k, endOf(d.Executed)...)
}

// shellLine is a command as it could be typed.
func shellLine(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = w
		if w == "" || strings.ContainsAny(w, " \t\n\"'`$&|;<>()*?[]{}~#!\\") {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

func projectFailure(d skill.ToolRun) error {
	if !d.Failed() {
		return nil
	}
	err := endError(d.Executed)
	switch {
	case d.TimedOut || d.Cancelled || d.Lost || d.Signal != "":
	case d.NoTests:
		err = failf("%s found no tests", d.Runner)
	case d.Wrong && d.ExitCode == 0:
		err = failf("%s found files to format", d.Runner)
	default:
		err = failf("%s exited with %d", d.Runner, d.ExitCode)
	}
	return withKeys(err, projectKeys(d))
}

func installHint(tool, program string) string {
	if tool == "lint" && program == "ruff" {
		return "no linter is installed: install ruff (pip install ruff), pylint, flake8 or mypy"
	}
	return "install " + program + ", or put it on PATH"
}
