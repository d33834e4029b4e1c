package fleet

import (
	"encoding/json"
	"time"

	"textskill/skill"
)

// A Run is the state of a run, as its owner wrote it last.
type Run struct {
	ID        string `json:"id"`
	Tenant    string `json:"tenant"`
	Workspace string `json:"workspace"` // name; by default the ID of the run
	Expert    string `json:"expert"`    // "" for a run that only holds its workspace for calls
	Query     string `json:"query,omitempty"`
	Urgent    bool   `json:"urgent,omitempty"`
	Label     string `json:"label,omitempty"` // only workers with this label may take the run; "" for all
	Pin       string `json:"pin,omitempty"`   // only this worker may take the run; "" for all
	MaxSteps  int    `json:"maxSteps,omitempty"`
	// a run without an expert ends after this time without a call; 0 means never
	Idle      time.Duration `json:"idle,omitempty"`
	Submitted time.Time     `json:"submitted"`
	Trace     string        `json:"trace,omitempty"` // traceparent of W3C

	Status     Status    `json:"status"`
	Reason     string    `json:"reason,omitempty"` // why the run stopped or failed, in a sentence
	Worker     string    `json:"worker,omitempty"` // the owner, or the last owner
	Epoch      int       `json:"epoch"`            // how often the run was claimed
	Step       int       `json:"step"`             // the last stored step; 0 before the first
	Checkpoint string    `json:"checkpoint,omitempty"`
	Manifest   string    `json:"manifest"`        // of the files after Step: see [Workspace]
	Begun      []Begun   `json:"begun,omitempty"` // outside calls of the step after Step
	Lost       int       `json:"lost,omitempty"`  // workers lost in a row in the step after Step
	Model      string    `json:"model,omitempty"`
	Tokens     int       `json:"tokens,omitempty"`
	Cost       float64   `json:"cost,omitempty"` // in US dollars; 0 if the price is unknown
	Updated    time.Time `json:"updated"`

	Cancelled bool   `json:"-"` // Cancel was called
	Revision  uint64 `json:"-"` // Commit expects it; 0 if no state is stored
}

// A Begun is a call that acts outside of the workspace. A worker stored it before the call, so
// the call may have happened.
type Begun struct {
	Step int             `json:"step"`
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args"`
}

// A Status is the status of a run.
type Status string

// The values of Status.
const (
	Waiting   Status = "waiting"   // for a worker
	Running   Status = "running"   // a worker owns the run; the worker may be lost
	Completed Status = "completed" // the expert says that the work is done
	Stopped   Status = "stopped"   // at a limit, or to wait for an answer of the user
	Failed    Status = "failed"
	Cancelled Status = "cancelled"
)

// Over reports whether a run has ended.
func (s Status) Over() bool { return s != Waiting && s != Running }

// A Workspace is the state of a workspace between steps.
type Workspace struct {
	Name   string `json:"name"`
	Tenant string `json:"tenant"`
	// the sum of the blob that lists its files; "" if no files are stored
	Manifest string          `json:"manifest"`
	Run      string          `json:"run,omitempty"`   // the run that holds the workspace; "" for none
	Todos    *skill.Snapshot `json:"todos,omitempty"` // of the callers of its tools
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

	Agent json.RawMessage `json:"agent,omitempty"` // an agent.Event, if Kind is Agent
	// the sums of the blobs that hold a large Agent, separated by spaces: see [AgentEvent]
	Blob string `json:"blob,omitempty"`

	Sequence uint64 `json:"-"` // place among all events of the plane; 0 before the event is stored
}

// A Kind is the kind of an Event.
type Kind string

// The values of Kind.
const (
	Submitted Kind = "submitted"
	Claimed   Kind = "claimed"  // a worker begins or continues the run
	Agent     Kind = "agent"    // the expert works
	Returned  Kind = "returned" // the worker cannot continue and gives the run to another
	Begins    Kind = "begins"   // the worker is about to make a call that acts outside
	Ended     Kind = "ended"
	Words     Kind = "words" // Text continues the model's words; sent live, never stored
)

// A Worker describes a worker that asks for jobs.
type Worker struct {
	Name   string         // unique in the fleet
	Labels []string       // the worker also takes runs with these labels
	Slots  int            // runs at once
	Quotas map[string]int // by tenant: its running runs in the fleet; a missing tenant has no limit
}
