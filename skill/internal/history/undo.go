package history

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"textskill/skill/internal/merge"
	"textskill/skill/internal/workspace/tree"
)

// A ConflictError reports an op that does not exist, or that cannot be undone now.
type ConflictError struct {
	ID     int64
	Path   Name // the file in conflict; "" if there is no such file
	Reason string
	Force  bool // force would undo the rest of the op, or all of it
	// how sure the record is of this change, if that alone stops the undo: [How].Perhaps takes it
	Grade Grade
}

func (e *ConflictError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("change %d: %s %s", e.ID, e.Path, e.Reason))
}

// ErrNoEffect means that an undo would change nothing.
var ErrNoEffect = errors.New("there is nothing to undo")

// How says how to undo an op.
type How struct {
	About
	Force bool // undo changed files too, after saving them, and skip files that cannot be undone
	// undo paths too that others may have changed, of the grades [Shared] and [Unproven]
	Perhaps bool
	With    func(Owner) bool // the owners whose changes are undone together; nil means the op's own
	Leave   []Name           // repositories and worktrees that have moved on: see [Tx.MovedOn]
	Part    Owner            // joins several undos to one change, if it has a key
	Config  bool             // also files that make other programs run code
	Dry     bool             // describe only
	Newest  bool             // fail if a running command has changed the same paths
}

// An Undone is the result of an undo.
type Undone struct {
	Op      *Op               // the undo; its ID is 0 in a dry run
	Of      *Op               // the change that was undone or redone
	Skipped []*ConflictError  // with Force, why paths of the op were not undone
	Kept    []*ConflictError  // paths that stay because of their grade
	Texts   map[string][]byte // of a dry run: texts that the undo would write, by their sum
	Grades  map[Name]Grade    // of a dry run: how sure the record is of each path
	Merged  []Name            // files that keep later changes
	Lost    []Name            // with Force, files whose later version was saved and replaced
	Took    []int64           // with Force, later changes that the undo took back in part or whole
	Held    []Held            // files that were taken back although a program has them open
	Unasked []Name            // files whose open programs the system does not tell
	Stays   []Name            // folders that stay, because they are not empty
	// files with hard links that came back as files of their own
	Unlinked []Unlinked
	Folders  []tree.Folder // for [Store.Flush]: open folders whose names have changed
}

// active returns the op that an undo of id now undoes: id itself, or the redo that put it in force
// again. ok is false if id is not in force.
func (l *logFile) active(id int64) (at int64, ok bool) {
	at = id
	for n := l.undoes[at]; n != 0; n = l.undoes[at] {
		if n == at { // never made
			return 0, false
		}
		at = n
	}
	return at, l.reverts(at) == l.reverts(id)
}

// origin returns the change that an op makes, undoes or redoes.
func (l *logFile) origin(at line) line {
	for at.undoes != 0 {
		up, ok := l.find(at.undoes)
		if !ok {
			return at
		}
		at = up
	}
	return at
}

// InForce reports whether an op is in force.
func (t *Tx) InForce(id int64) bool {
	_, ok := t.log.active(id)
	return ok
}

// Undo undoes an op: it restores each path that is still as the op left it. A text keeps other
// lines that changed since. The undo is an op itself. Errors are [ErrNoEffect], [*ConflictError] or
// the system's.
func (t *Tx) Undo(ctx context.Context, id int64, how How) (Undone, error) {
	p, err := t.plan(ctx, id, how)
	if err == nil && how.Dry {
		p.Grades = map[Name]Grade{}
		for _, d := range p.Of.Deltas {
			p.Grades[d.Path] = t.Grade(p.Of, d)
		}
	}
	if err != nil || how.Dry {
		return p.Undone, err
	}
	if err := t.Add(p.Op); err != nil {
		return p.Undone, err
	}
	// after Add: recover finds the lock files of a killed process by its op
	unlock, err := t.gitLocks(p.Op.Deltas)
	if err != nil {
		return p.Undone, t.Void(p.Op, p.withID(err))
	}
	if len(p.Op.Deltas) > 1 {
		if err := t.flushOp(); err != nil {
			unlock()
			return p.Undone, t.Void(p.Op, err)
		}
	}
	unmoved := p.unmoved()
	t.asks = !how.Perhaps && !how.Force
	a := &applier{Tx: t, op: p.Op, done: make([]bool, len(p.Op.Deltas)), times: p.times}
	err = a.run()
	unlock() // before removeEmpty: a lock file keeps its folder from being empty
	p.Stays = append(p.Stays, a.removeEmpty()...)
	if err != nil {
		a.close()
		err = t.Void(p.Op, err)
		t.noteBack(a.begun)
		return p.Undone, err
	}
	p.Folders = slices.Collect(maps.Values(a.touched))
	t.Made(unmoved...)
	t.Follow(p.Op.Deltas...)
	p.Unlinked = t.unlinked(p.Op.Deltas)
	return p.Undone, nil
}

func pathsOf(deltas []Delta) []Name {
	list := make([]Name, len(deltas))
	for i, d := range deltas {
		list[i] = d.Path
	}
	return list
}

// A planner determines the steps of an undo, before anything changes.
type planner struct {
	*Tx
	Undone
	how   How
	after *Op // the op to undo: Of, or its redo

	graded map[Name]Delta // the deltas of Of, whose grades count

	unpacked []Name // refs to remove that are only in packed-refs
	ask      *asker
	times    map[Name]int64 // the change times of files without a sum that the undo takes
}

// plan describes the undo of an op.
func (t *Tx) plan(ctx context.Context, id int64, how How) (*planner, error) {
	p := &planner{Tx: t, how: how, ask: t.newAsker()}
	at, ok := t.log.find(id)
	if !ok {
		return p, &ConflictError{ID: id, Reason: `is not in the history; "history" lists all changes`}
	}
	active, ok := t.log.active(id)
	if !ok {
		if active, ok = t.partlyUndone(id); !ok || !how.Perhaps && !how.Force {
			return p, &ConflictError{ID: id, Reason: "is not in effect: it was undone, or never made"}
		}
	}
	line, _ := t.log.find(active)
	p.Of = t.log.op(at)
	switch {
	case active != id:
		p.after = t.log.op(line)
	case p.Of != nil:
		p.after = new(*p.Of) // its deltas grow
	}
	if p.after == nil || p.Of == nil {
		return p, &ConflictError{ID: id, Reason: "has a damaged record"}
	}
	p.graded = make(map[Name]Delta, len(p.Of.Deltas))
	for _, d := range p.Of.Deltas {
		p.graded[d.Path] = d
	}
	a := how.About
	p.Op = &Op{Kind: KindUndo, Undoes: active, Dialect: a.Dialect, Tool: a.Tool, Run: a.Run,
		RunStep: a.RunStep, Host: a.Host, Agent: a.Agent}
	if t.log.reverts(active) {
		p.Op.Kind = KindRedo
	}
	p.after.Deltas = t.allDeltas(p.after)
	if p.after.Note != "" {
		return p, p.conflict("", "cannot be undone: "+p.after.Note)
	}
	if len(p.after.Deltas) == 0 {
		return p, p.onlyLeft()
	}
	if why := t.Strange(p.after.ID); why != "" && !how.Force {
		return p, &ConflictError{ID: p.id(), Reason: "is not undone without force: " + why, Force: true}
	}
	if how.Part.Key != "" {
		p.Op.Owners = []Owner{how.Part}
	}
	last := t.log.last()
	if err := t.CatchUp(ctx, p.after.Deltas...); err != nil {
		return p, err
	}
	if found := t.log.last(); found != last && how.Newest {
		return p, p.stillRuns(found)
	}
	near := &nearby{}
	t.near.Store(near)
	defer near.close()
	defer t.near.Store(nil)
	return p, p.planAll()
}

// partlyUndone returns the op that the undo of id left in force in part.
func (t *Tx) partlyUndone(id int64) (int64, bool) {
	at, ok := t.log.find(t.log.undoes[id])
	if !ok || at.id == id {
		return 0, false
	}
	op := t.log.op(at)
	return id, op != nil && op.Part
}

// keeps returns why a path of the op stays because of its grade, nil if the undo takes it.
func (p *planner) keeps(d Delta) *ConflictError {
	for _, folder := range p.how.Leave {
		if !p.how.Force && (d.Path == folder || isBelow(d.Path, folder)) {
			return &ConflictError{ID: p.id(), Path: d.Path, Force: true,
				Reason: "stays: its repository was made in the same run, and something else has committed to it since"}
		}
	}
	if p.log.reverts(p.after.ID) {
		return nil
	}
	if o, ok := p.graded[d.Path]; ok { // a redo has the grades of the change
		return p.keepsOf(p.Of, o)
	}
	return p.keepsOf(p.after, d)
}

// keepsOf returns why a path of an op stays because of its grade in this op, nil if the undo takes it.
func (p *planner) keepsOf(of *Op, d Delta) *ConflictError {
	if p.how.Perhaps {
		return nil
	}
	grade := p.Grade(of, d)
	e := &ConflictError{ID: p.id(), Path: d.Path, Grade: grade}
	switch grade {
	case Unproven:
		e.Reason = "may have been changed by something else: " + p.whyUnproven(of, d)
		return e
	case Shared:
		for _, o := range of.Owners {
			if !o.mayHave(d.Path) {
				continue
			}
			if p.how.With != nil && !p.how.With(o) || p.how.With == nil && !o.SameOwner(p.Of.FirstTold()) {
				e.Reason = "may have been changed by " + o.ran(", which ")
				return e
			}
		}
	}
	return nil
}

// whyUnproven says why nothing proves that an op made the change of a path.
func (t *Tx) whyUnproven(op *Op, d Delta) string {
	switch {
	case op.Unsure != "":
		return op.Unsure
	case d.Unsure:
		return "nothing tells whether the command made it or moved it here"
	}
	for _, w := range t.windows() {
		if w.Handle == op.Owners[0].Key && !isCall(w.name) {
			return op.Owners[0].String() + " still runs"
		}
	}
	return "nobody told the end of " + op.Owners[0].String()
}

// ran says when an owner may have changed a path of others. joint is between the owner and that.
func (o Owner) ran(joint string) string {
	if o.After {
		return "a formatter or an editor" + joint + "wrote to it right after the edit"
	}
	return o.String() + joint + "ran at the same time"
}

// String names the command of an owner.
func (o Owner) String() string {
	const most = 40
	text := strings.Join(strings.Fields(o.Command), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	if text == "" {
		text = "another command"
	} else {
		text = strconv.Quote(text)
	}
	if o.Host != "" {
		text += " of " + o.Host
	}
	return text
}

// stillRuns returns the conflict for How.Newest if a running command has made the newer change id.
func (p *planner) stillRuns(id int64) error {
	at, _ := p.log.find(id)
	op := p.log.op(at)
	if op == nil || len(op.Deltas) == 0 {
		return p.conflict("", "is not the newest change any more")
	}
	return p.conflict(op.Deltas[0].Path,
		fmt.Sprintf("was changed by a command that still runs; change %d is what it did so far", id))
}

// allDeltas returns the deltas of an op. A redo has no deltas for paths that the undo had left in the state after the
// change. allDeltas takes these deltas from the change. A path that the undo had taken back is not among them: if it
// was in that state again before the redo, somebody else's change put it there.
func (t *Tx) allDeltas(op *Op) []Delta {
	all := slices.Clone(op.Deltas)
	if t.log.reverts(op.ID) {
		return all
	}
	has := map[Name]bool{}
	for _, d := range all {
		has[d.Path] = true
	}
	for at := op; at != nil && at.Undoes != 0; {
		undo, _ := t.log.find(at.Undoes)
		earlier, ok := t.log.find(undo.undoes)
		if !ok || undo.undoes == 0 {
			break
		}
		took := t.log.op(undo)
		if at = t.log.op(earlier); at == nil || took == nil {
			break
		}
		for _, d := range took.Deltas {
			has[d.Path] = true
		}
		for _, d := range at.Deltas {
			if !has[d.Path] {
				has[d.Path] = true
				all = append(all, d)
			}
		}
	}
	return all
}

// onlyLeft returns the error for an op without deltas.
func (p *planner) onlyLeft() error {
	if len(p.after.Left) == 0 {
		return ErrNoEffect
	}
	l := p.after.Left[0]
	return p.conflict(l.Path, "is not kept: "+l.Why)
}

// planAll plans the deltas of the undo.
func (p *planner) planAll() error {
	deltas, err := p.takeWhole(reversed(p.after.Deltas))
	if err != nil {
		return err
	}
	for i := 0; i < len(deltas); i++ {
		d := deltas[i]
		merged, lost, took := len(p.Merged), len(p.Lost), len(p.Took)
		step, needed, err := p.planPath(d)
		if err != nil || needed {
			if kept := p.keeps(d); kept != nil {
				p.Kept = append(p.Kept, kept)
				p.Merged, p.Lost, p.Took = p.Merged[:merged], p.Lost[:lost], p.Took[:took]
				p.Op.Deltas = slices.DeleteFunc(p.Op.Deltas, d.isMovedWith)
				deltas = append(deltas[:i+1], slices.DeleteFunc(deltas[i+1:], d.isMovedWith)...)
				continue
			}
		}
		conflict, refused := errors.AsType[*ConflictError](err)
		switch {
		case refused && p.how.Force:
			p.Skipped = append(p.Skipped, conflict)
			p.Op.Deltas = slices.DeleteFunc(p.Op.Deltas, d.isMovedWith)
			deltas = append(deltas[:i+1], slices.DeleteFunc(deltas[i+1:], d.isMovedWith)...)
		case refused:
			conflict = p.refOf(deltas[i+1:], conflict)
			conflict.Force = p.forceHelps()
			return conflict
		case err != nil:
			return err
		case needed:
			p.Op.Deltas = append(p.Op.Deltas, step)
		}
	}
	p.stopMoves()
	if err := p.dropPacked(); err != nil {
		return err
	}
	p.keepHeld()
	p.keepTouched()
	if conflict := p.keepFull(); conflict != nil {
		return conflict
	}
	p.addFolders()
	isLost := func(l Left) bool { return l.Lost }
	p.Op.Part = len(p.Kept)+len(p.Skipped) > 0 ||
		p.Op.Kind == KindUndo && slices.ContainsFunc(p.after.Left, isLost)
	switch {
	case len(p.Op.Deltas) == 0 && len(p.Kept) > 0:
		return p.Kept[0]
	case len(p.Op.Deltas) == 0 && len(p.Skipped) > 0:
		return p.Skipped[0]
	case len(p.Op.Deltas) == 0 && len(p.Stays) > 0:
		return p.conflict(p.Stays[0], "holds files that were made since, and stays")
	case len(p.Op.Deltas) == 0 && !p.lacksObjects():
		return ErrNoEffect
	}
	if err := p.contents(); err != nil {
		return err
	}
	p.Op.Opened = p.openings(p.Op.Deltas)
	return nil
}

// refOf returns the conflict of a git ref among the deltas, which explains more than the given conflict.
// Without a conflict of a ref it returns the given one.
func (p *planner) refOf(deltas []Delta, conflict *ConflictError) *ConflictError {
	for _, d := range deltas {
		if _, _, ok := gitRef(d.Path); !ok {
			continue
		}
		_, _, err := p.planPath(d)
		if ref, refused := errors.AsType[*ConflictError](err); refused {
			return ref
		}
	}
	return conflict
}

// addFolders adds deltas for the missing folders above restored paths.
func (p *planner) addFolders() {
	has := map[Name]bool{}
	for _, d := range p.Op.Deltas {
		has[d.Path] = true
	}
	for _, d := range p.Op.Deltas {
		for at := d.Path; d.After.Kind != absent; {
			above := Name(path.Dir(string(at)))
			if above == "." || above == at || has[above] {
				break
			}
			if now, err := p.at(above); err != nil || now.Kind != absent {
				break
			}
			has[above], at = true, above
			p.Op.Deltas = append(p.Op.Deltas, Delta{Path: above, After: Entry{Kind: Dir, Mode: UsualMode}})
		}
	}
}

// keepFull drops the removal of folders that would not be empty. If the undo must replace such a folder,
// it is a conflict; with force, the whole folder is saved and replaced.
func (p *planner) keepFull() error {
	goes := map[Name]bool{}
	for _, d := range p.Op.Deltas {
		goes[d.Path] = d.After.Kind == absent
	}
	if p.log.reverts(p.after.ID) {
		for _, lost := range p.lostBy(p.after.ID) { // they go with their repository
			goes[lost.Git+"/objects"], goes[lost.Git+"/lfs"], goes[lost.Git+"/annex/objects"] = true, true, true
		}
	}
	for _, i := range order(p.Op.Deltas) {
		d := &p.Op.Deltas[i]
		if d.After.Kind == Dir || d.Before.Kind != Dir || d.Before.Whole || p.empties(d.Path, goes) {
			continue
		}
		switch {
		case d.After.Kind == absent:
			goes[d.Path] = false
			p.Stays = append(p.Stays, d.Path)
		case p.how.Force:
			d.Before.Whole = true
			d.Before = d.Before.Keep()
			p.Lost = append(p.Lost, d.Path)
		default:
			conflict := &ConflictError{ID: p.id(), Path: d.Path, Reason: "holds files that were made since"}
			conflict.Force = p.forceHelps()
			return conflict
		}
	}
	p.Op.Deltas = slices.DeleteFunc(p.Op.Deltas,
		func(d Delta) bool { return slices.Contains(p.Stays, d.Path) })
	return nil
}

// empties reports whether the undo removes all entries of a folder.
func (p *planner) empties(folder Name, goes map[Name]bool) bool {
	d, base, err := p.parent(folder)
	if err != nil {
		return true
	}
	defer d.Close()
	in, err := d.OpenFolder(base)
	if err != nil {
		return true
	}
	defer in.Close()
	entries, _ := in.Entries()
	return !slices.ContainsFunc(entries, func(e tree.Entry) bool {
		return e.Name != TempName && !goes[Name(path.Join(string(folder), e.Name))]
	})
}

// forceHelps reports whether force would undo a part of the op.
func (p *planner) forceHelps() bool {
	forced := &planner{Tx: p.Tx, ask: p.ask, how: p.how, after: p.after, Undone: Undone{Op: &Op{}, Of: p.Of}}
	forced.how.Force, forced.how.Dry = true, true
	return !p.how.Force && forced.planAll() == nil
}

func (p *planner) conflict(name Name, reason string) error {
	return &ConflictError{ID: p.id(), Path: name, Reason: reason}
}

func (p *planner) id() int64 {
	if p.Of != nil {
		return p.Of.ID
	}
	return p.after.ID
}

// withID gives a conflict the number of the op.
func (p *planner) withID(err error) error {
	if c, ok := errors.AsType[*ConflictError](err); ok && c.ID == 0 {
		c.ID = p.id()
	}
	return err
}

// planPath plans the undo of one path. needed is false if there is nothing to do.
func (p *planner) planPath(d Delta) (step Delta, needed bool, err error) {
	if d.Before.equal(d.After) && !d.After.Whole && !p.movesAway(d) {
		return d, false, nil
	}
	if info, err := p.statAt(d.Path); err == nil && p.ask.own[info.ID.Ino] {
		return d, false, p.conflict(d.Path, "is locked by this program itself")
	}
	now, err := p.at(d.Path, d.After, d.Before)
	if err != nil {
		return d, false, p.conflict(d.Path, tree.Cause(err).Error())
	}
	if needed, done, err := p.unpack(&d, now); done {
		return d, needed, err
	}
	now, looked := p.lookedAt(d, now)
	if d.isThere(now, d.After) && !(d.isThere(now, d.Before) && p.movesAway(d)) {
		return d, false, nil
	}
	if name, why := p.forbidden(d); why != "" {
		return d, false, p.conflict(name, why)
	}
	if !looked {
		forced := false
		if d, forced, err = p.adapt(d, now); err != nil || forced {
			return d, forced, err
		}
	}
	if d.Added {
		if err := p.appended(&d, now); err != nil {
			return d, false, err
		}
		return d, true, nil
	}
	if now.Kind == Dir && !d.Before.Whole {
		now.Whole, now.Sum = false, ""
	}
	now.Attributes = d.Before.Attributes
	d.Before = p.Describe(d.Path, now)
	return d, true, nil
}

// adapt adapts a delta to the current state of its path: the state that the op left, the same with other
// permissions, or a text with other changed lines. Any other state is a conflict, unless force replaces
// it.
func (p *planner) adapt(d Delta, now Entry) (adapted Delta, forced bool, err error) {
	switch {
	case d.isThere(now, d.Before), p.hasSameSize(d, now):
		if by := p.changedBelow(d); by != 0 {
			return d, false, p.conflict(d.Path, fmt.Sprintf("holds files that change %d changed since", by))
		}
		return d, false, nil
	case now.Kind == Dir && d.Before.Kind == Dir && d.After.Kind == absent && !d.Before.Whole:
		return d, false, nil
	case now.Same(d.Before) && !d.Added:
		d, err = p.otherMode(d, now)
		return d, false, err
	}
	merged, ok, err := p.merge(d, now)
	if err != nil {
		return d, false, err
	}
	if !ok {
		return p.replaceByForce(d, now)
	}
	d.After, d.Splice = merged, nil
	p.Merged = append(p.Merged, d.Path)
	return d, false, nil
}

// hasSameSize reports whether a file still has the size that an append left, and the log holds the
// appended bytes, which the caller compares. The file may be a copy that an undo restored.
func (p *planner) hasSameSize(d Delta, now Entry) bool {
	return d.Added && now.Kind == File && now.Size == d.Before.Size &&
		slices.ContainsFunc(p.after.Deltas, func(o Delta) bool {
			return o.Path == d.Path && o.Splice != nil && o.Splice.New != nil
		})
}

// lookedAt compares git's index without stat data, which git status rewrites. It returns true if the index
// equals the state that the op left. If it equals the state that the undo would write, lookedAt returns
// that state as the current one.
func (p *planner) lookedAt(d Delta, now Entry) (Entry, bool) {
	if now.Kind != File || !isGitIndex(string(d.Path)) || now.Same(d.Before) || now.Same(d.After) {
		return now, false
	}
	data, err := p.read(d.Path, now)
	if err != nil {
		if data, err = p.readNow(d.Path, maxGitIndex); err != nil {
			return now, false
		}
	}
	sum := indexSum(data)
	for _, e := range []Entry{d.After, d.Before} {
		if data, err := p.read(d.Path, e); err != nil || sum == "" || indexSum(data) != sum {
			continue
		}
		if e == d.After {
			return e, false
		}
		return now, true
	}
	return now, false
}

// changedBelow returns the newest later change in force below a folder that the undo would remove as a
// whole. It returns 0 if nothing has changed there.
func (p *planner) changedBelow(d Delta) int64 {
	isSource := func(o Delta) bool { return o.From == d.Path }
	if !d.Before.Whole || d.After.Kind != absent || slices.ContainsFunc(reversed(p.after.Deltas), isSource) {
		return 0
	}
	self, _ := p.log.find(p.after.ID)
	origin := p.log.origin(self).id
	changes := func(o Delta) bool { return isBelow(o.Path, d.Path) && !o.Before.equal(o.After) }
	for at, op := range p.log.about(d.Path, p.after.ID) {
		first := p.log.origin(at).id
		if p.Stands(at.id) && first > origin && slices.ContainsFunc(op.Deltas, changes) {
			return first
		}
	}
	return 0
}

// forbidden returns a path that the undo may not write, and why; "" if it may write all.
func (p *planner) forbidden(d Delta) (name Name, why string) {
	if p.how.Config || p.o.Forbids == nil {
		return "", ""
	}
	if why := p.o.Forbids(string(d.Path)); why != "" || !d.After.Whole {
		return d.Path, why
	}
	for _, o := range p.change().Deltas {
		if isBelow(o.Path, d.Path) && why == "" {
			name, why = o.Path, p.o.Forbids(string(o.Path))
		}
	}
	return name, why
}

// otherMode adapts the delta of a file whose permissions have changed since.
func (p *planner) otherMode(d Delta, now Entry) (Delta, error) {
	if d.isMode() && !p.how.Force {
		return d, p.conflict(d.Path, "has other permissions now")
	}
	if d.After.Kind == now.Kind && !d.isMode() {
		d.After.Mode = now.Mode // restore the content and keep the permissions
	}
	return d, nil
}

// replaceByForce plans to replace the changed file at a path, with force: of a text only the lines in
// conflict. Otherwise it returns the conflict.
func (p *planner) replaceByForce(d Delta, now Entry) (Delta, bool, error) {
	err := p.changedSince(d, now)
	if !p.how.Force || d.Added {
		return d, false, err
	}
	if d.Before.Whole || (d.After.Whole || d.From != "") && now.Kind != absent {
		return d, false, err
	}
	if base, ours, theirs, ok := p.texts(d, now); ok {
		if text, _, merr := merge.Theirs(base, ours, theirs); merr == nil {
			d.After, err = p.keepMerged(text, d, now)
			d.Splice, d.Before = nil, p.Describe(d.Path, now)
			p.Merged, p.Took = append(p.Merged, d.Path), append(p.Took, p.takenBack(d.Path, text)...)
			return d, true, err
		}
	}
	p.Lost, p.Took = append(p.Lost, d.Path), append(p.Took, p.takenBack(d.Path, nil)...)
	d.Before = p.Describe(d.Path, now)
	if now.Kind == Dir && d.After.Kind != Dir {
		d.Before.Whole = true
		d.Before = d.Before.Keep()
	}
	return d, true, nil
}

// keepText keeps a text that the undo writes to a file, and returns the file's Entry.
func (p *planner) keepText(e Entry, text []byte) (Entry, error) {
	e = e.Holds(text)
	if p.how.Dry {
		if p.Texts == nil {
			p.Texts = map[string][]byte{}
		}
		p.Texts[e.Sum] = text
		return e, nil
	}
	return e, p.blobs.keepContent(e.Sum, bytes.NewReader(text), nil)
}

// keepMerged is keepText for a file that keeps its owner, its attributes, and permissions that somebody gave it since.
func (p *planner) keepMerged(text []byte, d Delta, now Entry) (Entry, error) {
	e := Entry{Kind: File, Mode: now.Mode, Owner: now.Owner}
	if now.Mode == d.Before.Mode {
		e.Mode = d.After.Mode
	}
	if now.attributes() != "" && !p.how.Dry {
		if dir, base, err := p.parent(d.Path); err == nil {
			defer dir.Close()
			if f, err := dir.OpenFile(base, readFlags, 0); err == nil {
				defer f.Close()
				e = e.Holds(text)
				e.Blob = e.Sum + now.attributes()
				return e, p.blobs.keepContent(e.Blob, bytes.NewReader(text), f)
			}
		}
	}
	return p.keepText(e, text)
}

// since returns the deltas of a path in the ops after the undone one, the oldest first, with the deltas of
// undos.
func (p *planner) since(name Name) (list []Delta, ops []*Op) {
	for _, op := range p.log.about(name, p.after.ID) {
		for _, d := range op.Deltas {
			if d.Path == name && !d.Before.equal(d.After) {
				list, ops = append(list, d), append(ops, op)
			}
		}
	}
	slices.Reverse(list)
	slices.Reverse(ops)
	return list, ops
}

// takenBack returns the later changes in force whose lines are not in the text that an undo writes; a nil
// text takes back all.
func (p *planner) takenBack(name Name, text []byte) (ids []int64) {
	list, ops := p.since(name)
	for i, d := range list {
		if !p.Stands(ops[i].ID) {
			continue
		}
		before, berr := p.read(name, d.Before)
		after, aerr := p.read(name, d.After)
		if text != nil && berr == nil && aerr == nil {
			without, conflicts, err := merge.Text(after, text, before)
			if err == nil && len(conflicts) == 0 && string(without) != string(text) {
				continue
			}
		}
		line, _ := p.log.find(ops[i].ID)
		ids = append(ids, p.log.origin(line).id)
	}
	return ids
}

// writer returns the op after the undone one that wrote what conflicts with the undo; nil if none did.
func (p *planner) writer(d Delta, now Entry) *Op {
	list, ops := p.since(d.Path)
	if len(list) == 0 {
		return nil
	}
	base, ours, theirs, ok := p.texts(d, now)
	for i := len(list) - 1; ok && i >= 0; i-- {
		at, err := p.read(d.Path, list[i].After)
		if err != nil {
			if list[i].After.Same(now) {
				at = ours
			} else {
				break
			}
		}
		if _, conflicts, err := merge.Text(base, at, theirs); err == nil && len(conflicts) > 0 {
			if i == 0 {
				return ops[0]
			}
			continue
		}
		if i == len(list)-1 { // the conflict came after the last op
			return nil
		}
		return ops[i+1]
	}
	if last := len(list) - 1; list[last].After.Same(now) || now.Kind == absent && list[last].After.Kind == absent {
		return ops[last]
	}
	return nil
}

// changedSince returns the conflict of a path that has changed since the op.
func (p *planner) changedSince(d Delta, now Entry) error {
	reason := ""
	by := p.writer(d, now)
	switch {
	case by != nil && by.Undoes != 0:
		reason = fmt.Sprintf("was changed since by change %d, the undo of change %d", by.ID, by.Undoes)
	case by != nil:
		line, _ := p.log.find(by.ID)
		reason = fmt.Sprintf("was changed since by change %d", p.log.origin(line).id)
		if n := len(by.Owners); n > 0 && by.Owners[n-1].After {
			reason += ", that of a formatter or an editor right after an edit"
		}
	case now.Kind == absent:
		reason = "no longer exists: something else removed it"
	case d.Before.Kind == absent:
		reason = "exists again: something else created it"
	case p.Of != nil && p.Of.Host != "" && p.Of.Kind != KindRun:
		reason = "was changed since by something else, such as a formatter"
	default:
		reason = "was changed since by something else"
	}
	if _, ref, ok := gitRef(d.Path); ok {
		reason += fmt.Sprintf("; the repository has moved on: %s is another commit now", ref)
	}
	return p.conflict(d.Path, reason+p.sides(d, now))
}

// texts reads the three versions for a merge: after the op, now, and before the op. ok is false if one of
// them is not a text or is not kept.
func (p *planner) texts(d Delta, now Entry) (base, ours, theirs []byte, ok bool) {
	mergeable := now.Kind == File &&
		d.Before.Kind == File && d.After.Kind == File && !d.Added &&
		max(now.Size, d.Before.Size, d.After.Size) <= merge.MaxSize
	if _, _, git := gitPart(string(d.Path)); git || !mergeable {
		return nil, nil, nil, false
	}
	ours, err := p.readNow(d.Path, merge.MaxSize)
	if err == nil {
		base, err = p.readLeft(d)
	}
	if err == nil {
		theirs, err = p.read(d.Path, d.After)
	}
	return base, ours, theirs, err == nil
}

// readLeft reads the content that the op left, which is Before of the undo's delta. If that is no longer
// kept, readLeft computes it from the content before the op and the op's splice.
func (p *planner) readLeft(d Delta) ([]byte, error) {
	data, err := p.read(d.Path, d.Before)
	if errors.Is(err, errGone) {
		left := d.Before
		left.Blob, left.Derived, left.Depth = "", p.after.ID, 0
		data, err = p.read(d.Path, left)
	}
	return data, err
}

// read returns the saved content of an entry.
func (s *Store) read(name Name, e Entry) ([]byte, error) {
	c, err := s.contentOf(name, e)
	if err != nil {
		return nil, err
	}
	defer c.close()
	return c.all()
}

// readNow returns the current content of a file. More than most bytes are EFBIG.
func (s *Store) readNow(name Name, most int64) ([]byte, error) {
	d, base, err := s.parent(name)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	f, _, err := d.OpenContent(base)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.ReadAll(most)
}

// merge undoes the op's lines of a text and keeps other lines that have changed since. ok is false if that
// is impossible.
func (p *planner) merge(d Delta, now Entry) (merged Entry, ok bool, err error) {
	base, ours, theirs, ok := p.texts(d, now)
	if !ok {
		return merged, false, nil
	}
	text, conflicts, merr := merge.Text(base, ours, theirs)
	if merr != nil || len(conflicts) > 0 {
		return merged, false, nil
	}
	merged, err = p.keepMerged(text, d, now)
	return merged, true, err
}

// sides returns a diff of the conflicting lines: the lines now, and the lines that the undo would write.
func (p *planner) sides(d Delta, now Entry) string {
	const most, width = 3, 200
	base, ours, theirs, ok := p.texts(d, now)
	if !ok {
		return ""
	}
	_, conflicts, err := merge.Text(base, ours, theirs)
	if err != nil || len(conflicts) == 0 {
		return ""
	}
	text := ""
	for _, c := range conflicts[:min(len(conflicts), most)] {
		text += fmt.Sprintf("\nline %d now, and before the change:\n", c.Line)
		for _, side := range []struct {
			mark string
			text []byte
		}{{"- ", c.Ours}, {"+ ", c.Theirs}} {
			n := 0
			for line := range strings.Lines(string(side.text)) {
				if n++; n > most {
					text += side.mark + "…\n"
					break
				}
				line = strings.TrimRight(line, "\r\n")
				text += side.mark + line[:min(len(line), width)] + "\n"
			}
		}
	}
	return strings.TrimSuffix(text, "\n")
}

// appended plans to truncate an append, or to append again. It fails if the appended bytes have changed.
func (p *planner) appended(d *Delta, now Entry) error {
	const most = 1 << 20
	short, long := d.After.Size, d.Before.Size
	if d.After.Size > d.Before.Size {
		for _, o := range p.after.Deltas {
			if o.Path == d.Path {
				d.Splice = o.Splice
			}
		}
		if d.Splice == nil {
			return p.conflict(d.Path, "cannot be made again: what was added is not kept")
		}
		return nil
	}
	if long-short > most {
		return p.conflict(d.Path, fmt.Sprintf("had %d bytes added, and an undo takes at most %d off",
			long-short, most))
	}
	dir, base, err := p.parent(d.Path)
	if err != nil {
		return err
	}
	defer dir.Close()
	f, _, err := dir.OpenContent(base)
	if err != nil {
		return err
	}
	defer f.Close()
	tail := make([]byte, long-short)
	if n, err := f.ReadAt(tail, short); n < len(tail) {
		return cmp.Or(err, ErrChanged)
	}
	for _, o := range p.after.Deltas {
		if o.Path == d.Path && o.Splice != nil && o.Splice.New != nil &&
			string(o.Splice.New) != string(tail) {
			return p.conflict(d.Path, "was changed since at its end, where the change had added something")
		}
	}
	d.Splice = &Splice{Offset: short, New: tail}
	return nil
}

// contents checks that each path can get its content. With force it skips paths that cannot.
func (p *planner) contents() error {
	from := sources(p.Op.Deltas)
	kept := p.Op.Deltas[:0:0]
	for i, d := range p.Op.Deltas {
		_, moves := from[i]
		err := p.content(&d, moves)
		conflict, refused := errors.AsType[*ConflictError](err)
		switch {
		case refused && p.how.Force:
			p.Skipped = append(p.Skipped, conflict)
		case refused:
			conflict.Force = p.forceHelps()
			return conflict
		case err != nil:
			return err
		default:
			kept = append(kept, d)
		}
	}
	if p.Op.Deltas = kept; len(kept) == 0 && len(p.Skipped) > 0 {
		return p.Skipped[0]
	}
	return nil
}

// content returns a conflict if a path cannot get its content. moves says that the undo moves a file with
// the content there.
func (p *planner) content(d *Delta, moves bool) error {
	if above := p.noFolderAbove(*d); above != "" {
		return p.conflict(d.Path, "cannot come back: "+p.PathOf(above)+" is not a folder any more")
	}
	if d.After.Kind == Dir && d.After.Whole && !moves && !p.blobs.has(d.After.Blob) {
		return p.conflict(d.Path, "has no saved version any more")
	}
	if moves || !p.needsContent(*d) {
		return nil
	}
	c, err := p.contentOf(d.Path, d.After)
	if err != nil {
		return p.noContent(d, err)
	}
	defer c.close()
	return p.gitContent(d.Path, c)
}

// needsContent reports whether the undo of a path needs a saved content. It returns false for the texts of a dry run,
// which are not saved.
func (p *planner) needsContent(d Delta) bool {
	_, planned := p.Texts[d.After.Sum]
	return d.After.Kind == File && !d.Added && !planned && !d.After.Same(d.Before)
}

// noContent returns the conflict of a path whose content cannot be read. It returns nil if another path of
// the undo has that content.
func (p *planner) noContent(d *Delta, err error) error {
	switch {
	case errors.Is(err, errWritten) && p.how.Force:
		return p.takeWritten(d)
	case errors.Is(err, errGone) && d.From == "" && p.elsewhere(*d):
		return nil
	case errors.Is(err, errGone):
		return p.conflict(d.Path, "has no saved version any more")
	case errors.Is(err, errWritten):
		return p.conflict(d.Path,
			"has a saved version that something wrote to since, under another name or with the file open: "+
				"with force it comes back as it is now")
	}
	return err
}

// gitContent returns a conflict if a file in .git names a commit that no longer exists.
func (p *planner) gitContent(path Name, c *content) error {
	if _, _, git := gitPart(string(path)); !git || c.size >= MaxKept {
		return nil
	}
	data, err := c.all()
	if err != nil {
		return err
	}
	git, _, _ := gitRef(path)
	if object := p.missingObject(path, data); object != "" && !p.keptObject(git, object) {
		return p.conflict(path, "named commit "+object+", which is not in the repository any more")
	}
	return nil
}

// noFolderAbove returns a path above the path of a delta that is not a folder and that the undo does not
// make a folder. It returns "" if there is no such path.
func (p *planner) noFolderAbove(d Delta) Name {
	for at := d.Path; d.After.Kind != absent; {
		above := Name(path.Dir(string(at)))
		if above == "." || above == at {
			return ""
		}
		now, err := p.at(above)
		if err != nil || now.Kind == Dir {
			return ""
		}
		made := slices.ContainsFunc(p.Op.Deltas,
			func(o Delta) bool { return o.Path == above && o.After.Kind == Dir })
		if now.Kind != absent && !made {
			return above
		}
		at = above
	}
	return ""
}

// takeWritten makes the current content of a blob that a program wrote to the new content of a path.
func (p *planner) takeWritten(d *Delta) error {
	c, err := p.blobs.unchecked(d.After.blob())
	if err != nil {
		return err
	}
	defer c.close()
	if d.After.Sum, err = sumOfReader(c, c.size); err != nil || p.how.Dry {
		return err
	}
	d.After.Blob, d.After.Size = "", c.size
	return p.blobs.keepContent(d.After.Sum, io.NewSectionReader(c, 0, c.size), nil)
}

// Describe returns the entry now, with the way to keep the content: as a blob named by its hash, as the
// splice of the op that made it, or as a blob named by the number of the op.
func (t *Tx) Describe(name Name, now Entry) Entry {
	if now.Kind != File || now.Size < SpliceFrom || t.blobs.has(now.blob()) {
		return now.Keep()
	}
	last, ok := t.lastSplice(name, now)
	if last.After.Derived != 0 && last.After.Same(now) { // an undo has restored it
		now.Blob, now.Derived, now.Depth = "", last.After.Derived, last.After.Depth
		return now
	}
	if !ok || last.Before.Depth >= maxDepth || last.Before.Derived == 0 && !t.blobs.has(last.Before.blob()) {
		return now.Keep()
	}
	now.Blob, now.Derived, now.Depth = "", last.op, last.Before.Depth+1
	return now
}

// SpliceFrom is the size in bytes from which a file may be kept as a splice of an earlier version. A
// smaller file occupies one block of the disk anyway.
const SpliceFrom = 4 << 10

// A spliceOp is a delta and the number of its op.
type spliceOp struct {
	Delta
	op int64
}

// lastSplice returns the last delta of a path among the last 200 ops. ok is false if that delta did not
// make the content by a splice.
func (t *Tx) lastSplice(name Name, now Entry) (found spliceOp, ok bool) {
	const most = 200
	for _, op := range t.log.about(name, t.log.last()-most) {
		for _, d := range op.Deltas {
			if d.Path == name {
				return spliceOp{d, op.ID}, d.Splice != nil && !d.Added && d.After.Same(now)
			}
		}
	}
	return found, false
}
