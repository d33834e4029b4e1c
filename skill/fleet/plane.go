// Package fleet runs experts on many machines. A client submits a run on one machine, and
// a worker on another machine carries it out. After each step the worker stores the run's
// files, events and state together, so that another worker can continue from there.
//
// The worker that wrote the state of a run last owns the run. Only the state decides: a
// queued job is a hint that a run may need a worker.
//
//	plane.go      what a fleet needs of the network: Plane
//	state.go      what is known of a run and of its workspace
//	submit.go     storing and queueing a run
//	fetch.go      bringing its files back
//	follow.go     its events
//	worker.go     taking runs
//	claim.go      becoming the owner of one
//	open.go       restoring its files and going on with it
//	hold.go       working on it, and storing each step
//	calls.go      calls of others to its workspace
//	commit.go     what is done where the plane does not answer
//	reconcile.go  runs that the queue has lost
package fleet

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
)

// A Plane keeps the state of a fleet, and connects its machines. It keeps all
// accepted data and shows it to all machines in one order. It is safe for concurrent use. Package
// jetstream implements it with NATS JetStream.
type Plane interface {
	// Commit stores a batch whole, or nothing of it. It fails with [ErrTaken] if somebody has
	// written one of its states since they were read; it then sets no revision. Otherwise it
	// sets the new revisions of the states. After another error the batch may be stored or
	// not: reading the states again shows which.
	Commit(ctx context.Context, b Batch) error

	// Run returns the state of a run. The error of an unknown one is [ErrNoRun].
	Run(ctx context.Context, id string) (Run, error)
	// Runs returns the states of all runs of a tenant, in no order; "" means all tenants.
	Runs(ctx context.Context, tenant string) ([]Run, error)
	// Workspace returns the state of a workspace, that of an unknown one with Revision 0.
	Workspace(ctx context.Context, name string) (Workspace, error)
	// Events returns the events of a run after the sequence number, which 0 is for all: first
	// those that are stored, in order. If follow is set, it then waits for further ones until
	// one of kind [Ended] or ctx is done.
	Events(ctx context.Context, run string, after uint64, follow bool) iter.Seq2[Event, error]
	// Cancel asks that a run be ended. It is kept for workers that claim the run later
	// ([Run.Cancelled]), and sent to the one that holds it (topic [Cancels]).
	Cancel(ctx context.Context, run string) error

	// Queue adds a job for a waiting run. It fails with [ErrQuota] if the tenant has
	// too many.
	Queue(ctx context.Context, r Run) error
	// Jobs returns the jobs that a worker may take. The caller closes them.
	Jobs(ctx context.Context, w Worker) (Jobs, error)
	// Queued returns the IDs of the runs of the tenant, class and place of r that have a job,
	// waiting or with a worker. Another one that is not over was lost by the queue.
	Queued(ctx context.Context, r Run) (map[string]bool, error)
	// Unqueue removes the jobs of a run that has ended, which count as long as they are queued.
	Unqueue(ctx context.Context, r Run) error

	// Blobs returns the blobs of a workspace.
	Blobs(workspace string) Blobs

	// Call sends a request to whoever serves a name, and returns the answer. If nobody does
	// the error is [ErrNobody], at once. If who serves it is lost before the answer, that is an
	// error too, and the request may have been carried out.
	Call(ctx context.Context, name string, request []byte) ([]byte, error)
	// Serve answers the requests to a name until stop is called. It calls answer in a new
	// goroutine for each. Requests and answers may have [MaxMessage] bytes.
	Serve(name string, answer func(ctx context.Context, request []byte) []byte) (stop func(), err error)
	// Tell sends a message to who listens to a topic at this moment; it may be lost.
	Tell(topic string, data []byte) error
	// Listen receives the messages of a topic until stop is called, one after another.
	Listen(topic string, hear func(data []byte)) (stop func(), err error)
}

// Blobs keep the packs and manifests of one workspace by the SHA-256 of their bytes, in
// hexadecimal digits. They are safe for concurrent use.
type Blobs interface {
	// Put stores a blob of at most [MaxMessage] bytes and returns after it was accepted. To
	// store the same blob again does nothing.
	Put(ctx context.Context, sum string, data []byte) error
	// Get returns a blob. The error of an unknown one is [ErrNoBlob].
	Get(ctx context.Context, sum string) ([]byte, error)
	// Purge removes all blobs but those with these sums.
	Purge(ctx context.Context, keep map[string]bool) error
}

// Jobs are what a worker takes its runs from.
type Jobs interface {
	// Next waits for a job, urgent ones first.
	Next(ctx context.Context) (Job, error)
	Close()
}

// A Job says that a run may need a worker. It comes again, to this or another worker, if
// none of its methods is called for the plane's patience (30 seconds by default).
type Job interface {
	Run() string
	Working() error                                   // begins the patience anew
	Done(ctx context.Context) error                   // ends the job
	Later(ctx context.Context, d time.Duration) error // lets the job come again after d
}

// MaxMessage is the largest size of a blob, an event, a request and an answer, in bytes.
const MaxMessage = 900 << 10

// Patience is how long a worker may be silent before its jobs go to others.
const Patience = 30 * time.Second

// A Batch is what one step, claim or end of a run changes. A nil part is not written.
type Batch struct {
	Run       *Run       // expected at its Revision; 0 for a new run
	Workspace *Workspace // the same
	Events    []Event    // of the run
}

// Topics of [Plane.Tell], each followed by the ID of a run.
const (
	Live    = "live."   // JSON of an Event that is not stored yet, or of one with the model's words
	Cancels = "cancel." // that the run is to be ended
)

// Names of [Plane.Call], each followed by that of a worker or of a workspace.
const (
	WorkerName    = "worker."
	WorkspaceName = "workspace."
)

var (
	// ErrTaken is the error of a commit by a worker that does not own the run any more.
	ErrTaken = errors.New("another worker has taken the run")
	// ErrNobody is the error of a call to a name that nobody serves.
	ErrNobody = errors.New("nobody answers")
	// ErrNoRun is the error of reading a run that was never submitted or has expired.
	ErrNoRun = errors.New("there is no such run")
	// ErrNoBlob is the error of reading a blob that is not stored.
	ErrNoBlob = errors.New("the blob is not stored")
	// ErrQuota is the error of queuing a run of a tenant that has too many waiting runs. What
	// [OverQuota] returns says which and how many.
	ErrQuota = errors.New("no more may wait; submit again when some have begun")
)

// OverQuota returns the [ErrQuota] of a tenant that has as many waiting runs of one class as it
// may have.
func OverQuota(tenant string, waiting int) error {
	return fmt.Errorf("tenant %s has %d waiting runs: %w", tenant, waiting, ErrQuota)
}
