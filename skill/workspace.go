package skill

import (
	"context"

	"textskill/skill/internal/workspace"
)

// Journal limits what is recorded about changes so that they can be undone. In each field
// 0 means the default and a negative number no limit. The last change is always kept.
type Journal = workspace.Journal

// A NotRegularError reports a device, pipe or socket where a file was expected.
type NotRegularError = workspace.NotRegularError

// ErrSameFile reports that a file is copied onto itself.
var ErrSameFile = workspace.ErrSameFile

// WithProgress returns a context in which long operations call report with the number of
// files, bytes or seconds done. A total of 0 means unknown. Operations call report often,
// and from several goroutines.
func WithProgress(ctx context.Context, report func(done, total int64, note string)) context.Context {
	return workspace.WithProgress(ctx, report)
}

// Unified returns a unified diff of two versions of a file with three lines of context, ""
// if they are equal. A nil version means that the file does not exist. For binary and large
// files the diff is one line that says so.
func Unified(oldName, newName string, before, after []byte) string {
	return workspace.Unified(oldName, newName, before, after)
}

// Hidden reports whether operations leave files of this name out of their results.
func Hidden(name string) bool { return workspace.Hidden(name) }
