package workspace

import "context"

// WithProgress returns a context under which long work tells report how far it
// is. done and total count what the work counts, files or seconds; a total of 0
// is not known. report is called from several goroutines, and often.
func WithProgress(ctx context.Context, report func(done, total int64, note string)) context.Context {
	return context.WithValue(ctx, progressKey{}, report)
}

type progressKey struct{}

// Report tells how far the work under ctx is, if somebody asked.
func Report(ctx context.Context, done, total int64, note string) {
	if report, ok := ctx.Value(progressKey{}).(func(done, total int64, note string)); ok {
		report(done, total, note)
	}
}
