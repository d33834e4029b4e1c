package jetstream

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"textskill/skill/fleet"
	"textskill/testdata/needs"
)

// TestServersLost stops servers while a worker carries out a run and a viewer follows it.
// Operations wait, and all accepted data is there once.
func TestServersLost(t *testing.T) {
	needs.Long(t, "15 s")
	t.Parallel()
	c := startCluster(t, 3)
	p, viewer := c.connect(), c.connect()
	ctx := within(t)
	r := submit(t, p, fleet.Run{ID: "long"})

	var wg sync.WaitGroup
	running, stop := context.WithCancel(ctx)
	steps := make(chan int, 100000)
	wg.Go(func() {
		defer close(steps)
		w := fleet.Workspace{Name: "long"}
		for step := 1; ; step++ {
			data := fmt.Append(nil, "step ", step)
			w.Manifest, r.Step = sumOf(data), step
			kind := fleet.Agent
			if running.Err() != nil {
				kind = fleet.Ended
			}
			if err := p.Blobs("long").Put(ctx, w.Manifest, data); err != nil {
				t.Errorf("step %d: %v", step, err)
				return
			}
			if err := p.Commit(ctx, fleet.Batch{Run: &r, Workspace: &w,
				Events: []fleet.Event{{Kind: fleet.Agent, Step: step}, {Kind: kind, Step: step}}}); err != nil {
				t.Errorf("step %d: %v", step, err)
				return
			}
			if steps <- step; kind == fleet.Ended {
				return
			}
		}
	})
	var followed []fleet.Event
	wg.Go(func() {
		for e, err := range viewer.Events(ctx, "long", 0, true) {
			if err != nil {
				t.Error(err)
				return
			}
			followed = append(followed, e)
		}
	})
	// goesOn waits until steps are committed that began after the call.
	goesOn := func() {
		t.Helper()
		for range len(steps) + 3 {
			select {
			case _, ok := <-steps:
				if !ok {
					t.Fatal("the worker has ended")
				}
			case <-ctx.Done():
				t.Fatal("the worker hangs")
			}
		}
	}
	nodes := 1
	if os.Getenv("SKILL_TEST_ALL") != "" {
		nodes = 3
	}
	for i := range nodes {
		goesOn()
		c.stop(i)
		goesOn()
		c.start(i)
	}
	goesOn()
	c.stop(0)
	c.stop(1)
	short, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	if err := viewer.Commit(short, fleet.Batch{Workspace: &fleet.Workspace{Name: "other"}}); err == nil ||
		!strings.Contains(err.Error(), "the queue cannot be reached") {
		t.Errorf("a commit with one server of three: %v", err)
	}
	c.start(0)
	c.start(1)
	goesOn()
	for i := range 3 {
		c.stop(i)
	}
	if _, err := Connect(ctx,
		Options{Servers: []string{"nats://" + fmt.Sprint("127.0.0.1:", c.options[0].Port)}}); err == nil ||
		!strings.Contains(err.Error(), "the queue cannot be reached") {
		t.Errorf("connecting to no server: %v", err)
	}
	for i := range 3 {
		c.start(i)
	}
	goesOn()
	stop()
	wg.Wait()

	got, err := viewer.Run(ctx, "long")
	must(t, err)
	if got.Step != r.Step || got.Revision != r.Revision {
		t.Errorf("the state is of step %d, revision %d; committed was %d, %d", got.Step, got.Revision,
			r.Step, r.Revision)
	}
	for _, all := range [][]fleet.Event{events(t, viewer, "long", 0), followed} {
		for i, e := range all {
			if e.Step != (i+1)/2 {
				t.Fatalf("event %d is of step %d", i, e.Step)
			}
		}
		if len(all) != 1+2*r.Step {
			t.Errorf("%d events of %d steps", len(all), r.Step)
		}
	}
	for step := 1; step <= r.Step; step++ {
		if _, err := viewer.Blobs("long").Get(ctx, sumOf(fmt.Append(nil, "step ", step))); err != nil {
			t.Fatal(err)
		}
	}
}

// TestJobAfterServersLost delivers a job to a worker after the loss of one, two and all servers.
func TestJobAfterServersLost(t *testing.T) {
	if !needs.All() {
		t.Skip("it takes 10 s: set SKILL_TEST_ALL")
	}
	t.Parallel()
	c := startCluster(t, 3)
	p, worker := c.connect(), c.connect()
	ctx := within(t)
	r := submit(t, p, fleet.Run{ID: "a"})
	jobs, err := worker.Jobs(ctx, fleet.Worker{Name: "w"})
	must(t, err)
	defer jobs.Close()
	must(t, p.Queue(ctx, r))
	for n := 1; n <= 3; n++ {
		for i := range n {
			c.stop(i)
		}
		for i := range n {
			c.start(i)
		}
	}
	job, err := jobs.Next(ctx)
	must(t, err)
	must(t, job.Done(ctx))
}

// TestAnswerAfterTheTime reads an answer after the deadline that came before it, as after a
// suspension of the machine.
func TestAnswerAfterTheTime(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(within(t))
	cancel()
	answers := make(chan answer, 1)
	for range 100 { // select chooses a ready case at random
		answers <- answer{err: errLost}
		if a, ok := receive(ctx, answers, 0); !ok || a.err != errLost {
			t.Fatal(a, ok)
		}
	}
	if a, ok := receive(ctx, answers, askEvery); ok {
		t.Error(a)
	}
}

func TestCallAfterItsTimeIsNotSent(t *testing.T) {
	t.Parallel()
	p := startCluster(t, 1).connect()
	stop, err := p.Serve("x", func(context.Context, []byte) []byte { return nil })
	must(t, err)
	defer stop()
	ctx, cancel := context.WithCancel(within(t))
	cancel()
	if _, err := p.Call(ctx, "x", nil); err != context.Canceled {
		t.Errorf("the call is made: %v", err)
	}
}
