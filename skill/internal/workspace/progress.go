package workspace

import "context"

// WithProgress returns a context with which long operations call report as they advance. done and
// total count files, bytes or seconds; a total of 0 is unknown. report is called often, by several
// goroutines.
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
