package workspace

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"
)

// A HistoryEntry is one change in the journal.
type HistoryEntry struct {
	ID            string
	Time          time.Time
	Dialect, Tool string // that made it; "" if not known
	Kind          Kind
	Path          string   // absolute
	From          string   // absolute; the source of a move
	Command       string   // of a run: the program
	Run           string   // the run of an expert that made it; "" for none
	RunStep       int      // in which step; 0 for none, as of its undos
	Paths         []string // of a run or a patch: all that it changed, absolute
	Config        []string // of a run: settings and hooks that it changed besides, and undo leaves
	Of            string   // of an undo: the ID of the change that it undid
	Undone        bool     // and not made again since
	Unmade        bool     // recorded, and certainly not made
	Idle          bool     // it left everything as it was, and undo of the last change passes it over
	NotKept       string   // why it cannot be undone; "" if it can
}

// String returns the entry as one line.
func (e HistoryEntry) String() string {
	what := string(e.Kind) + " " + e.Path
	switch {
	case e.From != "":
		what = string(e.Kind) + " " + e.From + " to " + e.Path
	case e.Command != "" && len(e.Paths) > 1:
		what = fmt.Sprintf("%s %s: %s and %d more", e.Kind, e.Command, e.Path, len(e.Paths)-1)
	case e.Command != "":
		what = string(e.Kind) + " " + e.Command + ": " + e.Path
	case len(e.Paths) > 1:
		what = fmt.Sprintf("%s and %d more", what, len(e.Paths)-1)
	case e.Of != "":
		what = string(e.Kind) + " " + e.Of + ": " + e.Path
	}
	var notes []string
	if e.Tool != "" {
		notes = append(notes, e.Tool)
	}
	switch {
	case e.RunStep > 0:
		notes = append(notes, fmt.Sprintf("run %s, step %d", e.Run, e.RunStep))
	case e.Run != "":
		notes = append(notes, "run "+e.Run)
	}
	if e.Undone {
		notes = append(notes, "undone")
	}
	if e.Idle {
		notes = append(notes, "changed nothing")
	}
	if e.Unmade {
		notes = append(notes, "never made")
	}
	if e.NotKept != "" {
		notes = append(notes, "not kept: "+e.NotKept)
	}
	if len(e.Config) > 0 {
		notes = append(notes, "changed besides: "+strings.Join(e.Config, ", "))
	}
	if len(notes) > 0 {
		what += " (" + strings.Join(notes, ", ") + ")"
	}
	return e.ID + "  " + e.Time.Local().Format(time.DateTime) + "  " + what
}

// History iterates over the changes after a position that are kept, all without one, the newest first. It reads
// no more records than it is asked for, and ends after an error. Folders that were made for a change are part of it.
func (w *Workspace) History(ctx context.Context, after ...string) iter.Seq2[HistoryEntry, error] {
	return w.HistoryOf(ctx, "", after...)
}

// HistoryOf is History of the file abs, or of the folder abs and what is in it. "" is everything.
func (w *Workspace) HistoryOf(ctx context.Context, abs string, after ...string) iter.Seq2[HistoryEntry, error] {
	return func(yield func(HistoryEntry, error) bool) {
		var heads []historyHead
		for _, h := range w.histories {
			next, stop := iter.Pull2(w.entries(ctx, h, abs, after))
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

// A historyHead is the newest change of one history that was not yet listed.
type historyHead struct {
	next  func() (HistoryEntry, error, bool)
	entry HistoryEntry
	err   error
	more  bool
}

func (h *historyHead) take() { h.entry, h.err, h.more = h.next() }

// entries iterates over the changes of one history after a position that are about abs, the newest first.
func (w *Workspace) entries(ctx context.Context, h *history, abs string, after []string) iter.Seq2[HistoryEntry, error] {
	return func(yield func(HistoryEntry, error) bool) {
		from := w.numberAt(h, after)
		name := h.nameOf(abs)
		if _, all := below(abs, h.root.dir); all {
			name = ""
		}
		for c, err := range h.changes(ctx, false) {
			if err != nil {
				yield(HistoryEntry{}, wrap("open", h.root.dir, err))
				return
			}
			if c.ID <= from {
				return
			}
			if name != "" && !c.mayName(name) || !c.applied() || !w.holdsAll(c) {
				continue
			}
			if e := w.entry(c); (abs == "" || e.isAbout(abs)) && !yield(e, nil) {
				return
			}
		}
	}
}

// isAbout reports whether a change is about the file abs, or about the folder abs or what is in it.
func (e HistoryEntry) isAbout(abs string) bool {
	return slices.ContainsFunc(slices.Concat([]string{e.Path, e.From}, e.Paths, e.Config), func(path string) bool {
		_, in := below(abs, path)
		return in
	})
}

func (w *Workspace) entry(c *change) HistoryEntry {
	h, r := c.h, c.Record()
	e := HistoryEntry{ID: w.changeID(h, c.ID), Time: c.time(), Dialect: r.Dialect, Tool: r.Tool, Kind: Kind(r.Kind), Command: r.Command, Run: r.Run, RunStep: r.RunStep, Undone: c.undone, Unmade: w.unmade(c), Idle: c.applied() && c.Undoes == 0 && c.idle(), NotKept: cmp.Or(r.Note, c.Gone)}
	main := c.main()
	e.Path = h.path(main.Path)
	if main.From != "" && c.Undoes == 0 {
		e.From = h.path(main.From)
	}
	for _, s := range r.Steps {
		if e.Kind == Run || e.Kind == Patch {
			e.Paths = append(e.Paths, h.path(s.Path))
		}
	}
	for _, name := range r.Config {
		e.Config = append(e.Config, h.path(name))
	}
	if c.Undoes > 0 {
		e.Kind, e.Of = Undo, w.changeID(h, c.Undoes)
	}
	return e
}
