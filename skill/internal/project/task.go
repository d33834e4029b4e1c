// Package project tests, lints, formats, type-checks and installs the projects of a
// workspace, with the programs that their files call for.
//
//	task.go   run a task           go.go, node.go, python.go   choose its program
//	find.go   find its project     tests.go                    find out whether a test ran
package project

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"syscall"
	"time"

	"textskill/skill/internal/process"
	"textskill/skill/internal/workspace"
)

// Tools runs the programs of projects in one workspace. It is safe for concurrent use.
type Tools struct {
	network bool
	ws      *workspace.Workspace
	process *process.Runner
}

// New returns the Tools of ws, which run programs with p. With network, the programs may
// use it.
func New(network bool, ws *workspace.Workspace, p *process.Runner) *Tools {
	return &Tools{network, ws, p}
}

// On returns Tools like x of ws, which run programs with p.
func (x *Tools) On(ws *workspace.Workspace, p *process.Runner) *Tools { return New(x.network, ws, p) }

// A Task tests, lints, formats, type-checks or installs a project. The project is the
// nearest one at Path or above it. Its files determine the program, unless Runner names
// one.
type Task struct {
	Do      Purpose
	Path    string        // a directory or file of the project; "" means the session's directory
	Runner  string        // program such as "ruff" or "npm"; "" chooses one
	Pattern string        // Test: glob for the names of test files; only Python's runners use it
	Name    string        // Test: run only the tests whose name matches
	Brief   bool          // Test: omit output about tests that pass
	Check   bool          // Format: report what would change, and change nothing
	Scripts bool          // Install: let packages run their own programs
	Timeout time.Duration // 0 means no limit

	MaxOutput int64 // bytes kept of each stream; 0 means 1 MiB
}

// A Purpose is what a Task does with a project.
type Purpose string

// The purposes of tasks.
const (
	Test      Purpose = "test"
	Lint      Purpose = "lint"
	Format    Purpose = "format"
	Typecheck Purpose = "typecheck"
	Install   Purpose = "install"
)

// A Run is the result of a Task.
type Run struct {
	process.Executed
	Runner  string   // the program, with its subcommand: "pytest", "npm run test"
	Line    []string // the complete command line
	Dir     string   // absolute; its working directory
	Wrong   bool     // it reported problems, whatever its exit code
	NoTests bool     // there were no tests to run

	Changed []string // Format: absolute paths of the files that were rewritten
}

// Failed reports whether the program failed, reported problems, or found no tests.
func (d Run) Failed() bool { return d.Executed.Failed() || d.Wrong || d.NoTests }

// ErrUnknownRunner reports a Runner that cannot do the Task.
var ErrUnknownRunner = errors.New("is not known to")

// A runner is a command for a task.
type runner struct {
	name        string // Run.Runner; "" means the base name of argv[0]
	argv        []string
	env         []string
	summary     *summary // of a runner that exits with 0 without tests; else nil
	noTestsCode int      // exit code for "no tests"; 0 if the program has none
	outputFails bool     // any output means that there are problems
	needsVenv   bool     // it is pip, which must install into a virtual environment

	fallback *runner // used if the program is not installed; may be nil
}

// Run runs a task. Errors are [ErrUnknownRunner] or come from [process.Runner.Exec].
func (x *Tools) Run(ctx context.Context, base string, a Task) (Run, error) {
	if err := x.process.CheckAllowed("running a program"); err != nil {
		return Run{}, err
	}
	p, r, err := x.plan(base, a)
	if err != nil {
		return Run{}, err
	}
	if a.Do == Install {
		if err := x.process.CheckNetwork("reaching other machines"); err != nil {
			return Run{}, err
		}
	}
	var before map[string]stamp
	if a.Do == Format && !a.Check {
		before = x.stamps(ctx, p.target)
	}
	var done Run
	tracked, err := x.process.Track(ctx, r.program(), func(inner *process.Runner) (err error) {
		x := x.On(x.ws, inner)
		done, err = x.runIn(ctx, base, a, p, r)
		if r.needsVenv && (errors.Is(err, syscall.ENOENT) &&
			process.IsSpawnError(err) || err == nil &&
			done.ExitCode == pipNeedsVenv) {
			if inside, tried, verr := x.installInVenv(ctx, base, a, p, r); tried {
				done, err = inside, verr
			}
		}
		return err
	})
	if err != nil {
		return Run{}, err
	}
	done.Tracked = tracked
	if before != nil {
		done.Changed = changed(before, x.stamps(ctx, p.target))
	}
	return done, nil
}

// runIn runs r, or its first fallback that is installed, in the project's directory.
func (x *Tools) runIn(ctx context.Context, base string, a Task, p *project, r *runner) (d Run, err error) {
	var missing error
	for ; r != nil; r = r.fallback {
		run := process.Command{
			Name: r.argv[0], Args: r.argv[1:], Dir: p.dir, Env: append(p.env(), r.env...),
			Timeout: a.Timeout, MaxOutput: a.MaxOutput, Unattended: true, Log: true,
		}
		done, err := x.process.Exec(ctx, base, run)
		switch {
		case err == nil:
			return r.result(done, p.dir), nil
		case !process.IsSpawnError(err) || !errors.Is(err, syscall.ENOENT):
			return Run{}, err
		case missing == nil:
			missing = err
		}
	}
	return Run{}, missing
}

func (r *runner) program() string { return cmp.Or(r.name, filepath.Base(r.argv[0])) }

// result returns the Run of r, which ended as e.
func (r *runner) result(e process.Executed, dir string) Run {
	d := Run{Executed: e, Runner: r.program(), Line: r.argv, Dir: dir}
	d.Wrong = r.outputFails && len(e.Stdout) > 0
	d.NoTests = r.noTestsCode != 0 && e.ExitCode == r.noTestsCode ||
		r.summary != nil && e.ExitCode == 0 && r.summary.empty(e.Stdout, e.Stderr)
	return d
}
