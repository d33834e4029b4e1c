package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"textskill/skill/internal/history"
)

// UndoOptions say what to undo. The zero value undoes the last change that is in effect
// and is not an undo itself.
type UndoOptions struct {
	ID    string   // undo this change, which may be an undo
	Since string   // undo this change and all after it; not together with ID
	Run   string   // undo the changes of this run of an expert, and no others; see [WithRun]
	After []string // with Run, only those after this [Workspace.Position]
	Whole bool     // with Run, undo nothing if one of them cannot be undone
	// also if something else has changed the file since, which is saved; what cannot be undone is skipped
	Force bool
}

// Undone is one change that was undone. Its ID is that of the undo.
type Undone struct {
	Change
	Of      string       // the ID of the change that was undone
	What    string       // a few words about that change: `run "npm test"`, "write"
	More    int          // files, besides Path, that were changed back
	Left    int          // files that the change changed besides, which stay as they are
	Skipped []*UndoError // with Force, why files of the change were not undone
	Merged  []string     // absolute: files that keep what was changed in them since
	Lost    []string     // absolute: with Force, files whose later version was replaced, and saved
	Stays   []string     // absolute: folders that stay, because something else is in them
	Passed  []error      // why later changes were skipped: nothing is left of them to undo
}

// An UndoError reports that there is no such change to undo, or that it cannot be
// undone as things are.
type UndoError struct {
	ID     string // of the change; "" if none was named
	Path   string // absolute, of the file that is in the way; "" if none is
	Reason string
	Force  bool   // [UndoOptions].Force would undo it, or the rest of it
	Before string // of a bare undo: the ID of the change before this one; "" for the oldest change
}

func (e *UndoError) Error() string {
	switch {
	case e.ID == "":
		return e.Reason
	case e.Path == "":
		return "change " + e.ID + " " + e.Reason
	}
	return "change " + e.ID + " cannot be undone: " + e.Path + " " + e.Reason
}

// Hint says what to do, "" if nothing helps.
func (e *UndoError) Hint() string {
	var hints []string
	if e.Force {
		hints = append(hints, "force: true goes on anyway: what it replaces is saved first, and what cannot be undone is skipped")
	}
	if e.Before != "" {
		hints = append(hints, "id: "+e.Before+" undoes the change before it")
	}
	return strings.Join(hints, "; ")
}

// errNoHistory is the error of a history that does not exist and is not made.
var errNoHistory = fs.ErrNotExist

// An undoing is an undo of one call, with the locks of all histories.
type undoing struct {
	w    *Workspace
	l    *heldLocks
	how  history.How
	done []Undone
}

// Undo undoes changes, the last one first. Those that were undone before an error stay
// undone, and are returned with it. Errors are [*UndoError], [*PartlyUndoneError] or the workspace's own.
func (w *Workspace) Undo(ctx context.Context, o UndoOptions) (done []Undone, err error) {
	if err := w.checkWritable(); err != nil {
		return nil, wrap("change", w.Dir(), err)
	}
	if w.journals[0].off {
		return nil, &UndoError{Reason: "there is no journal, and so nothing to undo"}
	}
	l, err := w.lockJournals(ctx, w.journals)
	if errors.Is(err, errNoHistory) && w.opts.DryRun {
		return nil, &UndoError{Reason: "there is nothing to undo"}
	}
	if err != nil {
		return nil, err
	}
	a := about(ctx, "")
	u := &undoing{w: w, l: l, how: history.How{About: a, Force: o.Force, Config: w.opts.AllowConfig,
		Dry: w.opts.DryRun}}
	done, err = u.run(ctx, o)
	l.release()
	if serr := u.settle(); err == nil {
		err = serr
	}
	return done, err
}

// settle makes the undos durable.
func (u *undoing) settle() error {
	if u.w.opts.DryRun || u.w.opts.NoSync || len(u.done) == 0 {
		return nil
	}
	var errs []error
	for _, j := range u.w.journals {
		if j.store != nil {
			errs = append(errs, j.store.FlushAll())
		}
	}
	return errors.Join(errs...)
}

func (u *undoing) run(ctx context.Context, o UndoOptions) ([]Undone, error) {
	switch {
	case o.Run != "":
		return u.ofRun(ctx, o)
	case o.ID == "" && o.Since == "":
		return u.last(ctx)
	case o.ID != "" && o.Since != "":
		return nil, unknown(o.ID)
	case o.ID != "":
		return u.named(ctx, o.ID)
	}
	return u.since(ctx, o.Since)
}

func unknown(id string) error {
	const most = 200 // bytes
	if len(id) > most {
		id = strings.ToValidUTF8(id[:most], "") + "…"
	}
	return &UndoError{ID: id, Reason: `is not one of this workspace; "history" lists all changes`}
}

func notRecorded(id string) error {
	return &UndoError{ID: id, Reason: `is not in the history; "history" lists all changes`}
}

// A candidate is an op of one of the histories.
type candidate struct {
	j  *journal
	id int64
	op history.Listed

	at   int64 // the number by which it is ordered in its history
	time time.Time
}

// candidates returns the ops that wanted accepts, of all histories, the newest first.
func (u *undoing) candidates(wanted func(j *journal, l history.Listed) (take, more bool)) (list []candidate) {
	for _, j := range u.w.journals {
		if j.off {
			continue
		}
		for l := range u.l.tx(j).Newest() {
			take, more := wanted(j, l)
			if !more {
				break
			}
			if !take || !u.w.holdsAll(j, l.Op) {
				continue
			}
			c := candidate{j, l.ID, l, l.ID, l.Time}
			// a change that was made again counts as of when it was made
			if tx := u.l.tx(j); tx.InForceNow(l.ID) {
				c.at = tx.Origin(l.ID)
				if o, ok := tx.Find(c.at); ok {
					c.time = o.Time
				}
			}
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, func(a, b candidate) int {
		if a.j == b.j {
			return cmp.Compare(b.at, a.at)
		}
		return b.time.Compare(a.time)
	})
	return list
}

// holdsAll reports whether all of an op is inside w, which it need not be if the
// history is another Workspace's.
func (w *Workspace) holdsAll(j *journal, op *history.Op) bool {
	return !w.borrowed || !slices.ContainsFunc(op.Deltas, func(d history.Delta) bool {
		_, ok := w.matchRoot(j.path(d.Path))
		return !ok
	})
}

// one undoes an op.
func (u *undoing) one(ctx context.Context, j *journal, id int64) (Undone, error) {
	tx := u.l.tx(j)
	if tx.InForceNow(id) { // of a change that was made again, the change is named
		id = tx.Origin(id)
	}
	return u.exactly(ctx, j, id)
}

// exactly undoes an op, and names it.
func (u *undoing) exactly(ctx context.Context, j *journal, id int64) (Undone, error) {
	d, err := u.l.tx(j).Undo(ctx, id, u.how)
	if no, ok := errors.AsType[*history.ConflictError](err); ok {
		return Undone{}, u.w.undoError(j, no)
	}
	if err != nil {
		return Undone{}, err
	}
	done := u.w.undone(j, d)
	u.done = append(u.done, done)
	return done, nil
}

func (w *Workspace) undoError(j *journal, no *history.ConflictError) *UndoError {
	e := &UndoError{ID: w.changeID(j, no.ID), Reason: no.Reason, Force: no.Force}
	if no.Path != "" {
		e.Path = j.path(no.Path)
	}
	return e
}

// undone describes an undo.
func (w *Workspace) undone(j *journal, d history.Undone) Undone {
	u := Undone{Of: w.changeID(j, d.Of.ID), What: describe(d.Of), Left: d.Of.More}
	for _, l := range d.Of.Left {
		if l.Path != "" {
			u.Left++
		}
	}
	u.Kind, u.Path = Undo, j.path(mainPath(d.Of))
	if d.Op.ID != 0 {
		u.ID, u.Applied = w.changeID(j, d.Op.ID), true
	}
	paths := map[history.Name]bool{}
	for _, o := range d.Op.Deltas {
		paths[o.Path] = true
	}
	if k := Kind(d.Of.Kind); k == Run || k == Patch || d.Of.Undoes != 0 {
		u.More = max(len(paths)-1, 0)
	}
	for _, s := range d.Skipped {
		u.Skipped = append(u.Skipped, w.undoError(j, s))
	}
	abs := func(names []history.Name) (list []string) {
		for _, n := range names {
			list = append(list, j.path(n))
		}
		return list
	}
	u.Merged, u.Lost, u.Stays = abs(d.Merged), abs(d.Lost), abs(d.Stays)
	return u
}

// describe says in a few words what an op was.
func describe(op *history.Op) string {
	if op.Command != "" {
		return op.Kind + " " + strconv.Quote(oneLine(op.Command))
	}
	return op.Kind
}

// mainPath returns the path that names an op: where a move leads, what a command changed last, or what
// else is changed besides folders that are made for it.
func mainPath(op *history.Op) history.Name {
	if n := len(op.Deltas); n > 0 {
		return op.Deltas[n-1].Path
	}
	if len(op.Left) > 0 && op.Left[0].Path != "" {
		return op.Left[0].Path
	}
	return "."
}

// last undoes the newest change that is in force. If it cannot be undone, nothing is done: an older one
// may be about the same files. A change that has nothing left to undo is passed over.
func (u *undoing) last(ctx context.Context) ([]Undone, error) {
	list := u.candidates(func(j *journal, l history.Listed) (take, more bool) { return u.l.tx(j).InForceNow(l.ID), true })
	var passed []error
	u.how.Newest = !u.how.Force
	for i, c := range list {
		done, err := u.one(ctx, c.j, c.id)
		no, refused := errors.AsType[*UndoError](err)
		switch {
		case err == nil:
			done.Passed = passed
			return []Undone{done}, nil
		case errors.Is(err, history.ErrNoEffect):
			passed = append(passed, u.noEffect(c))
		case refused && c.op.Quiet:
			passed = append(passed, no)
		case refused && u.how.Force:
			passed = append(passed, no)
		case refused:
			for _, older := range list[i+1:] {
				no.Before = u.w.changeID(older.j, u.l.tx(older.j).Origin(older.id))
				break
			}
			return nil, no
		default:
			return nil, err
		}
	}
	if len(passed) > 0 && u.how.Force {
		return nil, passed[0]
	}
	return nil, &UndoError{Reason: "there is nothing to undo"}
}

func (u *undoing) noEffect(c candidate) error {
	if l, ok := u.l.tx(c.j).Find(c.id); ok && l.IsIdle() {
		return &UndoError{ID: u.w.changeID(c.j, c.id), Reason: "left everything as it was"}
	}
	return &UndoError{ID: u.w.changeID(c.j, c.id), Reason: "is not in effect: everything is as it was before"}
}

// named undoes one change.
func (u *undoing) named(ctx context.Context, id string) ([]Undone, error) {
	j, n, ok := u.w.byID(id)
	if !ok {
		return nil, unknown(id)
	}
	if l, ok := u.l.tx(j).Find(n); ok && !u.w.holdsAll(j, l.Op) {
		return nil, unknown(id)
	}
	done, err := u.exactly(ctx, j, n)
	if errors.Is(err, history.ErrNoEffect) {
		return nil, u.noEffect(candidate{j: j, id: n})
	}
	if err != nil {
		return nil, err
	}
	return []Undone{done}, nil
}

// since undoes the change that is named and all after it, in all histories. If it is an
// undo, that makes what was undone since again. With force it passes over those that cannot be
// undone.
func (u *undoing) since(ctx context.Context, id string) ([]Undone, error) {
	j, n, ok := u.w.byID(id)
	if !ok {
		return nil, unknown(id)
	}
	first, ok := u.l.tx(j).Find(n)
	if !ok || !u.w.holdsAll(j, first.Op) {
		return nil, notRecorded(id)
	}
	list := u.candidates(func(at *journal, l history.Listed) (take, more bool) {
		if at == j && l.ID < n || at != j && l.Time.Before(first.Time) {
			return false, false
		}
		if tx := u.l.tx(at); at == j {
			return tx.Differs(l.ID, n) && (first.IsUndo || tx.InForceNow(l.ID)), true
		}
		return u.l.tx(at).InForceNow(l.ID), true
	})
	var passed []error
	u.how.Newest = !u.how.Force
	for i, c := range list {
		done, err := u.one(ctx, c.j, c.id)
		no, refused := errors.AsType[*UndoError](err)
		switch {
		case err == nil:
			u.done[len(u.done)-1] = done
		case errors.Is(err, history.ErrNoEffect):
			passed = append(passed, u.noEffect(c))
		case refused && (u.how.Force || c.op.Quiet ||
			len(c.op.Deltas) == 0 && c.op.Note == ""):
			passed = append(passed, no)
		case refused:
			no.Force = u.forceHelps(ctx, list[i:]) // which passes it over
			return u.partly(no)
		default:
			return u.done, err
		}
	}
	if n := len(u.done); n > 0 {
		u.done[n-1].Passed = passed
		return u.done, nil
	}
	return nil, refusalOf(passed)
}

// refusalOf returns the first of the errors that names a path.
func refusalOf(passed []error) error {
	for _, err := range passed {
		if no, ok := errors.AsType[*UndoError](err); ok && no.Path != "" {
			return err
		}
	}
	return nil
}

// forceHelps reports whether force would undo one of the changes.
func (u *undoing) forceHelps(ctx context.Context, list []candidate) bool {
	how := u.how
	how.Force, how.Dry = true, true
	return slices.ContainsFunc(list, func(c candidate) bool {
		_, err := u.l.tx(c.j).Undo(ctx, c.id, how)
		return err == nil
	})
}

// partly returns what was undone before an error.
func (u *undoing) partly(no *UndoError) ([]Undone, error) {
	if len(u.done) == 0 || u.w.opts.DryRun {
		return u.done, no
	}
	return u.done, &PartlyUndoneError{Done: u.done, Left: []error{no}}
}

// A PartlyUndoneError reports that some changes of a run were not undone, or one of the changes since
// another one.
type PartlyUndoneError struct {
	Run  string   // "" for the changes since another one
	Done []Undone // those that were undone; nil if Whole was asked for
	Left []error  // why the others were not, the last one first
}

func (e *PartlyUndoneError) Error() string {
	var left []string
	for _, err := range e.Left {
		left = append(left, err.Error())
	}
	if e.Run == "" {
		return fmt.Sprintf("later changes were undone (undo of all since %s makes them again), and %s",
			e.Done[0].ID, strings.Join(left, "; "))
	}
	return fmt.Sprintf("%d changes of the run %s were undone, and %d were not: %s", len(e.Done), e.Run,
		len(left), strings.Join(left, "; "))
}

// Unwrap returns the errors of the changes that were not undone.
func (e *PartlyUndoneError) Unwrap() []error { return e.Left }

// Force reports whether [UndoOptions].Force would undo some of the others.
func (e *PartlyUndoneError) Force() bool {
	return slices.ContainsFunc(e.Left, func(err error) bool {
		u, ok := errors.AsType[*UndoError](err)
		return ok && u.Force
	})
}

// Hint says what to do, "" if nothing helps.
func (e *PartlyUndoneError) Hint() string {
	if !e.Force() {
		return ""
	}
	return "force: true undoes these too; the current versions are saved first"
}

// isOfRun reports whether an op is one of the run, or makes a change of the run again.
func (u *undoing) isOfRun(j *journal, l history.Listed, run string) bool {
	tx := u.l.tx(j)
	if l.Run == run || !tx.InForceNow(l.ID) {
		return l.Run == run
	}
	first, ok := tx.Find(tx.Origin(l.ID))
	return ok && first.Run == run
}

// ofRun undoes the changes of a run, the last one first. It goes on after those that
// cannot be undone. Its undos are changes of the run, too, so that a position which the run
// had before can be returned to.
func (u *undoing) ofRun(ctx context.Context, o UndoOptions) ([]Undone, error) {
	if err := u.reachesBack(o.After); err != nil {
		return nil, err
	}
	u.how.Run, u.how.RunStep = o.Run, 0
	list := u.candidates(func(j *journal, l history.Listed) (take, more bool) {
		from := u.w.numberAt(j, o.After)
		return u.isOfRun(j, l, o.Run) && u.l.tx(j).Differs(l.ID, from+1), l.ID > from
	})
	failed := &PartlyUndoneError{Run: o.Run}
	var passed []error
	for _, c := range list {
		_, err := u.one(ctx, c.j, c.id)
		no, refused := errors.AsType[*UndoError](err)
		switch {
		case err == nil, errors.Is(err, history.ErrNoEffect):
		case refused && len(c.op.Deltas) == 0:
			passed = append(passed, no)
		case refused:
			failed.Left = append(failed.Left, no)
		default:
			return u.done, err
		}
		if o.Whole && len(failed.Left) > 0 {
			break
		}
	}
	if n := len(u.done); n > 0 {
		u.done[n-1].Passed = passed
	}
	switch {
	case len(failed.Left) == 0 && len(u.done) == 0 && len(passed) > 0 && !o.Whole:
		return nil, passed[0]
	case len(failed.Left) == 0:
		return u.done, nil
	case !o.Whole:
		failed.Done = u.done
		return nil, failed
	case u.how.Dry:
		return nil, failed
	}
	return u.takeBack(ctx, failed)
}

// reachesBack returns an error if a history does not go back to the change after.
func (u *undoing) reachesBack(after []string) error {
	for _, j := range u.w.journals {
		from := u.w.numberAt(j, after)
		if from < 0 || j.off {
			continue
		}
		if first := u.l.tx(j).First(); first > from+1 {
			return &UndoError{Reason: fmt.Sprintf(
				"the history begins with change %s, and does not go back to change %s any more",
				u.w.changeID(j, first), u.w.changeID(j, from))}
		}
	}
	return nil
}

// takeBack undoes what this undo of a whole run has done, because the rest of the run failed.
func (u *undoing) takeBack(ctx context.Context, failed error) ([]Undone, error) {
	for _, d := range slices.Backward(slices.Clone(u.done)) {
		if _, err := u.named(ctx, d.ID); err != nil {
			return u.done, errors.Join(failed, err)
		}
	}
	return nil, failed
}

// Position returns where the histories stand: the ID of the last change in each.
func (w *Workspace) Position(ctx context.Context) ([]string, error) {
	var at []string
	for _, j := range w.journals {
		s, err := j.open()
		last := int64(0)
		if err == nil {
			_, last, err = s.Last(ctx)
		}
		if err != nil && !errors.Is(err, errNoHistory) {
			return nil, err
		}
		at = append(at, w.changeID(j, last))
	}
	return at, nil
}

// numberAt returns the number of a position in one history, -1 if it has none. Its op may not
// be there any more.
func (w *Workspace) numberAt(j *journal, position []string) int64 {
	for _, id := range position {
		number, _, _ := strings.Cut(id, "@")
		if n, err := strconv.ParseInt(number, 10, 64); err == nil && w.changeID(j, n) == id {
			return n
		}
	}
	return -1
}
