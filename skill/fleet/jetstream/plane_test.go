package jetstream

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"textskill/skill/fleet"
)

// TestPlane checks the rules of a plane, on one server and on three.
func TestPlane(t *testing.T) {
	for _, n := range []int{1, 3} {
		t.Run(fmt.Sprint(n), func(t *testing.T) { holdsTheLaws(t, n) })
	}
}

func holdsTheLaws(t *testing.T, n int) {
	t.Parallel()
	c := startCluster(t, n)
	p, other := c.connect(), c.connect()
	for _, test := range []struct {
		name string
		law  func(t *testing.T, p, other *Plane)
	}{
		{"commit", commitsWhole},
		{"fence", refusesTheSecondWriter},
		{"race", letsOneOfManyWin},
		{"events", replaysAndFollows},
		{"cancel", keepsACancel},
		{"names", keepsNamesApart},
		{"runs", listsRuns},
		{"quota", refusesOverQuota},
		{"urgent", givesUrgentJobsFirst},
		{"again", givesAJobAgain},
		{"anew", recreatesAQueue},
		{"passed", findsALostJob},
		{"places", keepsToPlaces},
		{"limit", keepsToTheQuotaOfATenant},
		{"classes", keepsToItOverClasses},
		{"blobs", keepsBlobs},
		{"calls", answersCalls},
		{"gone", noticesWhoIsGone},
		{"topics", tellsListeners},
	} {
		t.Run(test.name, func(t *testing.T) { test.law(t, p, other) })
	}
}

func commitsWhole(t *testing.T, p, other *Plane) {
	ctx := within(t)
	if _, err := p.Run(ctx, "commit"); !errors.Is(err, fleet.ErrNoRun) {
		t.Errorf("an unknown run: %v", err)
	}
	w, err := p.Workspace(ctx, "commit")
	if err != nil || w != (fleet.Workspace{Name: "commit"}) {
		t.Errorf("an unknown workspace: %+v, %v", w, err)
	}
	r := submit(t, p, fleet.Run{ID: "commit", Workspace: "commit"})
	for step := range 20 {
		r.Step, w.Manifest = step, fmt.Sprint(step)
		must(t, p.Commit(ctx, fleet.Batch{Run: &r, Workspace: &w,
			Events: []fleet.Event{{Kind: fleet.Agent, Step: step}, {Kind: fleet.Agent, Step: step}}}))
		got, err := other.Run(ctx, "commit")
		must(t, err)
		if got.Step != step || got.Revision != r.Revision {
			t.Fatalf("after step %d another reads step %d, revision %d and not %d", step, got.Step,
				got.Revision, r.Revision)
		}
		files, err := other.Workspace(ctx, "commit")
		must(t, err)
		if files != w {
			t.Fatalf("another reads %+v\nand not %+v", files, w)
		}
	}
	for _, b := range []fleet.Batch{
		{},
		{Events: []fleet.Event{{}}},
		{Run: &r, Events: make([]fleet.Event, 1000)},
		{Run: &r, Events: []fleet.Event{{Text: strings.Repeat("x", fleet.MaxMessage)}}},
		{Run: &fleet.Run{}},
	} {
		if err := p.Commit(ctx, b); err == nil || errors.Is(err, fleet.ErrTaken) {
			t.Errorf("a batch that cannot be stored: %v", err)
		}
	}
}

func refusesTheSecondWriter(t *testing.T, p, other *Plane) {
	ctx := within(t)
	first := submit(t, p, fleet.Run{ID: "fence"})
	second, err := other.Run(ctx, "fence")
	must(t, err)
	first.Worker = "w1"
	must(t, p.Commit(ctx, fleet.Batch{Run: &first, Events: []fleet.Event{{Text: "first"}}}))
	stale, w := second.Revision, fleet.Workspace{Name: "fence"}
	second.Worker = "w2"
	err = other.Commit(ctx, fleet.Batch{Run: &second, Workspace: &w,
		Events: []fleet.Event{{Text: "second"}, {Text: "second"}}})
	if !errors.Is(err, fleet.ErrTaken) {
		t.Errorf("the second writer: %v", err)
	}
	if second.Revision != stale || w.Revision != 0 {
		t.Error("a refused commit has set a revision")
	}
	if err := other.Commit(ctx, fleet.Batch{Run: &second}); !errors.Is(err, fleet.ErrTaken) {
		t.Errorf("the second writer, without events: %v", err)
	}
	if err := other.Commit(ctx, fleet.Batch{Run: &fleet.Run{ID: "fence"}}); !errors.Is(err, fleet.ErrTaken) {
		t.Errorf("a second submission: %v", err)
	}
	var texts []string
	for _, e := range events(t, p, "fence", 0) {
		texts = append(texts, e.Text)
	}
	if !slices.Equal(texts, []string{"", "first"}) {
		t.Errorf("events %q", texts)
	}
	if w, err := p.Workspace(ctx, "fence"); err != nil || w.Revision != 0 {
		t.Errorf("a refused commit has stored a workspace: %+v, %v", w, err)
	}
}

func letsOneOfManyWin(t *testing.T, p, other *Plane) {
	ctx := within(t)
	start := submit(t, p, fleet.Run{ID: "race"})
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		wins []string
	)
	for i := range 8 {
		wg.Go(func() {
			r := start
			r.Worker = fmt.Sprint("w", i)
			err := []*Plane{p, other}[i%2].Commit(ctx,
				fleet.Batch{Run: &r, Events: []fleet.Event{{Kind: fleet.Claimed, Worker: r.Worker}}})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				wins = append(wins, r.Worker)
			} else if !errors.Is(err, fleet.ErrTaken) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	r, err := p.Run(ctx, "race")
	must(t, err)
	all := events(t, p, "race", 0)
	if len(wins) != 1 || r.Worker != wins[0] || len(all) != 2 || all[1].Worker != wins[0] {
		t.Errorf("winners %q, worker %s, events %+v", wins, r.Worker, all)
	}
}

// events returns the stored events of a run.
func events(t testing.TB, p *Plane, run string, after uint64) (all []fleet.Event) {
	t.Helper()
	for e, err := range p.Events(within(t), run, after, false) {
		must(t, err)
		all = append(all, e)
	}
	return all
}

func replaysAndFollows(t *testing.T, p, other *Plane) {
	ctx := within(t)
	for _, err := range p.Events(ctx, "none", 0, true) {
		if !errors.Is(err, fleet.ErrNoRun) {
			t.Errorf("events of an unknown run: %v", err)
		}
	}
	r := submit(t, p, fleet.Run{ID: "events"})
	const steps = 60
	var commits sync.WaitGroup
	commits.Go(func() {
		for step := 1; step <= steps; step++ {
			r.Step = step
			kind := fleet.Agent
			if step == steps {
				kind = fleet.Ended
			}
			if err := p.Commit(ctx, fleet.Batch{Run: &r,
				Events: []fleet.Event{{Kind: fleet.Agent, Step: step}, {Kind: kind, Step: step}}}); err != nil {
				t.Error(err)
			}
		}
	})
	var followed []fleet.Event
	for e, err := range other.Events(ctx, "events", 0, true) {
		must(t, err)
		followed = append(followed, e)
	}
	for i, e := range followed {
		if e.Step != (i+1)/2 || i > 0 && e.Sequence <= followed[i-1].Sequence {
			t.Fatalf("event %d is of step %d, sequence %d", i, e.Step, e.Sequence)
		}
	}
	if len(followed) != 1+2*steps {
		t.Errorf("%d events followed", len(followed))
	}
	commits.Wait() // a replica may show an event before the leader does
	if all := events(t, p, "events", 0); len(all) != len(followed) {
		t.Errorf("%d events replayed", len(all))
	}
	middle := followed[50].Sequence
	if rest := events(t, other, "events", middle); len(rest) != len(followed)-51 ||
		rest[0].Sequence != followed[51].Sequence {
		t.Errorf("%d events after %d", len(rest), middle)
	}
	for range other.Events(ctx, "events", followed[len(followed)-1].Sequence, true) {
		t.Error("an event after the end")
	}
	stopping, stop := context.WithCancel(ctx)
	defer stop()
	submit(t, p, fleet.Run{ID: "stopped"})
	for _, err := range p.Events(stopping, "stopped", 0, true) {
		if stop(); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
}

func keepsACancel(t *testing.T, p, other *Plane) {
	ctx := within(t)
	if err := p.Cancel(ctx, "unknown"); !errors.Is(err, fleet.ErrNoRun) {
		t.Errorf("a cancel of an unknown run: %v", err)
	}
	r := submit(t, p, fleet.Run{ID: "cancel"})
	heard := make(chan bool, 10)
	stop, err := other.Listen(fleet.Cancels+"cancel", func([]byte) { heard <- true })
	must(t, err)
	defer stop()
	eventually(t, "a cancel is heard", func() bool {
		must(t, p.Cancel(ctx, "cancel"))
		select {
		case <-heard:
			return true
		case <-time.After(50 * time.Millisecond):
			return false
		}
	})
	r.Worker = "w"
	must(t, p.Commit(ctx, fleet.Batch{Run: &r})) // the owner can commit after a cancel
	got, err := other.Run(ctx, "cancel")
	must(t, err)
	if !got.Cancelled {
		t.Error("a worker that claims the run later does not see the cancel")
	}
}

// eventually waits until a condition holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it never happens that " + what)
		}
	}
}

// oddNames are names that users may type.
var oddNames = []string{"a.b", "a", "b", "*", ">", "a.*", "a b", "ä", "日本語", "=2E", "a=2Eb", "%", "a\nb",
	"x\x00y", "state", ".", "..", "A", "$JS", strings.Repeat("ü", 100)}

func keepsNamesApart(t *testing.T, p, other *Plane) {
	ctx := within(t)
	for _, name := range oddNames {
		r := submit(t, p, fleet.Run{ID: "odd" + name, Tenant: name, Query: name})
		must(t, p.Commit(ctx, fleet.Batch{Workspace: &fleet.Workspace{Name: name, Manifest: name}}))
		must(t, p.Queue(ctx, r))
	}
	for _, name := range oddNames {
		r, err := other.Run(ctx, "odd"+name)
		must(t, err)
		w, err := other.Workspace(ctx, name)
		must(t, err)
		if r.Query != name || w.Manifest != name || len(events(t, other, "odd"+name, 0)) != 1 {
			t.Errorf("%q is mistaken for another: %q, %q", name, r.Query, w.Manifest)
		}
		if runs, err := other.Runs(ctx, name); err != nil || len(runs) != 1 {
			t.Errorf("tenant %q has %d runs, %v", name, len(runs), err)
		}
		drain(t, p, r)
	}
	for _, name := range []string{"", strings.Repeat("x", maxName+1)} {
		if _, err := p.Run(ctx, name); err == nil || errors.Is(err, fleet.ErrNoRun) {
			t.Errorf("a name of %d bytes: %v", len(name), err)
		}
	}
}

// drain takes one job and checks its run.
func drain(t testing.TB, p *Plane, want ...fleet.Run) {
	t.Helper()
	ctx := within(t)
	jobs, err := p.Jobs(ctx, fleet.Worker{Name: "w", Labels: []string{"gpu"}})
	must(t, err)
	defer jobs.Close()
	for range want {
		job, err := jobs.Next(ctx)
		must(t, err)
		must(t, job.Done(ctx))
	}
}

func listsRuns(t *testing.T, p, other *Plane) {
	ctx := within(t)
	for i := range 30 {
		submit(t, p, fleet.Run{ID: fmt.Sprint("list", i), Tenant: fmt.Sprint("lister", i%2)})
	}
	must(t, p.Cancel(ctx, "list4"))
	runs, err := other.Runs(ctx, "lister0")
	must(t, err)
	for _, r := range runs {
		if r.Tenant != "lister0" || r.Revision == 0 || r.Cancelled != (r.ID == "list4") {
			t.Errorf("listed %+v", r)
		}
	}
	all, err := other.Runs(ctx, "")
	must(t, err)
	if len(runs) != 15 || len(all) < 30 {
		t.Errorf("%d runs of the tenant, %d in all", len(runs), len(all))
	}
}

func refusesOverQuota(t *testing.T, p, other *Plane) {
	ctx := within(t)
	r := fleet.Run{ID: "quota", Tenant: "greedy"}
	for range waiting {
		must(t, p.Queue(ctx, r))
	}
	if err := other.Queue(ctx, r); !errors.Is(err, fleet.ErrQuota) ||
		err.Error() != fleet.OverQuota("greedy", waiting).Error() {
		t.Errorf("one job more than the quota: %v", err)
	}
	r.Urgent = true
	must(t, p.Queue(ctx, r)) // in another class
	for range waiting + 1 {
		drain(t, p, r)
	}
}

func givesUrgentJobsFirst(t *testing.T, p, other *Plane) {
	ctx := within(t)
	jobs, err := other.Jobs(ctx, fleet.Worker{Name: "w"})
	must(t, err)
	defer jobs.Close()
	for i := range 3 {
		must(t, p.Queue(ctx, fleet.Run{ID: fmt.Sprint("normal", i), Tenant: "u"}))
	}
	for i := range 3 {
		must(t, p.Queue(ctx, fleet.Run{ID: fmt.Sprint("urgent", i), Tenant: "v", Urgent: true}))
	}
	var order []string
	for range 6 {
		job, err := jobs.Next(ctx)
		must(t, err)
		order = append(order, job.Run())
		must(t, job.Done(ctx))
	}
	if want := []string{"urgent0", "urgent1", "urgent2", "normal0", "normal1", "normal2"}; !slices.Equal(order, want) {
		t.Errorf("jobs come as %q", order)
	}
}

// connectHasty connects a plane with a short patience.
func connectHasty(t *testing.T, p *Plane) *Plane {
	hasty, err := Connect(within(t),
		Options{Servers: []string{p.nc.ConnectedUrl()}, Patience: 500 * time.Millisecond})
	must(t, err)
	t.Cleanup(hasty.Close)
	return hasty
}

func givesAJobAgain(t *testing.T, p, other *Plane) {
	ctx := within(t)
	r := fleet.Run{ID: "again", Tenant: "again"}
	hasty := connectHasty(t, p)
	must(t, hasty.Queue(ctx, r))
	lost, err := hasty.Jobs(ctx, fleet.Worker{Name: "lost"})
	must(t, err)
	defer lost.Close()
	job, err := lost.Next(ctx)
	must(t, err)
	if job.Run() != "again" {
		t.Errorf("job %s", job.Run())
	}
	for range 6 { // longer than the patience; no other worker gets the job
		time.Sleep(hasty.patience / 4)
		must(t, job.Working())
	}
	jobs, err := other.Jobs(ctx, fleet.Worker{Name: "w"})
	must(t, err)
	defer jobs.Close()
	job, err = jobs.Next(ctx)
	must(t, err)
	if job.Run() != "again" {
		t.Errorf("job %s after its worker was silent", job.Run())
	}
	must(t, job.Later(ctx, 10*time.Millisecond))
	job, err = jobs.Next(ctx)
	must(t, err)
	if job.Run() != "again" {
		t.Errorf("job %s after it was given back", job.Run())
	}
	if queued, err := p.Queued(ctx, r); err != nil || !queued[r.ID] {
		t.Errorf("a job with a worker is not queued: %v", err)
	}
	must(t, job.Done(ctx))
	eventually(t, "a job that is done is not queued", func() bool {
		queued, err := p.Queued(ctx, r)
		return err == nil && !queued[r.ID]
	})
	must(t, p.Queue(ctx, r))
	must(t, other.Unqueue(ctx, r))
	must(t, other.Unqueue(ctx, r))
	if queued, err := p.Queued(ctx, r); err != nil || queued[r.ID] {
		t.Errorf("a job that was removed is queued: %v", err)
	}
	ended, end := context.WithTimeout(ctx, 10*time.Millisecond)
	defer end()
	if _, err := jobs.Next(ended); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a worker that stops to wait: %v", err)
	}
}

// recreatesAQueue removes a consumer after it has delivered a job. The new consumer delivers both
// jobs, and the first job can still be ended.
func recreatesAQueue(t *testing.T, p, other *Plane) {
	ctx := within(t)
	a, b := submit(t, p, fleet.Run{ID: "anew-a", Tenant: "anew"}),
		submit(t, p, fleet.Run{ID: "anew-b", Tenant: "anew"})
	must(t, p.Queue(ctx, a))
	jobs, err := p.Jobs(ctx, fleet.Worker{Name: "anew"})
	must(t, err)
	defer jobs.Close()
	first, err := jobs.Next(ctx)
	must(t, err)
	subj, err := jobSubject(a)
	must(t, err)
	for range maxSilent {
		p.noteSilence(ctx, subj, true)
	}
	must(t, p.Queue(ctx, b))
	again := map[string]bool{}
	for len(again) < 2 {
		job, err := jobs.Next(ctx)
		must(t, err)
		again[job.Run()] = true
		must(t, job.Done(ctx))
	}
	if !again[a.ID] || !again[b.ID] {
		t.Errorf("the jobs are %v", again)
	}
	first.(*job).plane = connectHasty(t, p)
	_ = first.Done(ctx) // must return
}

// findsALostJob makes a consumer lose a job: the queue has the job, but the job neither
// waits nor is with a worker.
func findsALostJob(t *testing.T, p, other *Plane) {
	ctx := within(t)
	r := submit(t, p, fleet.Run{ID: "passed", Tenant: "passed"})
	subj, err := jobSubject(r)
	must(t, err)
	c, err := p.jobs.CreateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: consumerOf(subj), FilterSubject: subj, AckPolicy: jetstream.AckExplicitPolicy,
		AckWait: 100 * time.Millisecond, MaxDeliver: 1,
	})
	must(t, err)
	must(t, p.Queue(ctx, r))
	lost, err := c.Next()
	must(t, err)
	for !other.hasLostJobs(ctx, subj) {
		time.Sleep(50 * time.Millisecond)
	}
	for range 2*lookAfter - 1 {
		other.noteEmpty(ctx, subj, true)
	}
	jobs, err := other.Jobs(ctx, fleet.Worker{Name: "passed"})
	must(t, err)
	defer jobs.Close()
	job, err := jobs.Next(ctx)
	must(t, err)
	if job.Run() != r.ID || string(lost.Data()) != r.ID {
		t.Errorf("the jobs are %s and %s", lost.Data(), job.Run())
	}
	must(t, job.Done(ctx))
}

func keepsToPlaces(t *testing.T, p, other *Plane) {
	ctx := within(t)
	must(t, p.Queue(ctx, fleet.Run{ID: "pinned", Tenant: "place", Pin: "me"}))
	must(t, p.Queue(ctx, fleet.Run{ID: "labelled", Tenant: "place", Label: "big.gpu"}))
	must(t, p.Queue(ctx, fleet.Run{ID: "any", Tenant: "place"}))
	for _, worker := range []struct {
		fleet.Worker
		want string
	}{
		{fleet.Worker{Name: "any", Labels: []string{"gpu", "me"}}, "any"},
		{fleet.Worker{Name: "gpu", Labels: []string{"big.gpu"}}, "labelled"},
		{fleet.Worker{Name: "me"}, "pinned"},
	} {
		jobs, err := other.Jobs(ctx, worker.Worker)
		must(t, err)
		job, err := jobs.Next(ctx)
		must(t, err)
		if job.Run() != worker.want {
			t.Errorf("worker %s gets the job %s", worker.Name, job.Run())
		}
		must(t, job.Done(ctx))
		jobs.Close()
	}
}

func keepsToTheQuotaOfATenant(t *testing.T, p, other *Plane) {
	ctx := within(t)
	for i := range 3 {
		must(t, p.Queue(ctx, fleet.Run{ID: fmt.Sprint("limit", i), Tenant: "limited.one"}))
	}
	jobs, err := other.Jobs(ctx, fleet.Worker{Name: "w", Quotas: map[string]int{"limited.one": 2}})
	must(t, err)
	defer jobs.Close()
	first, err := jobs.Next(ctx)
	must(t, err)
	second, err := jobs.Next(ctx)
	must(t, err)
	soon, cancel := context.WithTimeout(ctx, 250*time.Millisecond)
	defer cancel()
	if job, err := jobs.Next(soon); err == nil && job.Run() == "limit2" {
		t.Error("a third job of a tenant with a quota of two")
	}
	must(t, first.Done(ctx))
	must(t, second.Done(ctx))
	third, err := jobs.Next(ctx)
	must(t, err)
	must(t, third.Done(ctx))
}

func keepsToItOverClasses(t *testing.T, p, other *Plane) {
	ctx := within(t)
	must(t, p.Queue(ctx, fleet.Run{ID: "urgent", Tenant: "classes", Urgent: true}))
	must(t, p.Queue(ctx, fleet.Run{ID: "normal", Tenant: "classes"}))
	jobs, err := other.Jobs(ctx, fleet.Worker{Name: "w", Quotas: map[string]int{"classes": 1}})
	must(t, err)
	defer jobs.Close()
	first, err := jobs.Next(ctx)
	must(t, err)
	soon, cancel := context.WithTimeout(ctx, 250*time.Millisecond)
	defer cancel()
	if job, err := jobs.Next(soon); err == nil && job.Run() == "normal" {
		t.Error("a second job of a tenant with a quota of one")
	}
	must(t, first.Done(ctx))
	second, err := jobs.Next(ctx)
	must(t, err)
	must(t, second.Done(ctx))
}

func keepsBlobs(t *testing.T, p, other *Plane) {
	ctx := within(t)
	data := bytes.Repeat([]byte{0, 1, 2, 255}, fleet.MaxMessage/4)
	sum := sumOf(data)
	mine, theirs := p.Blobs("a.b c"), other.Blobs("a.b c")
	if _, err := mine.Get(ctx, sum); !errors.Is(err, fleet.ErrNoBlob) {
		t.Errorf("an unknown blob: %v", err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if err := mine.Put(ctx, sum, data); err != nil {
				t.Error(err)
			}
			if got, err := theirs.Get(ctx, sum); err != nil || !bytes.Equal(got, data) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
		})
	}
	wg.Wait()
	if _, err := other.Blobs("a").Get(ctx, sum); !errors.Is(err, fleet.ErrNoBlob) {
		t.Errorf("a blob of another workspace: %v", err)
	}
	small := []byte("small")
	must(t, mine.Put(ctx, sumOf(small), small))
	must(t, theirs.Purge(ctx, map[string]bool{sumOf(small): true}))
	eventually(t, "a purged blob is gone from all replicas", func() bool {
		_, err := mine.Get(ctx, sum)
		return errors.Is(err, fleet.ErrNoBlob)
	})
	if got, err := mine.Get(ctx, sumOf(small)); err != nil || string(got) != "small" {
		t.Errorf("a kept blob: %q, %v", got, err)
	}
	must(t, mine.Put(ctx, sum, data))
	must(t, mine.Purge(ctx, nil))
	if err := mine.Put(ctx, sum, append(data, 1)); err == nil {
		t.Error("a blob over the limit")
	}
	if err := mine.Put(ctx, "../x", small); err == nil {
		t.Error("a sum that is not one")
	}
	wrong := sumOf([]byte("other bytes"))
	must(t, mine.Put(ctx, wrong, small))
	if _, err := mine.Get(ctx, wrong); err == nil || errors.Is(err, fleet.ErrNoBlob) {
		t.Errorf("a damaged blob: %v", err)
	}
}

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func answersCalls(t *testing.T, p, other *Plane) {
	ctx := within(t)
	const name = fleet.WorkspaceName + "my files.*"
	if _, err := p.Call(ctx, name, nil); !errors.Is(err, fleet.ErrNobody) {
		t.Errorf("a call that nobody serves: %v", err)
	}
	released, hold := make(chan bool, 1000), make(chan bool)
	defer close(hold)
	stop, err := other.Serve(name, func(ctx context.Context, request []byte) []byte {
		switch string(request) {
		case "big":
			return make([]byte, fleet.MaxMessage+1)
		case "slow":
			<-ctx.Done()
			released <- true
			<-hold
		}
		return append([]byte("re: "), request...)
	})
	must(t, err)
	eventually(t, "the call is served", func() bool {
		_, err := p.Call(ctx, name, nil)
		return err == nil
	})
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			got, err := p.Call(ctx, name, fmt.Append(nil, i))
			if err != nil || string(got) != fmt.Sprint("re: ", i) {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	wg.Wait()
	if _, err := p.Call(ctx, name, []byte("big")); err == nil || !strings.Contains(err.Error(), "bytes") {
		t.Errorf("an answer over the limit: %v", err)
	}
	if _, err := p.Call(ctx, name, make([]byte, fleet.MaxMessage+1)); err == nil {
		t.Error("a request over the limit")
	}
	full := make([]byte, fleet.MaxMessage-4)
	if got, err := p.Call(ctx, name, full); err != nil || len(got) != fleet.MaxMessage {
		t.Errorf("the largest answer: %d bytes, %v", len(got), err)
	}
	// the call may not reach the server in time
	eventually(t, "the server learns the deadline of a call", func() bool {
		short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		if _, err := p.Call(short, name, []byte("slow")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a call that takes too long: %v", err)
		}
		select {
		case <-released:
			return true
		case <-time.After(50 * time.Millisecond):
			return false
		}
	})
	stop()
	eventually(t, "the call is not served any more", func() bool {
		_, err := p.Call(ctx, name, nil)
		return errors.Is(err, fleet.ErrNobody)
	})
}

func noticesWhoIsGone(t *testing.T, p, other *Plane) {
	ctx := within(t)
	lost, err := Connect(ctx, Options{Servers: []string{other.nc.ConnectedUrl()}})
	must(t, err)
	defer lost.Close()
	slow := make(chan bool)
	_, err = lost.Serve("lost", func(ctx context.Context, request []byte) []byte {
		if string(request) == "slow" {
			time.Sleep(askEvery + askEvery/2)
			slow <- true
			<-ctx.Done() // never: the process has ended
		}
		return request
	})
	must(t, err)
	eventually(t, "the call is served", func() bool {
		_, err := p.Call(ctx, "lost", nil)
		return err == nil
	})
	go func() {
		<-slow
		lost.Close()
	}()
	if _, err := p.Call(ctx, "lost", []byte("slow")); !errors.Is(err, errLost) {
		t.Errorf("a call to a worker that is lost: %v", err)
	}
}

func tellsListeners(t *testing.T, p, other *Plane) {
	heard := make(chan string, 1000)
	stop, err := other.Listen(fleet.Live+"a.b", func(data []byte) { heard <- string(data) })
	must(t, err)
	eventually(t, "a message is heard", func() bool {
		must(t, p.Tell(fleet.Live+"a.b", []byte("first")))
		select {
		case <-heard:
			return true
		case <-time.After(20 * time.Millisecond):
			return false
		}
	})
	must(t, p.Tell(fleet.Live+"a", []byte("other topic")))
	for i := range 100 {
		must(t, p.Tell(fleet.Live+"a.b", fmt.Append(nil, i)))
	}
	for i := 0; i < 100; {
		if got := <-heard; got == fmt.Sprint(i) {
			i++
		} else if got != "first" {
			t.Fatalf("message %d is %q", i, got)
		}
	}
	stop()
}

// TestQuotaIsRaised connects machines with different quotas.
func TestQuotaIsRaised(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 1)
	for _, tt := range []struct{ waiting, want int }{{0, waiting}, {60, 60}, {55, 60}, {0, 60}} {
		if p := c.connectWith(Options{Servers: []string{c.servers[0].URL()}, Waiting: tt.waiting}); p.quota != tt.want {
			t.Errorf("with %d the quota is %d, want %d", tt.waiting, p.quota, tt.want)
		}
	}
}
