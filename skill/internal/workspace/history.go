package workspace

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"textskill/skill/internal/history"
)

// A HistoryEntry is one change in the journal.
type HistoryEntry struct {
	ID            string
	Time          time.Time
	Dialect, Tool string // the dialect and tool that made the change; "" if unknown
	Kind          Kind
	Path          string      // absolute
	From          string      // absolute; the source of a move
	Command       string      // of a run: the program
	Run           string      // the expert's run, or another agent's session; "" for neither
	Host          string      // the program of another agent, which reported the change
	Agent         string      // the kind of that agent's sub-agent; "" is the agent itself
	RunStep       int         // the step of the run; 0 for none, as for undos
	Paths         []string    // of a run or a patch: all changed paths, absolute
	Config        []string    // of a run: changed files that can make other programs run code
	Left          []Untracked // changes that undo does not revert
	More          int         // number of further changes that Left omits
	Of            string      // of an undo: the ID of the undone change
	Undone        bool        // the change was undone, and not redone
	Idle          bool        // the change left nothing that undo could revert
	NotKept       string      // why the change cannot be undone; "" if it can
	Unsure        string      // who else may have made some of the changes; "" if the author is certain
	Grade         string      // how sure the record is of the least certain change; "" if the author is certain
	See           []string    // changes that may hold what the same command changed
	Partly        bool        // an undo left some of the paths
}

// String returns the entry as one line.
func (e HistoryEntry) String() string {
	text := string(e.Kind) + " " + e.Path
	if e.Host != "" { // Command is a whole command line, not only a program
		e.Command = oneLine(e.Command)
	}
	switch {
	case e.From != "":
		text = string(e.Kind) + " " + e.From + " to " + e.Path
	case e.Command != "" && len(e.Paths) > 1:
		text = fmt.Sprintf("%s %s: %s and %d more", e.Kind, e.Command, e.Path, len(e.Paths)-1)
	case e.Command != "":
		text = string(e.Kind) + " " + e.Command + ": " + e.Path
	case len(e.Paths) > 1:
		text = fmt.Sprintf("%s and %d more", text, len(e.Paths)-1)
	case e.Of != "":
		text = string(e.Kind) + " " + e.Of + ": " + e.Path
	}
	if notes := e.notes(); len(notes) > 0 {
		text += " (" + strings.Join(notes, ", ") + ")"
	}
	return e.ID + "  " + e.Time.Local().Format(time.DateTime) + "  " + text
}

// notes returns the remarks that String prints in parentheses.
func (e HistoryEntry) notes() (notes []string) {
	switch who := strings.TrimSuffix(e.Host+"/"+e.Agent, "/"); {
	case e.Host != "":
		notes = append(notes, strings.TrimSpace(who+" "+e.Tool))
	case e.Tool != "":
		notes = append(notes, e.Tool)
	}
	switch {
	case e.Host != "" && e.Run != "":
		notes = append(notes, "session "+e.Run)
	case e.RunStep > 0:
		notes = append(notes, fmt.Sprintf("run %s, step %d", e.Run, e.RunStep))
	case e.Run != "":
		notes = append(notes, "run "+e.Run)
	}
	switch {
	case e.Partly:
		notes = append(notes, "partly undone")
	case e.Undone:
		notes = append(notes, "undone")
	}
	switch {
	case e.Idle && len(e.Left) > 0:
		notes = append(notes, "changed nothing that undo takes back")
	case e.Idle && len(e.See) > 0:
	case e.Idle:
		notes = append(notes, "changed nothing")
	}
	if len(e.See) > 0 {
		notes = append(notes, "changes of it may be in "+strings.Join(e.See, ", "))
	}
	if e.NotKept != "" {
		notes = append(notes, "not kept: "+e.NotKept)
	}
	if e.Unsure != "" {
		notes = append(notes, e.Grade+": "+e.Unsure)
	}
	if len(e.Config) > 0 {
		notes = append(notes, "can make programs run code: "+strings.Join(e.Config, ", "))
	}
	if len(e.Left) > 0 {
		notes = append(notes, "undo leaves "+e.LeftList())
	}
	return notes
}

// WhyNotKept returns why no part of the change can be undone, "" if a part can.
func (e HistoryEntry) WhyNotKept() string {
	if e.Idle && len(e.Left) > 0 {
		return e.Left[0].Reason
	}
	return e.NotKept
}

// LeftList names up to three files that undo does not revert.
func (e HistoryEntry) LeftList() string {
	const most = 3
	var names []string
	for _, l := range e.Left[:min(len(e.Left), most)] {
		if l.Path != "" {
			names = append(names, l.Path)
		}
	}
	if n := len(e.Left) + e.More - len(names); n > 0 && len(names) > 0 {
		names = append(names, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(names, ", ")
}

// History iterates over the recorded changes, the newest first. With a [Workspace.Position] it yields
// only later changes. It reads the history as the caller iterates, and ends after an error.
func (w *Workspace) History(ctx context.Context, after ...string) iter.Seq2[HistoryEntry, error] {
	return w.HistoryOf(ctx, "", after...)
}

// HistoryOf is History for the changes of the file abs, or of the folder abs and the files below it.
// "" means all changes.
func (w *Workspace) HistoryOf(ctx context.Context, abs string,
	after ...string) iter.Seq2[HistoryEntry, error] {
	return func(yield func(HistoryEntry, error) bool) {
		var heads []historyHead
		for _, j := range w.journals {
			if j.off {
				continue
			}
			next, stop := iter.Pull2(w.entries(ctx, j, abs, after))
			defer stop()
			heads = append(heads, historyHead{next: next})
		}
		for i := range heads {
			heads[i].take()
		}
		for {
			var newest *historyHead
			for i := range heads {
				switch head := &heads[i]; {
				case head.err != nil:
					yield(HistoryEntry{}, head.err)
					return
				case head.more && (newest == nil || head.entry.Time.After(newest.entry.Time)):
					newest = head
				}
			}
			if newest == nil || !yield(newest.entry, nil) {
				return
			}
			newest.take()
		}
	}
}

// A historyHead holds the newest change of one history that HistoryOf has not yielded yet.
type historyHead struct {
	next  func() (HistoryEntry, error, bool)
	entry HistoryEntry
	err   error
	more  bool
}

func (h *historyHead) take() { h.entry, h.err, h.more = h.next() }

// entries is HistoryOf for one history.
func (w *Workspace) entries(ctx context.Context, j *journal, abs string,
	after []string) iter.Seq2[HistoryEntry, error] {
	return func(yield func(HistoryEntry, error) bool) {
		s, err := j.open()
		if errors.Is(err, errNoHistory) {
			return
		}
		if err != nil {
			yield(HistoryEntry{}, wrap("open", j.root.dir, err))
			return
		}
		name := history.Name("")
		if _, all := below(abs, j.root.dir); abs != "" && !all {
			name = j.nameOf(abs)
		}
		for l, err := range s.Ops(ctx, w.numberAt(j, after), name) {
			if err != nil {
				yield(HistoryEntry{}, wrap("open", j.root.dir, err))
				return
			}
			if l.IsDamaged() || l.Unmade || !w.holdsAll(j, l.Op) {
				continue
			}
			if e := w.entry(j, l); (abs == "" || e.isAbout(abs)) && !yield(e, nil) {
				return
			}
		}
	}
}

// isAbout reports whether a change is about abs or a file below abs.
func (e HistoryEntry) isAbout(abs string) bool {
	in := func(path string) bool {
		_, in := below(abs, path)
		return in && path != ""
	}
	return in(e.Path) || in(e.From) || slices.ContainsFunc(e.Paths, in) ||
		slices.ContainsFunc(e.Left, func(l Untracked) bool { return in(l.Path) })
}

// entry converts an op of a journal.
func (w *Workspace) entry(j *journal, l history.Listed) HistoryEntry {
	op := l.Op
	e := HistoryEntry{
		ID: w.changeID(j, op.ID), Time: op.Time, Dialect: op.Dialect, Tool: op.Tool, Kind: Kind(op.Kind),
		Command: op.Command,
		Run:     op.Run, RunStep: op.RunStep, Host: op.Host, Agent: op.Agent, Partly: l.Partly,
		Undone: l.Undone, NotKept: op.Note, More: op.More, Path: j.path(mainPath(op)),
	}
	e.Idle = !l.IsUndo && l.IsIdle()
	if l.Doubt != "" {
		e.Grade, e.Unsure = string(l.Grade), l.Doubt
	}
	if n := len(op.Deltas); n > 0 && op.Deltas[n-1].From != "" && !l.IsUndo {
		e.From = j.path(op.Deltas[n-1].From)
	}
	for _, id := range l.See {
		e.See = append(e.See, w.changeID(j, id))
	}
	forbidden := forbids(false)
	for _, d := range op.Deltas {
		if e.Kind == Run || e.Kind == Patch {
			e.Paths = append(e.Paths, j.path(d.Path))
		}
		if e.Kind == Run && forbidden(string(d.Path)) != "" {
			e.Config = append(e.Config, j.path(d.Path))
		}
	}
	for _, left := range op.Left {
		path := ""
		if left.Path != "" {
			path = j.path(left.Path)
		}
		e.Left = append(e.Left, Untracked{Path: path, Reason: left.Why})
	}
	if l.IsUndo {
		e.Kind, e.Of = Undo, w.changeID(j, op.Undoes)
	}
	return e
}
