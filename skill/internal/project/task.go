// Package project tests, lints, formats, type-checks and installs the projects of a
// workspace, by the programs that their files ask for.
//
//	task.go   what can be done          go.go, node.go, python.go   which program does it
//	find.go   which project is meant    report*.go                  what its tests print
package project

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
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

// New returns the Tools of ws, which run programs by p: with network they may ask
// other machines.
func New(network bool, ws *workspace.Workspace, p *process.Runner) *Tools {
	return &Tools{network, ws, p}
}

// A Task runs the program by which a project is tested, linted, formatted,
// type-checked or installed: the one that Runner names, or else the one that the
// files say which lie nearest, at Path or in a folder above.
type Task struct {
	Do      Purpose
	Path    string        // a folder or file of the project; "" is the session's folder
	Runner  string        // "ruff", "npm"; "" finds one
	Pattern string        // Test: names of the files with tests, for a runner that takes such
	Name    string        // Test: run only tests whose name matches
	Brief   bool          // Test: tell less of tests that go well
	Check   bool          // Format: tell what would change, and change nothing
	Scripts bool          // Install: let packages run their own programs
	Timeout time.Duration // 0 means none

	MaxOutput int64 // bytes kept of each stream; 0 means 1 MiB
}

// Purpose is what can be done with a project.
type Purpose string

// The purposes.
const (
	Test      Purpose = "test"
	Lint      Purpose = "lint"
	Format    Purpose = "format"
	Typecheck Purpose = "typecheck"
	Install   Purpose = "install"
)

// A Run is how a toolchain's program ended.
type Run struct {
	process.Executed
	Runner  string   // the program, or what it runs: "pytest", "npm run test"
	Line    []string // the whole command
	Dir     string   // absolute; where it ran
	Wrong   bool     // it found something, whatever its exit code
	NoTests bool     // there was nothing to run

	Tests   *TestReport // nil where the output tells no numbers
	Changed []string    // Format: files that were rewritten, absolute
}

// Failed reports whether the program did not end well, or found something.
func (d Run) Failed() bool { return d.Executed.Failed() || d.Wrong || d.NoTests }

// An UnknownRunnerError reports a program that is none of those for a purpose.
type UnknownRunnerError struct {
	Do     Purpose
	Runner string
	Known  []string
}

func (e *UnknownRunnerError) Error() string {
	return fmt.Sprintf("%s is not known to %s; there are %s", e.Runner, e.Do, strings.Join(e.Known, ", "))
}

// runner is a program that is ready to be run.
type runner struct {
	name string // "" is the program's own
	line []string
	env  []string
	read testReader // may be nil
	none int        // exit code that says there are no tests; 0 is none
	some bool       // it ends well also without tests, which is no success
	dirt bool       // output means that something is wrong
	venv bool       // it is pip, which is to install into a virtual environment only

	instead *runner // where the program is not there; may be nil
}

// Run does what a says. Errors are [*UnknownRunnerError] or those of a command.
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
	tracked, err := x.process.Track(ctx, r.program(), func(ctx context.Context) (err error) {
		done, err = x.runIn(ctx, base, a, p, r)
		if r.venv && (errors.Is(err, syscall.ENOENT) && process.IsSpawnError(err) || err == nil && done.ExitCode == pipOutside) {
			done, err = x.installApart(ctx, base, a, p, r, done, err)
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

// runIn runs r, or what there is in its place, in the project's folder.
func (x *Tools) runIn(ctx context.Context, base string, a Task, p *project, r *runner) (d Run, err error) {
	var missing error
	for ; r != nil; r = r.instead {
		run := process.Command{
			Name: r.line[0], Args: r.line[1:], Dir: p.dir, Env: append(p.env(), r.env...),
			Timeout: a.Timeout, MaxOutput: a.MaxOutput, Unattended: true, Log: true,
		}
		if r.read != nil {
			f := through(r.read)
			run.Stdout, run.Stderr = f, f
		}
		done, err := x.process.Exec(ctx, base, run)
		switch {
		case err == nil:
			return r.done(done, p.dir), nil
		case !process.IsSpawnError(err) || !errors.Is(err, syscall.ENOENT):
			return Run{}, err
		case missing == nil:
			missing = err
		}
	}
	return Run{}, missing
}

// program is what the runner is called.
func (r *runner) program() string {
	if r.name != "" {
		return r.name
	}
	return filepath.Base(r.line[0])
}

// done is what became of r.
func (r *runner) done(e process.Executed, dir string) Run {
	d := Run{Executed: e, Runner: r.program(), Line: r.line, Dir: dir}
	d.Wrong = r.dirt && len(e.Stdout) > 0
	d.NoTests = r.none != 0 && e.ExitCode == r.none
	if r.read != nil {
		if report, ok := r.read.report(); ok {
			d.Tests = &report
			d.NoTests = d.NoTests || r.some && report.Passed+report.Failed+report.Skipped == 0
		}
	}
	return d
}
