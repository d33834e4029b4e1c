package workspace

import "context"

// WithProgress returns a context under which long work calls report as it advances.
// done and total count files, bytes or seconds, as the work does; a total of 0 means
// that it is not known. report is called often, and from several goroutines.
func WithProgress(ctx context.Context, report func(done, total int64, note string)) context.Context {
	return context.WithValue(ctx, progressKey{}, report)
}

type progressKey struct{}

// Report calls the function that [WithProgress] put into ctx, if there is one.
func Report(ctx context.Context, done, total int64, note string) {
	if report, ok := ctx.Value(progressKey{}).(func(done, total int64, note string)); ok {
		report(done, total, note)
	}
}
