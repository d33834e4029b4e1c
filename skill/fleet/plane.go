// Package fleet runs experts on many machines. A client calls [Submit] on one machine, and
// [Work] carries out the run on another machine. [Follow] and [Fetch] return the events and
// files of the run.
//
// Rules:
//
//  1. After each step the worker commits the run's files, events and state in one [Batch].
//     Another worker can continue from there.
//  2. The worker that wrote the state of a run last owns the run. A commit by another worker
//     fails with [ErrTaken].
//  3. Only the state decides. A queued job is a hint that a run may need a worker.
//  4. A workspace has at most one run at a time.
//  5. A worker stores a call that acts outside of the workspace before it makes the call. If
//     the worker is lost, the next worker tells the expert that the call may have happened.
package fleet

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
)

// A Plane stores the state of a fleet and connects its machines. All machines see the accepted
// data in one order. A Plane is safe for concurrent use. Package jetstream implements it with
// NATS JetStream.
type Plane interface {
	// Commit stores the whole batch or nothing. On success it sets the new revisions of the
	// states. It fails with [ErrTaken] if a state was written since the caller read it. After
	// any other error the batch may be stored: the caller reads the states again to find out.
	Commit(ctx context.Context, b Batch) error

	// Run returns the state of a run. It fails with [ErrNoRun] if the run is unknown.
	Run(ctx context.Context, id string) (Run, error)
	// Runs returns the states of all runs of a tenant, unsorted. "" means all tenants.
	Runs(ctx context.Context, tenant string) ([]Run, error)
	// Workspace returns the state of a workspace. An unknown workspace has Revision 0.
	Workspace(ctx context.Context, name string) (Workspace, error)
	// Events returns the stored events of a run after a sequence number, in order. 0 means
	// all events. With follow, it waits for further events until an [Ended] event or until
	// ctx is done.
	Events(ctx context.Context, run string, after uint64, follow bool) iter.Seq2[Event, error]
	// Cancel asks the owner of a run to end it. It tells the owner through the topic [Cancels]
	// and stores the request, so that a later owner sees [Run.Cancelled].
	Cancel(ctx context.Context, run string) error

	// Queue adds a job for a waiting run. It fails with [ErrQuota] if the tenant has too many
	// jobs.
	Queue(ctx context.Context, r Run) error
	// Jobs returns the jobs that a worker may take. The caller closes them.
	Jobs(ctx context.Context, w Worker) (Jobs, error)
	// Queued returns the IDs of runs with a job, whether it waits or a worker has it. It reads
	// only the queue of r: the runs of the same tenant, urgency, label and pin.
	Queued(ctx context.Context, r Run) (map[string]bool, error)
	// Unqueue removes the jobs of a run that has ended. Queued jobs count against the quota.
	Unqueue(ctx context.Context, r Run) error

	// Blobs returns the blobs of a workspace.
	Blobs(workspace string) Blobs

	// Call sends a request to the server of a name and returns the answer. If nobody serves
	// the name, Call fails with [ErrNobody] at once. After any other error, the server may have
	// carried out the request.
	Call(ctx context.Context, name string, request []byte) ([]byte, error)
	// Serve answers the requests to a name until stop is called, each in a new goroutine.
	// Requests and answers may have [MaxMessage] bytes.
	Serve(name string, answer func(ctx context.Context, request []byte) []byte) (stop func(), err error)
	// Tell sends a message to the current listeners of a topic. The message may be lost.
	Tell(topic string, data []byte) error
	// Listen passes the messages of a topic to hear, one at a time, until stop is called.
	Listen(topic string, hear func(data []byte)) (stop func(), err error)
}

// Blobs keep the packs and manifests of one workspace. The key of a blob is the SHA-256 of its
// bytes, in hexadecimal digits. Blobs are safe for concurrent use.
type Blobs interface {
	// Put stores a blob of at most [MaxMessage] bytes, unless it is stored already. It returns
	// after the plane has accepted the blob.
	Put(ctx context.Context, sum string, data []byte) error
	// Get returns a blob. It fails with [ErrNoBlob] if the blob is unknown.
	Get(ctx context.Context, sum string) ([]byte, error)
	// Purge removes all blobs whose sums are not in keep.
	Purge(ctx context.Context, keep map[string]bool) error
}

// Jobs are the jobs that one worker may take.
type Jobs interface {
	// Next waits for a job. Urgent jobs come first.
	Next(ctx context.Context) (Job, error)
	Close()
}

// A Job says that a run may need a worker. The plane gives it to a worker again if its worker
// calls no method for the plane's patience, 30 seconds by default.
type Job interface {
	Run() string                                      // the ID of the run
	Working() error                                   // restarts the patience
	Done(ctx context.Context) error                   // removes the job
	Later(ctx context.Context, d time.Duration) error // returns the job to the queue for d
}

// MaxMessage is the largest size of a blob, an event, a request and an answer, in bytes.
const MaxMessage = 900 << 10

// Patience is how long a worker may be silent before other workers get its jobs.
const Patience = 30 * time.Second

// A Batch is a change of a run: a step, a claim or its end. A nil part is not written.
type Batch struct {
	Run       *Run       // Commit expects its Revision; 0 for a new run
	Workspace *Workspace // Commit expects its Revision; 0 for a new workspace
	Events    []Event    // further events of the run
}

// Topics of [Plane.Tell]. The ID of a run follows.
const (
	Live    = "live."   // JSON of an Event: not stored yet, or of kind [Words]
	Cancels = "cancel." // asks the owner to end the run
)

// Names of [Plane.Call]. The name of a worker or of a workspace follows.
const (
	WorkerName    = "worker."
	WorkspaceName = "workspace."
)

var (
	// ErrTaken says that this worker does not own the run any more.
	ErrTaken = errors.New("another worker has taken the run")
	// ErrNobody says that nobody serves the called name.
	ErrNobody = errors.New("nobody answers")
	// ErrNoRun says that the run was never submitted or has expired.
	ErrNoRun = errors.New("there is no such run")
	// ErrNoBlob says that the blob is not stored.
	ErrNoBlob = errors.New("the blob is not stored")
	// ErrQuota says that a tenant has too many waiting runs. [OverQuota] adds the tenant and
	// the number.
	ErrQuota = errors.New("its queue is full; submit again when a run has begun")
)

// OverQuota returns an [ErrQuota] with the tenant and the number of its waiting runs.
func OverQuota(tenant string, waiting int) error {
	return fmt.Errorf("tenant %s has %d waiting runs: %w", tenant, waiting, ErrQuota)
}
