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
	Root     string            // copies of workspaces are in its folder skill-fleet-NAME
	Executor skill.Config      // for each workspace; the worker sets Dir, State and NoSync
	Tenants  map[string]Tenant // by name; a missing tenant is the zero Tenant
	Repeat   []string          // names of tools that a worker may call twice
	Patience time.Duration     // of the plane; 0 means [Patience]

	// Model adds this machine's part to the configuration of a run: the model, its key and
	// its price. p is the project of the workspace, which may name the model.
	Model func(cfg *agent.Config, p agent.Project) error

	// Held returns the server of calls to a workspace. The worker calls Held when it holds the
	// workspace, and closes the Calls before it releases the workspace. Held may be nil.
	Held func(h Holding) (Calls, error)

	Observer Observer

	Say func(line string) // reports an action of the worker; may be nil
}

// An Observer has functions that a worker calls. Each may be nil.
type Observer struct {
	// Run is called when the worker starts on a run. It may add trace headers for MCP servers
	// to cfg. The worker passes the expert's events to hear, then calls end. The argument of
	// end is nil unless the run failed.
	Run func(r Run, cfg *agent.Config) (hear func(agent.Event), end func(error))

	Stored func(took time.Duration) // called after each step; the time to store its files and state
	Listed func(runs []Run)         // called with all runs of the fleet from time to time
}

// A Tenant is a machine's settings of a tenant.
type Tenant struct {
	Key     []byte   // 32 bytes, encrypts files; nil stores them as they are
	Exclude []string // files that are not stored; patterns as in .gitignore
	Waiting int      // Submit allows at most so many waiting runs; 0 leaves it to the plane
	Trust   bool     // let workspaces name programs and addresses that experts use
}

// A worker carries out runs.
type worker struct {
	WorkerConfig
	dir string // for the copies of workspaces

	mu    sync.Mutex
	holds map[string]bool // IDs of runs
}

// Work carries out runs until ctx is done. It then finishes the current steps and gives the
// runs to other workers.
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
	// An earlier process with this name may have left copies.
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

// takeAll carries out the runs of jobs until ctx is done. It works on Slots runs at once.
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
			w.Say("cannot take a job: " + err.Error())
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
	return fmt.Errorf("cannot make the folder for copies of workspaces: %w; choose another with --root", err)
}

// refuseShared fails if several machines share a folder. The error ends with hint.
func refuseShared(dir, hint string) error {
	kind, err := pack.SharedFilesystem(dir)
	if err == nil && kind != "" {
		err = fmt.Errorf("%s is on a file system that machines share (%s), "+
			"whose locks do not stop other machines; %s", dir, kind, hint)
	}
	return err
}

// takeName reserves the worker's name for this process until release is called. The name is a
// workspace that no run can name, and the ID of the process is its run. Only one process can
// commit that state. takeName replaces a stored process that does not answer calls to its ID
// within the patience.
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

// answers reports whether a process answers calls to a name in time.
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

// pingPatience is the time that a worker has for its holdsAnswer.
const pingPatience = 500 * time.Millisecond

// isHeld reports whether a worker holds a run. A worker that does not answer is lost.
func (w *worker) isHeld(ctx context.Context, r Run) bool {
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

// hold notes that the worker holds a run. It returns false if the worker already holds the run.
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

// sleep waits for d. If ctx ends first, it returns the cause.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// encode returns the JSON of a value. It panics if the value has none.
func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

var errCancelled = errors.New("cancelled")
