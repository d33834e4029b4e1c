package skill

import (
	"context"

	"textskill/skill/internal/workspace"
)

// Journal limits how much is recorded of changes, so that they can be undone. Of
// its limits 0 means the default and less than 0 none. The last change is always
// kept.
type Journal = workspace.Journal

// Errors with which the workspace refuses a path.
type (
	OutsideError    = workspace.OutsideError
	DeniedError     = workspace.DeniedError
	NotRegularError = workspace.NotRegularError
)

// ErrSameFile reports a copy of a file onto itself.
var ErrSameFile = workspace.ErrSameFile

// WithProgress returns a context under which long operations call report with the
// number of files or seconds that are done. A total of 0 is not known. report is
// called from several goroutines, and often.
func WithProgress(ctx context.Context, report func(done, total int64, note string)) context.Context {
	return workspace.WithProgress(ctx, report)
}

// Unified returns the difference between two versions of a file as a unified diff
// with three lines of context, "" if they are equal. A nil version means that there
// is no such file. Binary and large versions are summed up in one line.
func Unified(oldName, newName string, before, after []byte) string {
	return workspace.Unified(oldName, newName, before, after)
}

// Hidden reports whether every operation leaves a file of this name out of its
// answers.
func Hidden(name string) bool { return workspace.Hidden(name) }
