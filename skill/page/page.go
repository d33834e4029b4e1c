// Package page serves a web page about a workspace, or about a fleet of machines. The page shows:
//
//   - runs of experts, as they happen;
//   - changes of files, with diffs and undo buttons;
//   - trials of commands, with what they would change;
//   - servers, with their logs;
//   - results of golden files.
//
// A page reads its data through the interfaces of a [Config]. [Workspace] implements [Changes], [Trials]
// and [Servers] for a workspace. Package runs implements [Runs] for recorded runs.
//
// [Serve] runs until its context ends. It answers only requests with the token of the Config.
package page

import (
	"context"
	"time"
)

// A Config is the configuration of a page. The page omits nil parts.
type Config struct {
	Title    string   // subject of the page, such as the path of a workspace
	Program  string   // name of the program in commands to type; "" means skill
	Begin    string   // arguments that begin a run; "" means run EXPERT "QUERY"
	Token    string   // opens the page; required
	Hosts    []string // further host names that clients may use, without a port
	ReadOnly bool     // show no undo buttons, and refuse to undo
	Runs     Runs
	Changes  Changes
	Trials   Trials
	Servers  Servers
	Tests    Tests
}

// Runs are the runs of experts.
type Runs interface {
	// List returns at most limit runs, the last active run first. more is the number of
	// further runs.
	List(ctx context.Context, limit int) (runs []Run, more int, err error)

	// Run returns a run with its last events, at most limit, the oldest first. before is the
	// number of earlier events.
	Run(ctx context.Context, id string, limit int) (r Run, events []Event, before int, err error)
}

// A Run is a run of an expert.
type Run struct {
	ID      string
	Expert  string
	Model   string
	Query   string
	State   string // in a word or two: "running", "completed"
	Live    bool   // a process works on the run
	Failed  bool
	Holder  string // the worker of the run; "" for this machine
	Step    int    // the last step, counted from 1
	Tokens  int
	Cost    string // like "$0.0012"; "" if unknown
	Started time.Time
	Updated time.Time
	Problem string // why data is missing, or why the run failed; "" for no problem
}

// An Event is something that happened in a run.
type Event struct {
	ID      string // without spaces, unique in the run
	Time    time.Time
	Step    int
	What    string // in a few words: "calls readFile"
	Words   string // of the model
	Text    string // the arguments or the result of a call, or another text
	Report  bool   // Words are the report of the run
	More    string // command that prints Words and Text in full
	Failed  bool
	Changes []string // IDs of changes that the event made
}

// Changes are the recorded changes of files.
type Changes interface {
	// List returns at most limit changes, the newest first. more is the number of older changes,
	// at most [skill.MaxMore].
	List(ctx context.Context, limit int) (changes []Change, more int, err error)

	// Change returns a change.
	Change(ctx context.Context, id string) (Change, error)

	// Diff returns the unified diff of a change.
	Diff(ctx context.Context, id string) (string, error)

	// Undo undoes a change, and returns the ID of the undo, which is a change too. With force, it
	// also undoes files that were changed later. If force would help, the error is a
	// [*skill.UndoError] with Force set.
	Undo(ctx context.Context, id string, force bool) (undo string, err error)

	// UndoAll undoes the changes of a run. If run is "", it undoes the change since and all later
	// changes.
	UndoAll(ctx context.Context, since, run string) error
}

// A Change is a recorded change of files.
type Change struct {
	ID      string
	Time    time.Time
	What    string // in a sentence: "write notes/a.txt"
	By      string // the tool or command that made the change; "" if unknown
	Run     string // the run that made the change; "" for none
	Step    int    // of the run
	Of      string // the undone change, if this change is an undo; else ""
	Undone  bool
	Idle    bool   // the change left all files as they were
	NotKept string // why the change cannot be undone; "" if it can be undone
}

// Trials are commands that ran on a view of the workspace, whose changes are not made.
type Trials interface {
	List(ctx context.Context) ([]Trial, error)
}

// A Trial is a command that ran on a view of the workspace.
type Trial struct {
	ID      string
	Command string
	Files   int // how many files it changes
	Began   time.Time
	Diff    string // of all files
}

// Servers are commands that run in the background.
type Servers interface {
	List(ctx context.Context) ([]Server, error)

	// Log returns a server and the end of its log. more says that the log has earlier lines.
	Log(ctx context.Context, id string) (s Server, log string, more bool, err error)
}

// A Server is a command that runs in the background.
type Server struct {
	ID      string
	Command string
	State   string // in a sentence
	Running bool
	Started time.Time
	Log     string // path of the log
}

// Tests are the last results of golden files.
type Tests interface {
	Results(ctx context.Context) (TestRun, error)
}

// A TestRun is the results of golden files.
type TestRun struct {
	Source  string    // the file with the results
	Time    time.Time // when the results were written
	Done    bool      // all golden files were played
	Passed  int
	Results []Result
}

// A Result is the result of a golden file.
type Result struct {
	File string
	OK   bool
	Text string // the diff to the expected output, or an error
	More string // command that prints Text in full
}
