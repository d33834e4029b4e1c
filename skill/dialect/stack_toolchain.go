package dialect

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"textskill/skill"
)

// The tools that run the programs of a project.
var (
	testTool = projectTool(skill.Test, 300, Tool{
		Name: "test",
		Doc: "Run the tests of a project: go test, cargo test, pytest, the script test of package.json or make test, by the nearest " +
			"file of these. Returns what they print, and fails where no test ran.",
		Params: []Param{
			projectPath,
			{Name: "pattern", Type: "string", Default: "test*.py",
				Doc: "names of the files with tests, for pytest"},
			{Name: "verbose", Type: "boolean", Default: true, Doc: "report every test"},
			{Name: "name", Type: "string", Doc: "run only tests whose name matches"},
		},
	})
	lintTool = projectTool(skill.Lint, 120, Tool{
		Name: "lint",
		Doc:  "Lint code by the linter that is named, or by what the project has: go vet, cargo clippy, the script lint of package.json, else ruff.",
		Params: []Param{
			projectPath,
			{Name: "linter", Type: "string", Enum: []string{"ruff", "pylint", "mypy"}, Lenient: true,
				Doc: "instead of the project's own"},
		},
	})
	formatTool = projectTool(skill.Format, 120, Tool{
		Name: "format",
		Doc:  "Format code by the formatter that is named, or by what the project has: gofmt, cargo fmt, prettier, else ruff. Returns which files changed.",
		Params: []Param{
			projectPath,
			{Name: "formatter", Type: "string", Enum: []string{"ruff", "black"}, Lenient: true,
				Doc: "instead of the project's own"},
			{Name: "check", Type: "boolean", Default: false, Doc: "only list what would change"},
		},
	})
	typecheckTool = projectTool(skill.Typecheck, 180, Tool{
		Name:   "typecheck",
		Doc:    "Check types by what the project has: go build, cargo check, tsc, else mypy.",
		Params: []Param{projectPath},
	})
	installTool = projectTool(skill.Install, 300, Tool{
		Name: "install",
		Doc: "Install the dependencies of a project by the manager that is named or whose lockfile there is, else pip, always into a " +
			"virtual environment. Needs --network.",
		Params: []Param{
			{Name: "path", Type: "string", Path: true, Default: ".", Doc: "the folder of the project"},
			{Name: "package_manager", Type: "string", Enum: []string{"pip", "poetry", "npm"}, Lenient: true,
				Doc: "instead of the project's own"},
			{Name: "scripts", Type: "boolean", Default: false,
				Doc: "let packages run programs of their own while they are installed"},
		},
	})
)

var projectPath = Param{Name: "path", Type: "string", Path: true, Default: ".",
	Doc: "a folder or file of the project"}

// runnerParams are the parameters that name the program to run. A tool has at most one.
var runnerParams = []string{"linter", "formatter", "package_manager"}

func unknownRunner(param, name string) error {
	return failf("Unknown %s: %s", strings.ReplaceAll(param, "_", " "), name)
}

// projectTool is the row of a task, whose timeout is usual seconds by default.
func projectTool(do skill.Purpose, usual int, t Tool) Tool {
	t.Params = append(t.Params, timeoutParam(usual, maxTimeout))
	t.Effect, t.Open = Destroys, true
	t.operation = func(in *call) (skill.Args, error) {
		a := skill.Toolchain{
			Do: do, Path: in.str("path"), Pattern: in.str("pattern"), Name: in.str("name"),
			Brief: !in.flag("verbose"), Check: in.flag("check"), Scripts: in.flag("scripts"),
			MaxOutput: stackOutput,
		}
		for _, key := range runnerParams {
			v, given := in.values[key]
			text, ok := v.(string)
			switch {
			case given && !ok:
				return nil, fmt.Errorf("%s must be a text", key)
			case given && text == "":
				return nil, unknownRunner(key, text)
			case given:
				a.Runner = text
			}
		}
		var err error
		a.Timeout, err = in.seconds("timeout", float64(usual))
		return a, err
	}
	t.failure = typed(projectFailure)
	t.reword = projectError
	t.reply = typed(func(_ *call, r skill.ToolRun) string { return success(projectKeys(r)) })
	return t
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

func projectFailure(_ *call, d skill.ToolRun) error {
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

// projectError says why nothing was run, with the message of the manual if it has one.
func projectError(in *call, err error) error {
	if errors.Is(err, skill.ErrUnknownRunner) {
		for _, key := range runnerParams {
			if name := in.str(key); name != "" {
				return unknownRunner(key, name)
			}
		}
	}
	if spawn, ok := errors.AsType[*skill.SpawnError](err); ok && spawn.Err == syscall.ENOENT {
		return withKeys(failf("%s not found", spawn.Command),
			keys{"hint", installHint(in.tool.Name, spawn.Command)})
	}
	if path, ok := errors.AsType[*fs.PathError](err); ok && path.Op == "stat" &&
		errors.Is(err, fs.ErrNotExist) {
		return failf("Path not found: %s", in.str("path"))
	}
	return err
}
