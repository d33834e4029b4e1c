package skill

import (
	"context"
	"time"

	"textskill/skill/internal/project"
)

// Toolchain tests, lints, formats, type-checks or installs a project. The project is the
// nearest one at Path or above it. Its files determine the program, unless Runner names
// one. It returns a [ToolRun].
type Toolchain struct {
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

func (Toolchain) op() {}

// A Purpose is what [Toolchain] does with a project.
type Purpose = project.Purpose

// The purposes of [Toolchain].
const (
	Test      = project.Test
	Lint      = project.Lint
	Format    = project.Format
	Typecheck = project.Typecheck
	Install   = project.Install
)

// ToolRun is the result of [Toolchain].
type ToolRun = project.Run

// ErrUnknownRunner reports a Runner that cannot do the task.
var ErrUnknownRunner = project.ErrUnknownRunner

func (x *Executor) Toolchain(ctx context.Context, s *Session, a Toolchain) (done ToolRun, err error) {
	defer x.followed(s, "toolchain", &done)()
	return x.project.Run(ctx, s.Dir, project.Task(a))
}
