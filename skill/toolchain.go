package skill

import (
	"context"
	"time"

	"textskill/skill/internal/project"
)

// Toolchain runs the program by which a project is tested, linted, formatted,
// type-checked or installed: the one that Runner names, or else the one that the
// files say which lie nearest, at Path or in a folder above.
type Toolchain struct {
	Do      Purpose
	Path    string        // a folder or file of the project; "" is the session's folder
	Runner  string        // "ruff", "npm"; "" finds one
	Pattern string        // Test: names of the files with tests, for a runner that takes such
	Name    string        // Test: run only tests whose name matches
	Brief   bool          // Test: print less of tests that pass
	Check   bool          // Format: say what would change, and change nothing
	Scripts bool          // Install: let packages run their own programs
	Timeout time.Duration // 0 means none

	MaxOutput int64 // bytes kept of each stream; 0 means 1 MiB
}

func (Toolchain) op() {}

// Purpose is what can be done with a project.
type Purpose = project.Purpose

// The purposes.
const (
	Test      = project.Test
	Lint      = project.Lint
	Format    = project.Format
	Typecheck = project.Typecheck
	Install   = project.Install
)

// ToolRun is how a toolchain's program ended.
type ToolRun = project.Run

// A TestReport is what the output of a run of tests says of them.
type TestReport = project.TestReport

// A TestFailure is a test that failed, or a file or package of which none could run.
type TestFailure = project.TestFailure

// An UnknownRunnerError reports a program that is none of those for a purpose.
type UnknownRunnerError = project.UnknownRunnerError

func (x *Executor) toolchain(ctx context.Context, s *Session, a Toolchain) (Result, error) {
	return result(x.project.Run(ctx, s.Dir, project.Task(a)))
}
