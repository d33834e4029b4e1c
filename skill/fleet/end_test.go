package fleet

import (
	"context"
	"errors"
	"io/fs"
	"testing"
	"time"

	"textskill/skill"
)

// TestCommitDuringCancel stores the changes of a call at the moment of its cancellation.
func TestCommitDuringCancel(t *testing.T) {
	for range 100 { // select chooses a ready case at random
		ctx, cancel := context.WithCancel(t.Context())
		var c callers
		c.wake = func() {
			c.waiting[0] <- nil
			cancel()
		}
		if err := c.commit(ctx, skill.Snapshot{}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestUnreadableProject tells a workspace that cannot be read from one without a project.
func TestUnreadableProject(t *testing.T) {
	x, err := skill.New(skill.Config{Dir: t.TempDir(), State: t.TempDir(), Unfenced: true})
	if err != nil {
		t.Fatal(err)
	}
	h := &ownedRun{x: x}
	const missing = "the workspace has no perstack.toml"
	if _, err := h.project(t.Context()); err == nil || err.Error() != missing {
		t.Errorf("without a project: %v", err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := h.project(t.Context()); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("of a closed workspace: %v", err)
	}
}

// lastJobs returns one job, at the moment the worker ends.
type lastJobs struct {
	end   func()
	later []time.Duration
}

func (j *lastJobs) Next(ctx context.Context) (Job, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	j.end()
	return lastJob{jobs: j}, nil
}

func (j *lastJobs) Close() {}

type lastJob struct {
	Job
	jobs *lastJobs
}

func (lastJob) Run() string { return "r" }

func (j lastJob) Later(_ context.Context, d time.Duration) error {
	j.jobs.later = append(j.jobs.later, d)
	return nil
}

// waitingRuns is a plane in which all runs wait.
type waitingRuns struct{ Plane }

func (waitingRuns) Run(ctx context.Context, id string) (Run, error) {
	return Run{ID: id, Status: Waiting}, ctx.Err()
}

func TestJobAtTheEndOfAWorker(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	jobs := &lastJobs{end: cancel}
	w := &worker{WorkerConfig: WorkerConfig{Plane: waitingRuns{}, Worker: Worker{Slots: 1},
		Patience: time.Minute}}
	w.takeAll(ctx, jobs)
	if len(jobs.later) != 1 || jobs.later[0] != 0 {
		t.Errorf("given back for %v", jobs.later)
	}
}
