package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"textskill/skill/internal/history"
)

// UndoOptions say which changes to undo. The zero value undoes the latest change in force that is
// not an undo itself.
type UndoOptions struct {
	ID    string   // undo this change, which may be an undo
	Since string   // undo this change and all later ones; not together with ID
	Run   string   // undo only the changes of this expert's run; see [Author]
	After []string // with Run, only changes after this [Workspace.Position]
	Whole bool     // with Run, undo nothing if one of the changes cannot be undone
	// also undo files that changed later, and save their later version; skip files that cannot be undone
	Force bool
	// also undo paths that others may have changed: those that several commands may have changed, and
	// the changes of commands whose end is not known
	Perhaps bool
}

// Undone describes one undo. Its ID is the ID of the undo.
type Undone struct {
	Change
	Of      string       // the ID of the undone change
	What    string       // a short description of that change: `run "npm test"`, "write"
	More    int          // number of reverted files besides Path
	Left    int          // number of changed files that the undo did not revert
	Leaves  []Untracked  // why, for those outside NotSeen
	Skipped []*UndoError // with Force, why files of the change were not reverted
	Kept    []*UndoError // why files stay that others may have changed
	Took    []string     // with Force, the IDs of later changes that the undo took back too
	NotSeen []string     // folders that tools build again, which the undo of a command leaves alone
	Steps   []UndoStep   // of a dry run: what the undo would do at each path
	Diff    string       // of a dry run: unified
	Merged  []string     // absolute: files that keep their later changes
	Lost    []string     // absolute: with Force, files whose later version was saved and replaced
	Stays   []string     // absolute: folders that stay because they are not empty
	// absolute: for a restored file, the name of the file that it was another name of
	Unlinked map[string]string
	Held     map[string]string // absolute: files that were taken back, and the program that has each open
	Unasked  []string          // absolute: files whose open programs the system does not tell
	Passed   []error           // why undo skipped later changes: they have nothing left to undo
}

// An UndoStep says what an undo would do at a path.
type UndoStep struct {
	Path  string // absolute
	Does  string // "restore", "delete" or "leave"
	Grade string // how sure the record is that the change made it: see package history
}

// An UndoError reports that a change does not exist or cannot be undone.
type UndoError struct {
	ID     string // the change; "" if the caller named no change
	Path   string // absolute: the file that prevents the undo; "" if no file does
	Reason string
	Force  bool   // [UndoOptions].Force would undo the change, at least in part
	Grade  string // how sure the record is of the change, if that alone stops the undo
	More   int    // how many other files stop the undo for the same reason
	Before string // of a bare undo: the ID of the next older change, or ""
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

// Hint says how to undo the change anyway, "" if that is impossible.
func (e *UndoError) Hint() string {
	var hints []string
	if e.Grade != "" {
		hints = append(hints, "perhaps: true takes it too")
	}
	if e.Force {
		hints = append(hints, "force: true goes on anyway: what it replaces is saved first, and what cannot be undone is skipped")
	}
	if e.Before != "" {
		hints = append(hints, "id: "+e.Before+" undoes the change before it")
	}
	return strings.Join(hints, "; ")
}

// errNoHistory is the error of opening a history that does not exist, read-only.
var errNoHistory = fs.ErrNotExist

// An undoing is the state of one call of Undo. It holds the locks of all histories.
type undoing struct {
	w    *Workspace
	l    *heldLocks
	how  history.How
	done []Undone
	dry  []shown // of a dry run

	made    Unflushed
	flushed error // of earlier flushes of made
}

// maxOpen is how many folders an undo of many changes keeps open until it flushes them.
const maxOpen = 200

// shown is an undo of a dry run, before its diff is made.
type shown struct {
	j *journal
	d history.Undone
}

// Undo undoes changes, the latest first. If it fails, the earlier undos stay, and Undo returns them
// with the error. Errors are [*UndoError], [*PartlyUndoneError] or the workspace's own.
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
	a := w.about("")
	u := &undoing{w: w, l: l, how: history.How{About: a, Force: o.Force, Perhaps: o.Perhaps,
		Config: w.opts.AllowConfig, Dry: w.opts.DryRun}}
	done, err = u.run(ctx, o)
	l.release()
	if derr := u.show(done); err == nil {
		err = derr
	}
	if ferr := errors.Join(u.flushed, u.made.Flush()); err == nil {
		err = ferr
	}
	return done, err
}

// show adds to the undos of a dry run what they would do.
func (u *undoing) show(done []Undone) error {
	for _, s := range u.dry {
		i := slices.IndexFunc(done, func(d Undone) bool { return d.Of == u.w.changeID(s.j, s.d.Of.ID) })
		if i < 0 {
			i = len(done) - 1 // another part of the same change
		}
		if i < 0 || s.j.store == nil {
			continue
		}
		diff := differ{j: s.j, s: s.j.store, texts: s.d.Texts}
		for _, o := range s.d.Op.Deltas {
			text, err := diff.delta(o)
			if err != nil {
				return wrap("open", s.j.path(o.Path), err)
			}
			does := "restore"
			if o.After.Kind == "" {
				does = "delete"
			}
			done[i].Diff += text
			done[i].Steps = append(done[i].Steps, UndoStep{s.j.path(o.Path), does, string(s.d.Grades[o.Path])})
		}
		for _, kept := range s.d.Kept {
			done[i].Steps = append(done[i].Steps, UndoStep{s.j.path(kept.Path), "leave", string(kept.Grade)})
		}
	}
	return nil
}

// run calls the method for the options.
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

// A candidate is an op that may be undone.
type candidate struct {
	j  *journal
	id int64
	op history.Listed
	of int64 // the number of the change that it is a part of, if that is another

	at   int64     // the number that orders the op in its history
	time time.Time // orders the op among the histories
}

// candidates returns the ops of all histories that wanted accepts, the newest first. It stops reading
// a history when wanted returns false for more.
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
			if !take || !u.w.holdsAll(j, l.Op) || l.IsEnd() {
				continue
			}
			list = append(list, u.candidate(j, l))
		}
	}
	slices.SortStableFunc(list, newestFirst)
	return list
}

func (u *undoing) candidate(j *journal, l history.Listed) candidate {
	c := candidate{j: j, id: l.ID, op: l, at: l.ID, time: l.Time}
	// a redone change counts from the time when it was first made
	if tx := u.l.tx(j); tx.Stands(l.ID) && tx.Origin(l.ID) != l.ID {
		c.at = tx.Origin(l.ID)
		if o, ok := tx.Find(c.at); ok {
			c.time = o.Time
		}
	}
	return c
}

// standing iterates over the ops of all histories that are in force when it begins, the newest first. It reads an op
// only when it is asked for.
func (u *undoing) standing() iter.Seq[candidate] {
	return func(yield func(candidate) bool) {
		left, heads := map[*journal][]int64{}, []candidate{} // of each history the numbers, and the newest op
		take := func(j *journal) {
			for len(left[j]) > 0 {
				l, ok := u.l.tx(j).Find(left[j][0])
				left[j] = left[j][1:]
				if ok && u.w.holdsAll(j, l.Op) && !l.IsEnd() {
					heads = append(heads, u.candidate(j, l))
					return
				}
			}
		}
		for _, j := range u.w.journals {
			if !j.off {
				left[j] = u.l.tx(j).Standing()
				take(j)
			}
		}
		for len(heads) > 0 {
			slices.SortStableFunc(heads, newestFirst)
			c := heads[0]
			if heads = heads[1:]; !yield(c) {
				return
			}
			take(c.j)
		}
	}
}

// holdsAll reports whether all paths of an op are inside w. They may be outside if the history belongs
// to another Workspace.
func (w *Workspace) holdsAll(j *journal, op *history.Op) bool {
	return !w.borrowed || !slices.ContainsFunc(op.Deltas, func(d history.Delta) bool {
		_, ok := w.matchRoot(j.path(d.Path))
		return !ok
	})
}

// undoOrigin undoes an op. For the redo of a change, the result names the original change. alone leaves the
// other parts of the same change to the caller.
func (u *undoing) undoOrigin(ctx context.Context, j *journal, id int64, alone bool) (Undone, error) {
	tx := u.l.tx(j)
	if tx.Stands(id) {
		id = tx.Origin(id)
	}
	return u.undoOp(ctx, j, id, alone)
}

// undoOp undoes the op id, and with it the other parts of the same change. Older parts stay that are in
// conflict with a later change.
func (u *undoing) undoOp(ctx context.Context, j *journal, id int64, alone bool) (Undone, error) {
	tx := u.l.tx(j)
	parts, main := []int64{id}, (*history.Op)(nil)
	if l, ok := tx.Find(id); ok && !l.IsDamaged() {
		if main = l.Op; len(main.Owners) > 0 && !alone {
			parts = tx.Parts(main)
		}
	}
	how := u.how
	if len(parts) > 1 {
		how.Part = history.Owner{Key: fmt.Sprintf("undo-%d", time.Now().UnixNano()), Told: true, Since: tx.LastID()}
	}
	if main != nil && how.With == nil {
		mine := main.FirstTold()
		how.With = mine.SameOwner
	}
	slices.SortFunc(parts, func(a, b int64) int { return cmp.Compare(b, a) })
	var all []history.Undone
	var kept []*history.ConflictError
	noEffect := false
	for _, part := range parts {
		if part != id && !tx.InForce(part) {
			continue
		}
		d, err := tx.Undo(ctx, part, how)
		for n := 0; errors.Is(err, history.ErrChanged) && n < 10; n++ { // somebody saved a file meanwhile
			d, err = tx.Undo(ctx, part, how)
		}
		how.Newest = false
		conflict, refused := errors.AsType[*history.ConflictError](err)
		switch {
		case err == nil:
			if all = append(all, d); u.how.Dry {
				u.dry = append(u.dry, shown{j, d})
			} else {
				u.made.add(Unflushed{1, []*history.Store{j.store}, d.Folders, u.w.opts.NoSync})
				if u.made.Open() > maxOpen {
					u.flushed = errors.Join(u.flushed, u.made.Flush())
				}
			}
		case errors.Is(err, history.ErrNoEffect) && len(parts) > 1:
			noEffect = true
		case refused && (conflict.Grade != "" || len(d.Kept) > 0):
			kept = append(kept, d.Kept...)
		case refused && len(all) > 0: // a later change is on top of this part, and stays
			kept = append(kept, conflict)
		case refused:
			return Undone{}, u.w.undoError(j, conflict)
		default:
			return Undone{}, err
		}
	}
	switch {
	case len(all) == 0 && len(kept) > 0:
		e := u.w.undoError(j, kept[0])
		e.More = len(kept) - 1
		return Undone{}, e
	case len(all) == 0 && noEffect:
		return Undone{}, history.ErrNoEffect
	}
	done := u.w.undone(j, all[0])
	for _, d := range all[1:] {
		done.add(u.w.undone(j, d))
	}
	if len(parts) > 1 {
		done.Of, done.What = u.w.changeID(j, id), describe(main)
	}
	for _, e := range kept {
		done.Kept = append(done.Kept, u.w.undoError(j, e))
	}
	u.done = append(u.done, done)
	return done, nil
}

// add joins the undo of another part of the same change.
func (u *Undone) add(o Undone) {
	u.More += o.More + 1
	u.Left += o.Left
	u.Leaves = append(u.Leaves, o.Leaves...)
	u.Skipped, u.Kept = append(u.Skipped, o.Skipped...), append(u.Kept, o.Kept...)
	u.Merged, u.Lost = append(u.Merged, o.Merged...), append(u.Lost, o.Lost...)
	u.Unasked = append(u.Unasked, o.Unasked...)
	for name, by := range o.Held {
		if u.Held == nil {
			u.Held = map[string]string{}
		}
		u.Held[name] = by
	}
	u.Stays, u.Took = append(u.Stays, o.Stays...), append(u.Took, o.Took...)
}

func (w *Workspace) undoError(j *journal, conflict *history.ConflictError) *UndoError {
	e := &UndoError{ID: w.changeID(j, conflict.ID), Reason: conflict.Reason, Force: conflict.Force,
		Grade: string(conflict.Grade)}
	if conflict.Path != "" {
		e.Path = j.path(conflict.Path)
	}
	return e
}

// undone converts the description of an undo from package history.
func (w *Workspace) undone(j *journal, d history.Undone) Undone {
	u := Undone{Of: w.changeID(j, d.Of.ID), What: describe(d.Of), Left: d.Of.More}
	for _, l := range d.Of.Left {
		if l.Path != "" {
			u.Left++
		}
		if l.Path != "" && !slices.Contains(d.Of.NotSeen, l.Path) {
			u.Leaves = append(u.Leaves, Untracked{Path: j.path(l.Path), Reason: l.Why,
				Lost: l.Lost && d.Op.Kind == history.KindUndo})
		}
	}
	for _, name := range d.Of.NotSeen {
		u.NotSeen = append(u.NotSeen, string(name))
	}
	u.Kind, u.Path = Undo, j.path(mainPath(d.Of))
	if len(d.Kept)+len(d.Skipped) > 0 && len(d.Op.Deltas) > 0 {
		u.Path = j.path(d.Op.Deltas[0].Path)
	}
	if d.Op.ID != 0 {
		u.ID, u.Applied = w.changeID(j, d.Op.ID), true
	}
	paths := map[history.Name]bool{}
	for _, o := range d.Op.Deltas {
		paths[o.Path] = true
		if !o.Before.Whole && !o.After.Whole {
			continue
		}
		for _, in := range d.Of.Deltas {
			if strings.HasPrefix(string(in.Path), string(o.Path)+"/") {
				paths[in.Path] = true
			}
		}
	}
	if k := Kind(d.Of.Kind); k == Run || k == Patch || d.Of.Undoes != 0 {
		u.More = max(len(paths)-1, 0)
	}
	for _, s := range d.Skipped {
		u.Skipped = append(u.Skipped, w.undoError(j, s))
	}
	for _, s := range d.Kept {
		u.Kept = append(u.Kept, w.undoError(j, s))
	}
	for _, id := range d.Took {
		if id := w.changeID(j, id); !slices.Contains(u.Took, id) {
			u.Took = append(u.Took, id)
		}
	}
	abs := func(names []history.Name) (list []string) {
		for _, n := range names {
			list = append(list, j.path(n))
		}
		return list
	}
	u.Unasked = abs(d.Unasked)
	for _, h := range d.Held {
		if u.Held == nil {
			u.Held = map[string]string{}
		}
		u.Held[j.path(h.Path)] = h.By
	}
	u.Merged, u.Lost, u.Stays = abs(d.Merged), abs(d.Lost), abs(d.Stays)
	for _, l := range d.Unlinked {
		if u.Unlinked == nil {
			u.Unlinked = map[string]string{}
		}
		u.Unlinked[j.path(l.Path)] = j.path(l.Of)
	}
	return u
}

// describe returns a short description of an op.
func describe(op *history.Op) string {
	if op.Command != "" {
		return op.Kind + " " + strconv.Quote(oneLine(op.Command))
	}
	return op.Kind
}

// mainPath returns the path that represents an op: the path of its last delta. This is the destination
// of a move, and not a folder that was made for another path.
func mainPath(op *history.Op) history.Name {
	if n := len(op.Deltas); n > 0 {
		return op.Deltas[n-1].Path
	}
	if len(op.Left) > 0 && op.Left[0].Path != "" {
		return op.Left[0].Path
	}
	return "."
}

// last undoes the newest change in force. If that fails, it undoes no older change, which may be about
// the same files. It skips a change that has nothing left to undo.
func (u *undoing) last(ctx context.Context) ([]Undone, error) {
	missed, forget, err := u.missed(ctx)
	if err != nil {
		return nil, err
	}
	var passed []error
	u.how.Newest = !u.how.Force
	next, stop := iter.Pull(u.standing())
	defer stop()
	for c, more := next(); more; c, more = next() {
		if !u.how.Perhaps && missed.Time.After(c.time) {
			return nil, &UndoError{ID: u.w.changeID(c.j, c.id), Grade: string(history.Unproven), Reason: fmt.Sprintf(
				"is not undone: calls of %s were not recorded since, the last one at %s: %s",
				cmp.Or(missed.Host, "an agent"), missed.Time.Local().Format(time.DateTime), missed.Why)}
		}
		done, err := u.undoOrigin(ctx, c.j, c.id, false)
		conflict, refused := errors.AsType[*UndoError](err)
		switch {
		case err == nil:
			if !u.how.Dry && missed.Time.After(c.time) {
				err = forget()
			}
			done.Passed = passed
			return []Undone{done}, err
		case errors.Is(err, history.ErrNoEffect):
			passed = append(passed, u.noEffect(c))
		case refused && c.op.Quiet:
			passed = append(passed, conflict)
		case refused && u.how.Force:
			passed = append(passed, conflict)
		case refused:
			if older, more := next(); more {
				conflict.Before = u.w.changeID(older.j, u.l.tx(older.j).Origin(older.id))
			}
			return nil, conflict
		default:
			return nil, err
		}
	}
	if len(passed) > 0 && u.how.Force {
		return nil, passed[0]
	}
	return nil, &UndoError{Reason: "there is nothing to undo"}
}

// missed returns the newest call that could not be recorded, and a function that forgets all of them.
func (u *undoing) missed(ctx context.Context) (newest history.Miss, forget func() error, err error) {
	var marked []*history.Store
	forget = func() (err error) {
		for _, s := range marked {
			err = errors.Join(err, s.ClearMissed())
		}
		return err
	}
	for _, j := range u.w.journals {
		if j.off || j.store == nil {
			continue
		}
		list, err := j.store.Missed(ctx)
		if err != nil {
			return newest, nil, err
		}
		if n := len(list); n > 0 {
			marked = append(marked, j.store)
			if list[n-1].Time.After(newest.Time) {
				newest = list[n-1]
			}
		}
	}
	return newest, forget, nil
}

// noEffect returns the error for a change with nothing left to undo.
func (u *undoing) noEffect(c candidate) error {
	if l, ok := u.l.tx(c.j).Find(c.id); ok && l.IsIdle() {
		return &UndoError{ID: u.w.changeID(c.j, c.id), Reason: "left everything as it was"}
	}
	return &UndoError{ID: u.w.changeID(c.j, c.id), Reason: "is not in effect: everything is as it was before"}
}

// named undoes the change id.
func (u *undoing) named(ctx context.Context, id string) ([]Undone, error) {
	j, n, ok := u.w.byID(id)
	if !ok {
		return nil, unknown(id)
	}
	if l, ok := u.l.tx(j).Find(n); ok && !u.w.holdsAll(j, l.Op) {
		return nil, unknown(id)
	}
	done, err := u.undoOp(ctx, j, n, false)
	if errors.Is(err, history.ErrNoEffect) {
		return nil, u.noEffect(candidate{j: j, id: n})
	}
	if err != nil {
		return nil, err
	}
	return []Undone{done}, nil
}

// since undoes the change id and all later changes, in all histories. If the change is an undo, since
// also redoes the changes that were undone since. With force it skips changes that cannot be undone.
func (u *undoing) since(ctx context.Context, id string) ([]Undone, error) {
	j, n, ok := u.w.byID(id)
	if !ok {
		return nil, unknown(id)
	}
	first, ok := u.l.tx(j).Find(n)
	if !ok || !u.w.holdsAll(j, first.Op) {
		return nil, notRecorded(id)
	}
	var ends []candidate // with the parts that are only ends
	list := u.candidates(func(at *journal, l history.Listed) (take, more bool) {
		if at == j && l.ID < n || at != j && l.Time.Before(first.Time) {
			return false, false
		}
		if len(l.Owners) > 0 && !l.IsUndo {
			ends = append(ends, candidate{j: at, id: l.ID, op: l})
		}
		if tx := u.l.tx(at); at == j {
			return tx.Differs(l.ID, n) && (first.IsUndo || tx.Stands(l.ID)), true
		}
		return u.l.tx(at).Stands(l.ID), true
	})
	list = u.withOlder(list, ends)
	u.how.With = func(owner history.Owner) bool {
		return owner.Since >= n-1 || slices.ContainsFunc(ends, func(c candidate) bool { return c.op.Ends(owner.Key) })
	}
	var passed []error
	u.how.Newest = !u.how.Force
	for i, c := range list {
		if !u.l.tx(c.j).InForce(c.id) && !u.how.Dry { // undone as a part of another
			continue
		}
		done, err := u.undoOrigin(ctx, c.j, c.id, true)
		conflict, refused := errors.AsType[*UndoError](err)
		switch {
		case err == nil:
			if c.of != 0 {
				done.Of = u.w.changeID(c.j, c.of)
			}
			u.done[len(u.done)-1] = done
		case errors.Is(err, history.ErrNoEffect):
			passed = append(passed, u.noEffect(c))
		case refused && (u.how.Force || c.op.Quiet ||
			len(c.op.Deltas) == 0 && c.op.Note == ""):
			passed = append(passed, conflict)
		case refused:
			conflict.Force = u.forceHelps(ctx, list[i:]) // force would skip this change
			return u.partly(conflict)
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

// withOlder adds the older parts of the commands that ended in ends: all of a command counts from its end.
func (u *undoing) withOlder(list, ends []candidate) []candidate {
	for _, c := range ends {
		tx := u.l.tx(c.j)
		for _, id := range tx.Parts(c.op.Op) {
			if slices.ContainsFunc(list, func(o candidate) bool { return o.j == c.j && o.id == id }) || !tx.Stands(id) {
				continue
			}
			if l, ok := tx.Find(id); ok && !l.IsEnd() {
				list = append(list, candidate{j: c.j, id: id, op: l, of: c.id, at: id, time: l.Time})
			}
		}
	}
	slices.SortStableFunc(list, newestFirst)
	return list
}

// newestFirst orders changes of one history by number, and changes of several by time.
func newestFirst(a, b candidate) int {
	if a.j == b.j {
		return cmp.Compare(b.at, a.at)
	}
	return b.time.Compare(a.time)
}

// refusalOf returns the first error that names a path.
func refusalOf(passed []error) error {
	for _, err := range passed {
		if conflict, ok := errors.AsType[*UndoError](err); ok && conflict.Path != "" {
			return err
		}
	}
	return nil
}

// forceHelps reports whether force would undo at least one of the changes.
func (u *undoing) forceHelps(ctx context.Context, list []candidate) bool {
	how := u.how
	how.Force, how.Dry = true, true
	return slices.ContainsFunc(list, func(c candidate) bool {
		_, err := u.l.tx(c.j).Undo(ctx, c.id, how)
		return err == nil
	})
}

// partly returns the changes that were undone before an error, and the error.
func (u *undoing) partly(conflict *UndoError) ([]Undone, error) {
	if len(u.done) == 0 || u.w.opts.DryRun {
		return u.done, conflict
	}
	return u.done, &PartlyUndoneError{Done: u.done, Left: []error{conflict}}
}

// A PartlyUndoneError reports that some changes were not undone, of a run or of all changes since a
// change.
type PartlyUndoneError struct {
	Run  string   // "" for an undo with [UndoOptions].Since
	Done []Undone // changes that were undone; nil with [UndoOptions].Whole
	Left []error  // why the other changes were not undone, the latest first
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
	done, were := "1 change", "was"
	if len(e.Done) != 1 {
		done, were = fmt.Sprint(len(e.Done), " changes"), "were"
	}
	not := "1 was not"
	if len(left) != 1 {
		not = fmt.Sprint(len(left), " were not")
	}
	return fmt.Sprintf("%s of the run %s %s undone, and %s: %s", done, e.Run, were, not, strings.Join(left, "; "))
}

// Unwrap returns the errors of the changes that were not undone.
func (e *PartlyUndoneError) Unwrap() []error { return e.Left }

// Force reports whether [UndoOptions].Force would undo some of the other changes.
func (e *PartlyUndoneError) Force() bool {
	return slices.ContainsFunc(e.Left, func(err error) bool {
		u, ok := errors.AsType[*UndoError](err)
		return ok && u.Force
	})
}

// Perhaps reports whether [UndoOptions].Perhaps would undo some of the other changes.
func (e *PartlyUndoneError) Perhaps() bool {
	return slices.ContainsFunc(e.Left, func(err error) bool {
		u, ok := errors.AsType[*UndoError](err)
		return ok && u.Grade != ""
	})
}

// Hint says how to undo the change anyway, "" if that is impossible.
func (e *PartlyUndoneError) Hint() string {
	if !e.Force() {
		return ""
	}
	return "force: true undoes these too; the current versions are saved first"
}

// isOfRun reports whether an op belongs to the run, may hold changes of it, or redoes a change of the run.
func (u *undoing) isOfRun(j *journal, l history.Listed, run string) bool {
	tx := u.l.tx(j)
	owned := slices.ContainsFunc(l.Owners, func(o history.Owner) bool { return o.Session == run })
	if l.Run == run || owned || !tx.Stands(l.ID) {
		return l.Run == run || owned
	}
	first, ok := tx.Find(tx.Origin(l.ID))
	return ok && (first.Run == run ||
		slices.ContainsFunc(first.Owners, func(o history.Owner) bool { return o.Session == run }))
}

// ofRun undoes the changes of a run, the latest first. It goes on after a change that cannot be undone.
// Its undos belong to the run too, so that a later undo can return to an earlier position of the run.
func (u *undoing) ofRun(ctx context.Context, o UndoOptions) ([]Undone, error) {
	if err := u.reachesBack(o.After); err != nil {
		return nil, err
	}
	u.how.Run, u.how.RunStep = o.Run, 0
	u.how.With = func(owner history.Owner) bool { return owner.Session == o.Run }
	list := u.candidates(func(j *journal, l history.Listed) (take, more bool) {
		from := u.w.numberAt(j, o.After)
		return u.isOfRun(j, l, o.Run) && u.l.tx(j).Differs(l.ID, from+1), l.ID > from
	})
	ops, moved := map[*journal][]*history.Op{}, map[*journal][]history.Name{}
	for _, c := range list {
		ops[c.j] = append(ops[c.j], c.op.Op)
	}
	for j, list := range ops {
		moved[j] = u.l.tx(j).MovedOn(list)
	}
	failed := &PartlyUndoneError{Run: o.Run}
	var passed []error
	for _, c := range list {
		u.how.Leave = moved[c.j]
		if !u.l.tx(c.j).InForce(c.id) && !u.how.Dry { // undone as a part of another
			continue
		}
		_, err := u.undoOrigin(ctx, c.j, c.id, true)
		conflict, refused := errors.AsType[*UndoError](err)
		switch {
		case err == nil, errors.Is(err, history.ErrNoEffect):
		case refused && len(c.op.Deltas) == 0:
			passed = append(passed, conflict)
		case refused:
			failed.Left = append(failed.Left, conflict)
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
	return u.redo(ctx, failed)
}

// reachesBack returns an error if a history no longer goes back to the position after.
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

// redo undoes the undos of this call, because Whole is set and one change could not be undone.
func (u *undoing) redo(ctx context.Context, failed error) ([]Undone, error) {
	for _, d := range slices.Backward(slices.Clone(u.done)) {
		if _, err := u.named(ctx, d.ID); err != nil {
			return u.done, errors.Join(failed, err)
		}
	}
	return nil, failed
}

// Position returns the current position of the histories: the ID of the last change in each.
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

// numberAt returns the number of the change at a position in one history, -1 if the position has none.
// The history may have dropped that change.
func (w *Workspace) numberAt(j *journal, position []string) int64 {
	for _, id := range position {
		number, _, _ := strings.Cut(id, "@")
		if n, err := strconv.ParseInt(number, 10, 64); err == nil && w.changeID(j, n) == id {
			return n
		}
	}
	return -1
}
