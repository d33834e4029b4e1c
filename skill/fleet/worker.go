package fleet

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"textskill/skill"
	"textskill/skill/agent"
	"textskill/skill/fleet/pack"
)

// WorkerConfig says how a worker carries out runs. Plane, Name, Slots, Root and Model are
// required.
type WorkerConfig struct {
	Plane Plane
	Worker
	// folder in which the worker keeps copies of workspaces, in the folder skill-fleet-NAME
	Root     string
	Executor skill.Config      // of the workspaces; Dir, State and NoSync are set for each
	Tenants  map[string]Tenant // by name; others have the zero Tenant
	Repeat   []string          // names of tools whose calls may be made twice
	Patience time.Duration     // of the plane; 0 means [Patience]

	// Model completes the configuration of a run with what this machine knows: the model,
	// its key among the secrets, its price. The workspace's project names experts, and
	// perhaps the model.
	Model func(cfg *agent.Config, p agent.Project) error

	// Held is called when the worker holds a workspace, and returns what answers calls to it,
	// which is closed before the worker gives the workspace up. It may be nil.
	Held func(h Holding) (Calls, error)

	Observer Observer

	Say func(line string) // is called with what the worker does, a line at a time; may be nil
}

// An Observer has functions that a worker calls, unless they are nil.
type Observer struct {
	// Run is called when the worker begins to work on a run, and may set what MCP servers are
	// sent of its trace. hear is then called with each event of its expert, and end when the
	// worker works on it no more: with an error if the run failed.
	Run func(r Run, cfg *agent.Config) (hear func(agent.Event), end func(error))

	Stored func(took time.Duration) // is called after a step was stored, from its snapshot on
	Listed func(runs []Run)         // is called with all runs of the fleet, from time to time
}

// A Tenant is what a machine knows of a tenant.
type Tenant struct {
	Key     []byte   // 32 bytes, with which files are encrypted; nil means that they are not
	Exclude []string // patterns, as in .gitignore, of files that are not stored
	Waiting int      // runs, beyond which Submit refuses one; 0 is what the plane allows
	Trust   bool     // let workspaces name programs and addresses that experts use
}

// A worker carries out runs.
type worker struct {
	WorkerConfig
	dir string // for the copies of workspaces

	mu    sync.Mutex
	holds map[string]bool // IDs of runs
}

// Work carries out runs until ctx is done. It then finishes the steps that are under way
// and gives their runs to other workers.
func Work(ctx context.Context, cfg WorkerConfig) error {
	w := &worker{WorkerConfig: cfg, dir: filepath.Join(cfg.Root, "skill-fleet-"+cfg.Name),
		holds: map[string]bool{}}
	w.Patience = cmp.Or(w.Patience, Patience)
	if w.Say == nil {
		w.Say = func(string) {}
	}
	if err := os.MkdirAll(w.Root, 0o700); err != nil {
		return noFolder(err)
	}
	if err := refuseShared(w.Root, "choose a folder of a local disk with --root"); err != nil {
		return err
	}
	release, err := w.takeName(ctx)
	switch {
	case err == nil:
		defer release()
	case ctx.Err() != nil:
		return nil
	default:
		return err
	}
	// An earlier process of this name may have left copies.
	if err := errors.Join(os.RemoveAll(w.dir), os.MkdirAll(w.dir, 0o700)); err != nil {
		return noFolder(err)
	}
	stop, err := w.Plane.Serve(WorkerName+w.Name, w.answer)
	if err != nil {
		return err
	}
	defer stop()
	jobs, err := w.Plane.Jobs(ctx, w.Worker)
	if err != nil {
		return err
	}
	defer jobs.Close()
	w.Say(fmt.Sprintf("worker %s takes runs, %d at once", w.Name, w.Slots))
	w.takeAll(ctx, jobs)
	return nil
}

// takeAll carries out the runs of jobs, as many at once as there are slots, until ctx is done.
func (w *worker) takeAll(ctx context.Context, jobs Jobs) {
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { w.reconcile(ctx) })
	slots := make(chan struct{}, w.Slots)
	for {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		job, err := jobs.Next(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			w.Say("no job can be taken: " + err.Error())
			<-slots
			sleep(ctx, time.Second)
			continue
		}
		all.Go(func() {
			defer func() { <-slots }()
			w.take(ctx, job)
		})
	}
}

func noFolder(err error) error {
	return fmt.Errorf("the folder for copies of workspaces cannot be made: %w; choose another one with --root", err)
}

// refuseShared returns an error for a folder that machines share, with what to do instead.
func refuseShared(dir, instead string) error {
	kind, err := pack.SharedFilesystem(dir)
	if err == nil && kind != "" {
		err = fmt.Errorf("%s is on a file system that machines share (%s), whose locks do not keep other machines out; %s", dir, kind, instead)
	}
	return err
}

// takeName makes this process the one that has the worker's name, until release is called.
// Of processes that want a name in the same instant one gets it. Its ID is stored as the
// run of a workspace that no run can name, after it answers calls to the ID: who finds a
// process there that is gone, or is silent for the patience, may take the name.
func (w *worker) takeName(ctx context.Context) (release func(), err error) {
	name, process := WorkerName+w.Name, rand.Text()
	release, err = w.Plane.Serve(name+"."+process, w.answer)
	if err != nil {
		return nil, err
	}
	for {
		owner, err := w.Plane.Workspace(ctx, name)
		if err == nil && owner.Run != "" && w.answers(ctx, name+"."+owner.Run) {
			err = fmt.Errorf("a worker named %s runs already; give this one another name with --name", w.Name)
		}
		if err == nil {
			owner.Run, owner.Updated = process, time.Now().UTC()
			err = w.Plane.Commit(ctx, Batch{Workspace: &owner})
		}
		switch {
		case err == nil:
			return release, nil
		case !errors.Is(err, ErrTaken):
			release()
			return nil, err
		}
	}
}

// answers reports whether a process answers calls to a name.
func (w *worker) answers(ctx context.Context, name string) bool {
	ctx, cancel := context.WithTimeout(ctx, w.Patience)
	defer cancel()
	_, err := w.Plane.Call(ctx, name, []byte("{}"))
	return err == nil
}

// A holdsRequest asks a worker whether it holds a run.
type holdsRequest struct {
	Run string `json:"run"`
}

type holdsAnswer struct {
	Holds bool `json:"holds"`
}

// answer answers a holdsRequest.
func (w *worker) answer(_ context.Context, request []byte) []byte {
	var asked holdsRequest
	json.Unmarshal(request, &asked)
	return encode(holdsAnswer{w.isHolding(asked.Run)})
}

// pingPatience is how long a worker may take to say whether it holds a run.
const pingPatience = 500 * time.Millisecond

// held reports whether a living worker holds a run.
func (w *worker) held(ctx context.Context, r Run) bool {
	if r.Status != Running {
		return false
	}
	if r.Worker == w.Name {
		return w.isHolding(r.ID)
	}
	ctx, cancel := context.WithTimeout(ctx, pingPatience)
	defer cancel()
	data, err := w.Plane.Call(ctx, WorkerName+r.Worker, encode(holdsRequest{r.ID}))
	var a holdsAnswer
	return err == nil && json.Unmarshal(data, &a) == nil && a.Holds
}

func (w *worker) isHolding(run string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.holds[run]
}

// hold notes that the worker holds a run. It reports false if the worker does already.
func (w *worker) hold(run string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.holds[run] {
		return false
	}
	w.holds[run] = true
	return true
}

func (w *worker) release(run string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.holds, run)
}

// sleep waits for d, or returns why ctx is done.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// encode returns the JSON of a value that has one.
func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

var errCancelled = errors.New("cancelled")
