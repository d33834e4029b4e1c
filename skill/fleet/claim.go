package fleet

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// maxLost is how many workers a run may lose in a row in the same step.
const maxLost = 10

// How long a job waits until a worker gets it again.
const (
	busyWorkspace = 5 * time.Second // another run holds its workspace
	unreachable   = 3 * time.Second // the plane did not answer
)

// take carries out the run of a job, if the run needs a worker.
func (w *worker) take(ctx context.Context, job Job) {
	endCtx := context.WithoutCancel(ctx) // answers the job after the worker was told to stop
	done := func() { job.Done(endCtx) }
	later := func(d time.Duration) { job.Later(endCtx, d) }
	r, err := w.Plane.Run(ctx, job.Run())
	switch {
	case errors.Is(err, ErrNoRun):
		done()
		return
	case ctx.Err() != nil:
		later(0)
		return
	case err != nil:
		later(unreachable)
		return
	case r.Status.Over():
		done()
		return
	case r.Pin != "" && r.Pin != w.Name:
		later(busyWorkspace)
		return
	case w.isHeld(ctx, r) || !w.hold(r.ID):
		later(w.Patience)
		return
	}
	stop := w.beat(job)
	defer stop()
	h, err := w.claim(endCtx, r)
	if h != nil {
		err = h.carryOut(ctx)
	}
	w.release(r.ID)
	switch {
	case err == nil:
		done()
	case err == errGivenBack:
		later(0)
	case err == errBusy:
		later(busyWorkspace)
	case errors.Is(err, ErrTaken):
		later(w.Patience)
	default:
		w.Say(fmt.Sprintf("run %s: %v", r.ID, err))
		later(unreachable)
	}
}

// beat keeps a job for this worker until stop is called.
func (w *worker) beat(job Job) (stop func()) {
	t := time.NewTicker(w.Patience / 3)
	end := make(chan struct{})
	go func() {
		for {
			select {
			case <-t.C:
				job.Working()
			case <-end:
				t.Stop()
				return
			}
		}
	}()
	return func() { close(end) }
}

var errBusy = errors.New("another run holds the workspace")

// claim makes this worker the owner of a run. It returns nil if the run cannot go on and claim
// has ended it.
func (w *worker) claim(ctx context.Context, r Run) (*ownedRun, error) {
	ws, err := w.Plane.Workspace(ctx, r.Workspace)
	if err != nil {
		return nil, err
	}
	if ws.Run != r.ID {
		busy, err := isHeld(ctx, w.Plane, ws)
		if err != nil {
			return nil, err
		}
		if busy {
			return nil, errBusy
		}
	}
	before, lost := r, r.Status == Running
	if lost {
		r.Lost++
	}
	r.Epoch++
	r.Worker, r.Status, r.Reason, r.Manifest = w.Name, Running, "", ws.Manifest
	h := &ownedRun{worker: w, run: r, ws: ws, dir: filepath.Join(w.dir, fmt.Sprintf("%s-%d", r.ID, r.Epoch))}
	h.ws.Run = r.ID
	switch {
	case ws.Revision == 0:
		return nil, h.end(ctx, Failed, fmt.Sprintf("its workspace %s does not exist", r.Workspace))
	case r.Cancelled:
		return nil, h.end(ctx, Cancelled, "")
	case r.Lost >= maxLost && !lost:
		return nil, h.end(ctx, Failed, before.Reason)
	case r.Lost >= maxLost:
		return nil, h.end(ctx, Failed,
			fmt.Sprintf("killed %d workers in step %d; its files are from step %d", r.Lost,
				r.Step+1, r.Step))
	}
	text := fmt.Sprintf("worker %s begins", w.Name)
	switch {
	case lost:
		text = fmt.Sprintf("worker %s lost, continued on %s from step %d", before.Worker, w.Name, r.Step)
	case r.Step > 0:
		text = fmt.Sprintf("continued on %s from step %d", w.Name, r.Step)
	}
	if err := h.commit(ctx, h.event(Event{Kind: Claimed, Text: text})); err != nil {
		return nil, err
	}
	w.Say(fmt.Sprintf("run %s: %s", r.ID, text))
	return h, nil
}
