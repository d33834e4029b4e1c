package fleet_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"textskill/skill/agent"
	"textskill/skill/fleet"
	"textskill/skill/fleet/jetstream"
)

// patience is the patience of most tests. A living worker is never silent for so long.
const patience = 3 * time.Second

// newWorker returns the configuration of a worker in this process.
func newWorker(t *testing.T, p fleet.Plane, name string, steps int) fleet.WorkerConfig {
	t.Helper()
	out := t.Output()
	return role{Name: name, Root: t.TempDir(), Slots: 4, Steps: steps, Patience: patience}.config(p,
		func(line string) { fmt.Fprintln(out, name+": "+line) })
}

// TestRun has one worker carry out one run.
func TestRun(t *testing.T) {
	t.Parallel()
	p := connect(t, patience, newServer(t))
	cfg := newWorker(t, p, "w1", 5)
	own := filepath.Join(cfg.Root, "w1", "own") // a user's file in a folder with the worker's name
	if err := os.MkdirAll(own, 0o777); err != nil {
		t.Fatal(err)
	}
	work(t, cfg)
	r := submit(t, p, "one", newFolder(t))
	if again := submit(t, p, "one", newFolder(t)); !again.Submitted.Equal(r.Submitted) {
		t.Errorf("the ID was submitted twice: %+v", again)
	}
	checkRun(t, p, "one", 5)
	if r, err := p.Run(t.Context(), "one"); err != nil || r.Status != fleet.Completed || r.Step != 6 ||
		r.Worker != "w1" || r.Epoch != 1 {
		t.Errorf("%+v %v", r, err)
	}
	if ws, err := p.Workspace(t.Context(), "one"); err != nil || ws.Run != "" {
		t.Errorf("the workspace after the run: %+v %v", ws, err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		left, err := os.ReadDir(filepath.Join(cfg.Root, "skill-fleet-w1"))
		if err == nil && len(left) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the worker keeps %v (%v)", left, err)
		}
	}
	if _, err := os.Stat(own); err != nil {
		t.Error(err)
	}
}

// TestOneWorkerPerName starts two workers with each of twenty names at once. One of the two gets the name.
func TestOneWorkerPerName(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	planes := []fleet.Plane{connect(t, patience, server), connect(t, patience, server)}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var refused, all sync.WaitGroup
	for i := range 20 {
		ended := make(chan error, len(planes))
		for _, p := range planes {
			cfg := newWorker(t, p, fmt.Sprint("w", i), 1)
			cfg.Patience = time.Minute // the machine may be busy
			go func() { ended <- fleet.Work(ctx, cfg) }()
		}
		refused.Add(1)
		all.Go(func() {
			err := <-ended
			refused.Done()
			if want := fmt.Sprintf("a worker named w%d runs already; give this one another name with --name",
				i); err == nil || err.Error() != want {
				t.Errorf("the second worker ends with %v, want %s", err, want)
			}
			if err := <-ended; err != nil {
				t.Errorf("no worker has the name w%d: %v", i, err)
			}
		})
	}
	refused.Wait()
	cancel()
	all.Wait()
}

// A modelFunc is a function that serves as a model.
type modelFunc func(ctx context.Context, r agent.Request) (agent.Answer, error)

func (f modelFunc) Next(ctx context.Context, r agent.Request) (agent.Answer, error) { return f(ctx, r) }

// use sets the model of a worker.
func use(cfg *fleet.WorkerConfig, m agent.Model) {
	cfg.Model = func(c *agent.Config, _ agent.Project) error {
		c.Model = m
		return nil
	}
}

// TestPinned ends the worker of a pinned run in the middle of the run. A new worker with the same
// name continues the run.
func TestPinned(t *testing.T) {
	t.Parallel()
	p := connect(t, patience, newServer(t))
	work(t, newWorker(t, p, "other", 4))
	cfg := newWorker(t, p, "w1", 4)
	inStep, once := make(chan struct{}), sync.Once{}
	use(&cfg, modelFunc(func(ctx context.Context, r agent.Request) (agent.Answer, error) {
		once.Do(func() { close(inStep) })
		return appending{steps: 4}.Next(ctx, r)
	}))
	stop := work(t, cfg)
	_, err := fleet.Submit(t.Context(), p,
		fleet.Submission{Run: fleet.Run{ID: "one", Tenant: "t", Expert: "e", Query: "go", Pin: "w1"},
			Dir: newFolder(t)})
	if err != nil {
		t.Fatal(err)
	}
	<-inStep
	stop()
	work(t, newWorker(t, p, "w1", 4))
	checkRun(t, p, "one", 4)
	if r, err := p.Run(t.Context(), "one"); err != nil || r.Worker != "w1" || r.Epoch != 2 {
		t.Errorf("%+v %v", r, err)
	}
	if said := follow(t, p, "one")[0].Text; said != "submitted for e; it waits for the worker w1" {
		t.Errorf("the first event says %q", said)
	}
}

// TestWorkerStops ends a worker in the middle of a run. Another worker continues at once.
func TestWorkerStops(t *testing.T) {
	t.Parallel()
	url := newServer(t)
	p := connect(t, patience, url)
	cfg := newWorker(t, p, "w1", 4)
	inStep, asked := make(chan struct{}), 0
	use(&cfg, modelFunc(func(ctx context.Context, r agent.Request) (agent.Answer, error) {
		if asked++; asked == 2 {
			close(inStep)
			time.Sleep(50 * time.Millisecond)
		}
		return appending{steps: 4}.Next(ctx, r)
	}))
	stop := work(t, cfg)
	submit(t, p, "one", newFolder(t))
	<-inStep
	stop()
	if r, err := p.Run(t.Context(), "one"); err != nil || r.Status != fleet.Waiting || r.Step < 1 {
		t.Fatalf("%+v %v", r, err)
	}
	work(t, newWorker(t, p, "w2", 4))
	checkRun(t, p, "one", 4)
	if r, err := p.Run(t.Context(), "one"); err != nil || r.Worker != "w2" || r.Epoch != 2 || r.Lost != 0 {
		t.Errorf("%+v %v", r, err)
	}
}

// abandon submits a run and leaves its state as a lost worker does.
func abandon(t *testing.T, p fleet.Plane, id string, change func(r *fleet.Run)) {
	t.Helper()
	r := submit(t, p, id, newFolder(t))
	r.Status, r.Worker, r.Epoch = fleet.Running, "gone", 1
	change(&r)
	if err := p.Commit(t.Context(), fleet.Batch{Run: &r}); err != nil {
		t.Fatal(err)
	}
}

// TestLostCalls tells the expert which calls a lost worker may have made.
func TestLostCalls(t *testing.T) {
	t.Parallel()
	p := connect(t, patience, newServer(t))
	abandon(t, p, "one", func(r *fleet.Run) {
		r.Begun = []fleet.Begun{{Step: 1, Tool: "exec", Args: json.RawMessage(`{"command":"deploy"}`)}}
	})
	cfg := newWorker(t, p, "w1", 2)
	var mu sync.Mutex
	told := ""
	use(&cfg, modelFunc(func(ctx context.Context, r agent.Request) (agent.Answer, error) {
		mu.Lock()
		defer mu.Unlock()
		for _, m := range r.Messages {
			if text := m.Text(); strings.Contains(text, "may have happened") {
				told = text
			}
		}
		return appending{steps: 2}.Next(ctx, r)
	}))
	work(t, cfg)
	checkRun(t, p, "one", 2)
	mu.Lock()
	defer mu.Unlock()
	if !strings.Contains(told, `exec {"command":"deploy"}`) {
		t.Errorf("the expert was told %q", told)
	}
	events := follow(t, p, "one")
	if len(events) < 2 || events[1].Text != "worker gone lost, continued on w1 from step 0" ||
		events[1].Epoch != 2 {
		t.Errorf("events begin with %+v", events[:2])
	}
	if r, err := p.Run(t.Context(), "one"); err != nil || r.Lost != 0 || r.Begun != nil {
		t.Errorf("%+v %v", r, err)
	}
}

// TestOutsideCalls stores a call that acts outside of the workspace before the call. It does not store
// calls of the tools in Repeat.
func TestOutsideCalls(t *testing.T) {
	t.Parallel()
	p := connect(t, patience, newServer(t))
	cfg := newWorker(t, p, "w1", 0)
	cfg.Repeat = []string{"exec"}
	command := modelFunc(func(ctx context.Context, r agent.Request) (agent.Answer, error) {
		if len(r.Messages) < 4 {
			return agent.Answer{Calls: []agent.Call{{ID: "x", Name: "exec",
				Arguments: `{"command":"no-such-program","args":[],"env":{},"cwd":".","stdout":true,"stderr":true}`}}}, nil
		}
		return appending{}.Next(ctx, r)
	})
	use(&cfg, command)
	stop := work(t, cfg)
	begins := func(id string) (n int) {
		submit(t, p, id, newFolder(t))
		for _, e := range follow(t, p, id) {
			if e.Kind == fleet.Begins {
				n++
				if !strings.HasPrefix(e.Text, "exec {") || e.Step != 1 {
					t.Errorf("%+v", e)
				}
			}
		}
		return n
	}
	if n := begins("repeats"); n != 0 {
		t.Errorf("a call that may be made twice was stored %d times", n)
	}
	stop()
	cfg.Name, cfg.Repeat = "w2", nil
	work(t, cfg)
	if n := begins("once"); n != 1 {
		t.Errorf("the call was stored %d times", n)
	}
}

// TestFullDisk returns a run to the queue when the disk of its worker is full.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	p := connect(t, patience, newServer(t))
	cfg, full := newWorker(t, p, "w1", 2), true
	model := cfg.Model
	cfg.Model = func(c *agent.Config, project agent.Project) error {
		if full {
			full = false
			return &fs.PathError{Op: "write", Path: "event.json", Err: syscall.ENOSPC}
		}
		return model(c, project)
	}
	submit(t, p, "one", newFolder(t))
	work(t, cfg)
	checkRun(t, p, "one", 2)
	if events := follow(t, p, "one"); !slices.ContainsFunc(events, func(e fleet.Event) bool {
		return e.Kind == fleet.Returned &&
			strings.Contains(e.Text, "another worker is needed: worker w1: write event.json: ")
	}) {
		t.Errorf("no event says why the run was given to another worker: %+v", events)
	}
}

// TestEncrypted carries out a run with encrypted files. Machines without the key cannot read them.
func TestEncrypted(t *testing.T) {
	t.Parallel()
	p := connect(t, patience, newServer(t))
	owner := fleet.Tenant{Key: bytes.Repeat([]byte{7}, 32)}
	s := fleet.Submission{Run: fleet.Run{ID: "one", Tenant: "t", Expert: "e", Query: "go"}, Dir: newFolder(t),
		Owner: owner}
	if _, err := fleet.Submit(t.Context(), p, s); err != nil {
		t.Fatal(err)
	}
	const where = "; key-file under [tenants.t] in fleet.toml names it"
	stop := work(t, newWorker(t, p, "keyless", 1))
	for e := range fleet.Follow(t.Context(), p, "one", nil) {
		if e.Kind == fleet.Returned {
			if !strings.Contains(e.Text, "is encrypted; the key of its tenant is needed"+where) {
				t.Error(e.Text)
			}
			break
		}
	}
	stop()
	cfg := newWorker(t, p, "w1", 1)
	cfg.Tenants = map[string]fleet.Tenant{"t": owner}
	work(t, cfg)
	if events := follow(t, p, "one"); !strings.HasPrefix(events[len(events)-1].Text, "completed") {
		t.Errorf("%+v", events[len(events)-1])
	}
	dir := filepath.Join(t.TempDir(), "f")
	for _, key := range [][]byte{nil, bytes.Repeat([]byte{8}, 32)} {
		if _, err := fleet.Fetch(t.Context(), p, "one", dir, fleet.Tenant{Key: key}); err == nil ||
			!strings.Contains(err.Error(), where) {
			t.Error(err)
		}
	}
	if _, err := fleet.Fetch(t.Context(), p, "one", dir, owner); err != nil {
		t.Error(err)
	}
}

// TestNotContinued ends runs that no worker may continue.
func TestNotContinued(t *testing.T) {
	t.Parallel()
	p := connect(t, patience, newServer(t))
	abandon(t, p, "killer", func(r *fleet.Run) { r.Lost = 9 })
	abandon(t, p, "elsewhere", func(r *fleet.Run) { r.Step, r.Checkpoint = 3, "c3" })
	abandon(t, p, "unknown", func(r *fleet.Run) { r.Expert = "f" })
	submit(t, p, "cancelled", newFolder(t))
	if r, err := fleet.EndRun(t.Context(), p, "cancelled"); err != nil || r.Status != fleet.Cancelled {
		t.Fatal(r, err)
	}
	abandon(t, p, "cancelled-later", func(*fleet.Run) {})
	if _, err := fleet.EndRun(t.Context(), p, "cancelled-later"); err != nil {
		t.Fatal(err)
	}
	work(t, newWorker(t, p, "w1", 2))
	for id, want := range map[string]string{
		"killer":          "failed: killed 10 workers in step 1",
		"elsewhere":       "failed: the checkpoint c3 of step 3 is not in the workspace",
		"unknown":         `failed: expert "f" is not defined`,
		"cancelled":       "cancelled: ",
		"cancelled-later": "cancelled: ",
	} {
		follow(t, p, id)
		r, err := p.Run(t.Context(), id)
		if got := fmt.Sprintf("%s: %s", r.Status, r.Reason); err != nil || !strings.HasPrefix(got, want) {
			t.Errorf("%s is %s, want %s (%v)", id, got, want, err)
		}
		if _, err := fleet.Fetch(t.Context(), p, id, filepath.Join(t.TempDir(), "f"), fleet.Tenant{}); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// TestLargeEvents stores events that are larger than a message.
func TestLargeEvents(t *testing.T) {
	t.Parallel()
	p := connect(t, patience, newServer(t))
	cfg := newWorker(t, p, "w1", 0)
	text := strings.Repeat("0123456789abcde\n", 100<<10) // 1.6 MB
	use(&cfg, modelFunc(func(ctx context.Context, r agent.Request) (agent.Answer, error) {
		if len(r.Messages) < 4 {
			args, err := json.Marshal(map[string]string{"path": "log", "text": text})
			return agent.Answer{Calls: []agent.Call{{ID: "x", Name: "appendTextFile",
				Arguments: string(args)}}}, err
		}
		return appending{steps: 1}.Next(ctx, r)
	}))
	work(t, cfg)
	submit(t, p, "one", newFolder(t))
	found := false
	for _, e := range follow(t, p, "one") {
		if e.Kind != fleet.Agent {
			continue
		}
		a, err := fleet.AgentEvent(t.Context(), p, "one", e)
		if err != nil {
			t.Fatal(err)
		}
		found = found || e.Blob != "" && a.Type == agent.CallTool && len(a.ToolCall.Args) > len(text)
	}
	if !found {
		t.Error("the call is not among the events")
	}
}

// TestLostJobs queues all lost runs again, although the queue still has another run.
func TestLostJobs(t *testing.T) {
	t.Parallel()
	p := connect(t, patience, newServer(t))
	jobs, err := p.Jobs(t.Context(), fleet.Worker{Name: "w0"})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"one", "two", "three"} {
		r := submit(t, p, id, newFolder(t))
		job, err := jobs.Next(t.Context())
		if err == nil {
			err = job.Done(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		r.Updated = r.Updated.Add(-time.Hour)
		if err := p.Commit(t.Context(), fleet.Batch{Run: &r}); err != nil {
			t.Fatal(err)
		}
	}
	jobs.Close()
	submit(t, p, "known", newFolder(t))
	cfg := newWorker(t, p, "w1", 2)
	say, model, all, queued := cfg.Say, cfg.Model, make(chan bool), map[string]bool{}
	cfg.Say = func(line string) {
		say(line)
		if strings.Contains(line, "queued again") && !queued[line] {
			if queued[line] = true; len(queued) == 3 {
				close(all)
			}
		}
	}
	cfg.Model = func(c *agent.Config, project agent.Project) error {
		<-all // no run ends before all are queued again
		return model(c, project)
	}
	work(t, cfg)
	for _, id := range []string{"one", "two", "three", "known"} {
		checkRun(t, p, id, 2)
	}
}

// TestOneAfterAnother carries out two runs in the same workspace. After the second run, the files
// of the first run are gone.
func TestOneAfterAnother(t *testing.T) {
	t.Parallel()
	p := connect(t, patience, newServer(t))
	for i, s := range []fleet.Submission{
		{Run: fleet.Run{ID: "a", Tenant: "t", Expert: "e", Query: "go", Workspace: "both"},
			Dir: newFolder(t)},
		{Run: fleet.Run{ID: "b", Tenant: "t", Expert: "e", Query: "go", Workspace: "both"}},
	} {
		if _, err := fleet.Submit(t.Context(), p, s); err != nil {
			t.Fatal(i, err)
		}
	}
	work(t, newWorker(t, p, "w1", 3))
	follow(t, p, "a")
	follow(t, p, "b")
	first, last := "a", "b"
	a, aerr := p.Run(t.Context(), first)
	b, berr := p.Run(t.Context(), last)
	if aerr != nil || berr != nil {
		t.Fatal(aerr, berr)
	}
	if a.Updated.After(b.Updated) { // a worker takes waiting runs in any order
		first, last = last, first
	}
	dir, none := filepath.Join(t.TempDir(), "f"), filepath.Join(t.TempDir(), "f")
	if _, err := fleet.Fetch(t.Context(), p, last, dir, fleet.Tenant{}); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "log")); err != nil || string(data) != numbers(3)+
		numbers(3) {
		t.Errorf("log holds %q (%v)", data, err)
	}
	_, err := fleet.Fetch(t.Context(), p, first, none, fleet.Tenant{})
	for end := time.Now().Add(patience); err == nil && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		os.RemoveAll(none) // the files of the first run are still being purged
		_, err = fleet.Fetch(t.Context(), p, first, none, fleet.Tenant{})
	}
	if err == nil || !strings.Contains(err.Error(),
		"run "+last+" has worked in the workspace both since; fetch run "+last) {
		t.Errorf("the files of run %s, the first: %v", first, err)
	}
	if _, err := os.Stat(none); err == nil {
		t.Errorf("%s was made", none)
	}
}

// TestCancelMakesRoom cancels a waiting run in a full queue, and submits another.
func TestCancelMakesRoom(t *testing.T) {
	t.Parallel()
	p, err := jetstream.Connect(t.Context(), jetstream.Options{Servers: []string{newServer(t)}, Waiting: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for _, id := range []string{"a", "b", "c"} {
		submit(t, p, id, newFolder(t))
		if r, err := fleet.EndRun(t.Context(), p, id); err != nil || r.Status != fleet.Cancelled {
			t.Fatal(r, err)
		}
	}
}

// TestSubmitRefused refuses invalid runs. It accepts a refused run when the queue has room.
func TestSubmitRefused(t *testing.T) {
	t.Parallel()
	url := newServer(t)
	p, err := jetstream.Connect(t.Context(),
		jetstream.Options{Servers: []string{url}, Waiting: 1, Patience: patience})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	dir := newFolder(t)
	try := func(s fleet.Submission) error {
		s.Tenant, s.Expert, s.Query = "t", "e", "go"
		_, err := fleet.Submit(t.Context(), p, s)
		return err
	}
	if err := try(fleet.Submission{Run: fleet.Run{ID: "a", Workspace: "ws"}, Dir: dir}); err != nil {
		t.Fatal(err)
	}
	others := t.TempDir()
	if err := os.WriteFile(filepath.Join(others, "perstack.toml"),
		[]byte("[experts.other]\ninstruction = \"Count.\"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	linked := t.TempDir()
	if err := os.Symlink(filepath.Join(dir, "perstack.toml"), filepath.Join(linked, "perstack.toml")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		s    fleet.Submission
		want string
	}{
		{fleet.Submission{Run: fleet.Run{ID: "a b"}, Dir: dir}, "cannot be the name of a run"},
		{fleet.Submission{Run: fleet.Run{Workspace: "ws"}, Dir: dir}, "there is a workspace ws already"},
		// run a does not hold the workspace yet
		{fleet.Submission{Run: fleet.Run{Workspace: "ws"}, Dir: dir, Replace: true}, ""},
		{fleet.Submission{Run: fleet.Run{Workspace: "none"}}, "there is no workspace none"},
		{fleet.Submission{Run: fleet.Run{}, Dir: filepath.Join(dir, "none")},
			"there is no folder " + filepath.Join(dir, "none")},
		{fleet.Submission{Run: fleet.Run{}, Dir: filepath.Join(dir, "log")}, "log is not a folder"},
		// a worker does not follow a link to the outside
		{fleet.Submission{Run: fleet.Run{}, Dir: linked}, "perstack.toml in " + linked + " cannot be read: "},
		{fleet.Submission{Run: fleet.Run{}, Dir: filepath.Join(dir, "sub")}, "sub has no perstack.toml"},
		{fleet.Submission{Run: fleet.Run{}, Dir: others}, `expert "e" is not defined; perstack.toml defines other`},
		{fleet.Submission{Run: fleet.Run{}, Dir: dir, Owner: fleet.Tenant{Waiting: 1}},
			"tenant t has 1 waiting runs"},
		{fleet.Submission{Run: fleet.Run{ID: "b"}, Dir: dir}, "tenant t has 1 waiting runs"},
	} {
		err := try(tt.s)
		if tt.want == "" {
			if !errors.Is(err, fleet.ErrQuota) {
				t.Errorf("%+v: %v", tt.s, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %s", tt.s, err, tt.want)
		}
	}
	if runs, err := fleet.Runs(t.Context(), p, "t"); err != nil || len(runs) != 1 {
		t.Errorf("a refused run is listed: %+v %v", runs, err)
	}
	stop := work(t, newWorker(t, p, "w1", 1))
	follow(t, p, "a")
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		err := try(fleet.Submission{Run: fleet.Run{ID: "b"}, Dir: dir})
		if !errors.Is(err, fleet.ErrQuota) {
			if err != nil {
				t.Error(err)
			}
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	stop()
}
