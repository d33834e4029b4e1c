// Package page serves a web page on what happens in a workspace, or on many machines: runs of
// experts as they go, changes of files with their diffs and a button to undo each, servers
// and their logs, and how golden files did.
//
// A page takes all that it shows from the interfaces of a [Config]. [Workspace] implements
// some of them for a workspace, and package runs beside this one implements [Runs] for
// recorded runs.
//
// [Serve] runs until its context ends. It demands the token of the Config, and answers
// nobody else.
package page

import (
	"context"
	"time"
)

// A Config says what a page shows. A nil part is left out.
type Config struct {
	Title    string   // what the page is of, such as the path of a workspace
	Program  string   // how a person starts the program, for what the page says to type; "" means skill
	Begin    string   // the words after it that begin a run; "" means run EXPERT "QUERY"
	Token    string   // what opens the page; required
	Hosts    []string // further host names that clients may use, without a port
	ReadOnly bool     // nothing can be undone
	Runs     Runs
	Changes  Changes
	Servers  Servers
	Tests    Tests
}

// Runs are the runs of experts.
type Runs interface {
	// List returns at most limit runs, the one that was last active first, and how many
	// more there are.
	List(ctx context.Context, limit int) (runs []Run, more int, err error)

	// Run returns a run with its last events, at most limit, the oldest first, and how
	// many there are before them.
	Run(ctx context.Context, id string, limit int) (r Run, events []Event, before int, err error)
}

// A Run is a run of an expert.
type Run struct {
	ID      string
	Expert  string
	Model   string
	Query   string
	State   string // in a word or two: "running", "completed"
	Live    bool   // somebody is working on it
	Failed  bool
	Holder  string // where it runs; "" for this machine
	Step    int    // the last one, from 1
	Tokens  int
	Cost    string // like "$0.0012"; "" if it is not known
	Started time.Time
	Updated time.Time
	Problem string // why this is not all that is to be known; "" if it is
}

// An Event is something that happened in a run.
type Event struct {
	ID      string // without spaces, unique in the run
	Time    time.Time
	Step    int
	What    string // in a few words: "calls readFile"
	Words   string // the model's own
	Text    string // what was asked for or answered
	Report  bool   // Words are the report of the run
	More    string // the command that prints both, if they are cut
	Failed  bool
	Changes []string // IDs of changes that were made
}

// Changes are the recorded changes of files.
type Changes interface {
	// List returns at most limit changes, the newest first, and how many more there are,
	// or [skill.MaxMore] if there are that many or more.
	List(ctx context.Context, limit int) (changes []Change, more int, err error)

	// Change returns a change.
	Change(ctx context.Context, id string) (Change, error)

	// Diff returns what a change did, as a unified diff.
	Diff(ctx context.Context, id string) (string, error)

	// Undo undoes a change, and returns the ID of that undo, which is a change too. Force
	// undoes it also where a file was changed since. If force would help, the error is a
	// [*skill.UndoError] that says so.
	Undo(ctx context.Context, id string, force bool) (undo string, err error)

	// UndoAll undoes a change and all later ones or, if run is not "", the changes of that
	// run.
	UndoAll(ctx context.Context, since, run string) error
}

// A Change is a recorded change of files.
type Change struct {
	ID      string
	Time    time.Time
	What    string // in a sentence: "write notes/a.txt"
	By      string // what made it: a tool, a command; "" if that is not known
	Run     string // the run that made it; "" for none
	Step    int    // of the run
	Of      string // the change that this one undid; "" if it is not an undo
	Undone  bool
	Idle    bool   // it changed nothing
	NotKept string // why it cannot be undone; "" if it can
}

// Servers are commands that run in the background.
type Servers interface {
	List(ctx context.Context) ([]Server, error)

	// Log returns a server and the end of its output.
	Log(ctx context.Context, id string) (s Server, log string, more bool, err error)
}

// A Server is a command that runs in the background.
type Server struct {
	ID      string
	Command string
	State   string // in a sentence
	Running bool
	Started time.Time
	Log     string // the file of its output
}

// Tests are the last results of golden files.
type Tests interface {
	Results(ctx context.Context) (TestRun, error)
}

// A TestRun is how golden files did.
type TestRun struct {
	Source  string    // where the results come from
	Time    time.Time // when they were written
	Done    bool      // all have been played
	Passed  int
	Results []Result
}

// A Result is how a golden file did.
type Result struct {
	File string
	OK   bool
	Text string // what it printed instead, or why it could not be played
	More string // the command that prints that, if it is cut
}
