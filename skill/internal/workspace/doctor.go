package workspace

import (
	"context"

	"textskill/skill/internal/history"
)

// Inspect describes the history of each root, the workspace's first. It changes nothing.
func (w *Workspace) Inspect(ctx context.Context) ([]history.Report, error) {
	var list []history.Report
	for _, j := range w.journals {
		r, err := history.Inspect(ctx, j.options)
		if err != nil {
			return list, err
		}
		list = append(list, r)
	}
	return list, nil
}

// Damaged returns how many unreadable ops were found.
func (w *Workspace) Damaged() (n int) {
	for _, j := range w.journals {
		if s, err := j.open(); err == nil {
			n += s.Damaged()
		}
	}
	return n
}
