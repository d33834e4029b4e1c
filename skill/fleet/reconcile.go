package fleet

import (
	"context"
	"math/rand/v2"
	"time"
)

// lostAfter is how old the state of a run must be before reconcile looks for its job.
const lostAfter = 2 * time.Minute

// reconcile queues a run again if the queue has lost its job. It looks from time to time.
func (w *worker) reconcile(ctx context.Context) {
	for sleep(ctx, w.Patience/2+rand.N(w.Patience)) == nil {
		runs, err := w.Plane.Runs(ctx, "")
		if err != nil {
			continue
		}
		if w.Observer.Listed != nil {
			w.Observer.Listed(runs)
		}
		type queue struct {
			tenant, label, pin string
			urgent             bool
		}
		queued := map[queue]map[string]bool{}
		for _, r := range runs {
			if r.Status.Over() || time.Since(r.Updated) < min(lostAfter, 4*w.Patience) || w.isHeld(ctx, r) {
				continue
			}
			q := queue{r.Tenant, r.Label, r.Pin, r.Urgent}
			if queued[q] == nil {
				there, err := w.Plane.Queued(ctx, r)
				if err != nil {
					continue
				}
				queued[q] = there
			}
			if queued[q][r.ID] {
				continue
			}
			if err := w.Plane.Queue(ctx, r); err == nil {
				w.Say("run " + r.ID + ": the queue had lost it; it is queued again")
			}
		}
	}
}
