package fleet

import (
	"encoding/json"
	"time"

	"textskill/skill"
)

// A Run is the state of a run, as the worker that owns it wrote it last.
type Run struct {
	ID        string `json:"id"`
	Tenant    string `json:"tenant"`
	Workspace string `json:"workspace"` // its name; that of a run without a named one is its ID
	Expert    string `json:"expert"`    // "" for a run that only holds its workspace for calls
	Query     string `json:"query,omitempty"`
	Urgent    bool   `json:"urgent,omitempty"`
	Label     string `json:"label,omitempty"` // which a worker needs, such as "gpu"; "" for none
	Pin       string `json:"pin,omitempty"`   // the worker that alone may carry it out; "" if each may
	MaxSteps  int    `json:"maxSteps,omitempty"`
	// of a run without an expert: it ends after this time without a call; 0 is never
	Idle      time.Duration `json:"idle,omitempty"`
	Submitted time.Time     `json:"submitted"`
	Trace     string        `json:"trace,omitempty"` // traceparent of W3C

	Status     Status    `json:"status"`
	Reason     string    `json:"reason,omitempty"` // why it has stopped or failed, in a sentence
	Worker     string    `json:"worker,omitempty"` // that owns it; the last one after its end
	Epoch      int       `json:"epoch"`            // how often it was claimed
	Step       int       `json:"step"`             // the last finished one; 0 before the first
	Checkpoint string    `json:"checkpoint,omitempty"`
	Manifest   string    `json:"manifest"`        // of the files after that step: see [Workspace]
	Begun      []Begun   `json:"begun,omitempty"` // calls since that step which act outside of the workspace
	Lost       int       `json:"lost,omitempty"`  // workers lost one after another in the step after this one
	Model      string    `json:"model,omitempty"`
	Tokens     int       `json:"tokens,omitempty"`
	Cost       float64   `json:"cost,omitempty"` // in US dollars; 0 if the price is not known
	Updated    time.Time `json:"updated"`

	Cancelled bool   `json:"-"` // whether somebody has asked for its end
	Revision  uint64 `json:"-"` // which a Commit expects; 0 if there is no state yet
}

// A Begun is a call that a worker was about to make. It may have happened.
type Begun struct {
	Step int             `json:"step"`
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args"`
}

// A Status says what a run is doing.
type Status string

// The values of Status.
const (
	Waiting   Status = "waiting"   // for a worker
	Running   Status = "running"   // on a worker, or on one that is lost
	Completed Status = "completed" // its expert says that the work is done
	Stopped   Status = "stopped"   // at a limit, or for an answer of the user
	Failed    Status = "failed"
	Cancelled Status = "cancelled"
)

// Over reports whether a run has ended.
func (s Status) Over() bool { return s != Waiting && s != Running }

// A Workspace is the state of a workspace between steps.
type Workspace struct {
	Name   string `json:"name"`
	Tenant string `json:"tenant"`
	// the sum of the blob that lists its files; "" if it has none yet
	Manifest string          `json:"manifest"`
	Run      string          `json:"run,omitempty"`   // that holds it; "" if none does
	Todos    *skill.Snapshot `json:"todos,omitempty"` // of those who call its tools
	Updated  time.Time       `json:"updated"`

	Revision uint64 `json:"-"`
}

// An Event is something that happened in a run.
type Event struct {
	Kind   Kind      `json:"kind"`
	Time   time.Time `json:"time"`
	Epoch  int       `json:"epoch"`
	Worker string    `json:"worker,omitempty"`
	Step   int       `json:"step"`
	Text   string    `json:"text,omitempty"` // in a sentence

	Agent json.RawMessage `json:"agent,omitempty"` // of kind Agent: an agent.Event
	// the sums of the blobs that hold Agent, if that is large: see [AgentEvent]
	Blob string `json:"blob,omitempty"`

	Sequence uint64 `json:"-"` // its place among all events of the plane; 0 before it is stored
}

// A Kind says what an Event is of.
type Kind string

// The values of Kind.
const (
	Submitted Kind = "submitted"
	Claimed   Kind = "claimed"  // a worker begins or goes on with the run
	Agent     Kind = "agent"    // the expert works
	Returned  Kind = "returned" // a worker that cannot go on gives the run to another
	Begins    Kind = "begins"   // a call that acts outside of the workspace is about to be made
	Ended     Kind = "ended"
	Words     Kind = "words" // Text is the next of the model's words; passed on live, and not stored
)

// A Worker is what a worker says of itself when it asks for jobs.
type Worker struct {
	Name   string   // unique in the fleet
	Labels []string // of the runs that it takes besides those without one
	Slots  int      // how many runs it carries out at once
	// how many runs of a tenant may be carried out at once in the fleet; none is no limit
	Quotas map[string]int
}
