package history

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"
)

// A Call is a call of another agent's tool: an edit of some paths, or a command. The agent reports
// the call before and after, each time with a new process.
type Call struct {
	About
	Key     string // identifies the call before and after; letters and digits
	Unkeyed bool   // several calls may have the same Key: the first to begin ends first
	Like    string // if Key is unknown, the end of a call ends the first open call with the same Like
	Twin    string // the same if two programs report the same call
	Session string // the first session of the tree: sessions of sub-agents belong to that of their parent
	AgentID string // the agent of the session that called; "" is the main agent
	Turn    string // the turn of the session in which the agent called; "" if the host does not say
	ID      string // of the call, as the host's transcript names it; "" if the host gives none

	Transcript string // the file in which the host writes the session down; "" if the host does not say
	Process    string // the host's process, "PID START" as the system gives them; "" if it is not known
	Terminal   string // the host's terminal; "" if it has none
	Edit       bool
	Paths      []Name // of an edit
	Outside    []Name // of an edit: absolute paths in other folders, which are not recorded
}

// twinTime is how long after a program's report another program may report the same call.
const twinTime = 2 * time.Second

// BeginCall starts the record of another agent's call, as [Store.Begin] does. For an edit it
// updates only the paths of the edit.
func (s *Store) BeginCall(ctx context.Context, call Call, base string, limit int64, walk Walker) error {
	w := &window{Call: call, Handle: call.Key, Base: base, Began: time.Now()}
	if call.Unkeyed {
		w.Handle += "-" + w.Began.Format("20060102150405.000000000")
	}
	if err := s.recordAfter(ctx, call.Session); err != nil {
		return err
	}
	if call.Edit {
		return s.beginEdit(ctx, w)
	}
	release, err := s.beginAlone(ctx)
	if err != nil {
		return err
	}
	defer release()
	t, err := s.Lock(ctx)
	if err != nil {
		return err
	}
	if t.isOpen(call) {
		t.End()
		return nil
	}
	w.name, w.Beginner = openLate+w.Handle, processName(os.Getpid()) // until the look is complete
	err = t.saveWindow(w)
	t.End()
	if err != nil {
		return err
	}
	return s.beginWindow(ctx, w, limit, walk, func(t *Tx) error {
		w.name = openCommand + w.Handle
		if err := t.saveWindow(w); err != nil {
			return err
		}
		return t.running.Remove(openLate+w.Handle, false)
	})
}

// beginEdit updates the index at the paths of an edit. If a command runs, the differences become an op
// of the command; else they belong to no op.
func (s *Store) beginEdit(ctx context.Context, w *window) error {
	t, err := s.Lock(ctx)
	if err != nil {
		return err
	}
	defer t.End()
	if t.isOpen(w.Call) {
		return nil
	}
	x := t.current(w.Paths...)
	fresh := x.lost && len(t.windows()) == 0
	if fresh {
		t.shutIndex()
		t.index = newIndex(nil)
		t.index.upTo = t.log.last()
	}
	others := t.edited("")
	names := slices.DeleteFunc(slices.Clone(w.Paths), func(name Name) bool { return others[string(name)] })
	deltas := make([]Delta, len(names))
	for i, name := range names {
		deltas[i].Path = name
	}
	if t.commands {
		err = t.CatchUp(ctx, deltas...)
	} else {
		if err = t.pathRecorder(&Op{}).paths(ctx, names); err == nil {
			err = t.saveIndex()
		}
	}
	if err != nil {
		return err
	}
	w.name, w.Stamp = openEdit+w.Handle, s.clock()
	return t.saveWindow(w)
}

// pathRecorder returns a recorder of the differences at some paths.
func (t *Tx) pathRecorder(op *Op) *recorder {
	return &recorder{Tx: t, scan: &scan{s: t.Store, old: t.index.snapshot(), begin: time.Now().UnixNano()}, op: op}
}

// paths records the differences at some paths and the folders above them, and updates the index.
func (r *recorder) paths(ctx context.Context, names []Name) error {
	for _, name := range withParents(names) {
		if err := r.oneAndBelow(ctx, string(name)); err != nil {
			return err
		}
	}
	r.sort()
	return nil
}

// edited returns the paths of open edits and the new folders above them, without the edit in the file
// except. Differences at these paths belong to the edits.
func (t *Tx) edited(except string) map[string]bool {
	paths := map[string]bool{}
	for _, w := range t.edits() {
		if w.name == except {
			continue
		}
		for _, name := range withParents(w.Paths) {
			if slices.Contains(w.Paths, name) || t.index != nil && t.index.find(string(name)) == nil {
				paths[string(name)] = true
			}
		}
	}
	return paths
}

// isOpen reports whether the begin of a call was reported before, by the same program or a twin.
func (t *Tx) isOpen(c Call) bool {
	return slices.ContainsFunc(t.opened(), func(w *window) bool {
		return w.Key == c.Key && isCall(w.name) && !c.Unkeyed || w.isTwin(c)
	})
}

// isTwin reports whether another program has just reported the same call.
func (w *window) isTwin(c Call) bool {
	same := w.Twin != "" && w.Twin == c.Twin && w.Key != c.Key
	return same && (w.Host != c.Host || w.Tool != c.Tool) && time.Since(w.Began) < twinTime
}

// begun returns the open call that c ends, nil if its begin was not reported.
func begun(open []*window, c Call) *window {
	for _, same := range []func(*window) bool{
		func(w *window) bool { return isCall(w.name) && w.Key == c.Key },
		func(w *window) bool { return isCall(w.name) && c.Unkeyed && c.Like != "" && w.Like == c.Like },
	} {
		if i := slices.IndexFunc(open, same); i >= 0 {
			return open[i]
		}
	}
	return nil
}

// errReported means that the end of a call was reported before.
var errReported = errors.New("told before")

const (
	outsideReason = "it lies outside of the workspace, and what changes there is not recorded"

	unsureMissed = "skill was not told of it before it began, so changes of others may be among these"
	unsureLate   = "it began before skill had seen what was there, so changes of others may be among these"
)

// begunCall returns the window that the end of a call closes. The end wins over a close that nobody
// told. If the begin was not reported, begunCall returns a new window.
func (t *Tx) begunCall(call Call, base string) (w *window, unsure string, err error) {
	if w = begun(t.opened(), call); w == nil {
		switch before := t.closedBefore(call); {
		case before == nil:
			w, unsure = &window{Call: call, Handle: call.Key, Base: base}, unsureMissed
		case before.Window == nil:
			return nil, "", errReported
		default:
			w = before.Window
		}
	}
	for _, name := range call.Paths { // the end may report more paths
		if !slices.Contains(w.Paths, name) {
			w.Paths = append(w.Paths, name)
		}
	}
	w.told = true
	return w, unsure, nil
}

// EndCall records the changes of a call that has ended or failed, as [Command.End] does.
func (s *Store) EndCall(ctx context.Context, call Call, base string, walk Walker) error {
	if err := s.recordAfter(ctx, call.Session); err != nil {
		return err
	}
	t, err := s.Lock(ctx)
	if err != nil {
		return err
	}
	w, unsure, err := t.begunCall(call, base)
	if err != nil || w.Edit {
		if err == nil {
			if err = t.recordEdit(ctx, w, unsure); err == nil {
				err = t.closeCall(w, call, true)
			}
		}
		t.End()
		if errors.Is(err, errReported) {
			return nil
		}
		return errors.Join(err, s.Flush())
	}
	t.End()
	var op *Op
	all := false
	err = s.lookWith(ctx, w.Base, walk, func(t *Tx, found *scan, tooMany error) (err error) {
		l := lookFor{unsure: unsure}
		there := false
		for _, o := range t.windows() {
			if o.told = o.name == w.name && w.name != ""; o.told {
				there = true
			}
			l.owners = append(l.owners, o)
		}
		if !there {
			l.owners = append(l.owners, w)
		}
		if tooMany != nil {
			op = w.About.op(KindRun)
			op.Note = "it is not known what it changed: " + tooManyText
			if err := t.addMade(op); err != nil {
				return err
			}
		} else if op, err = t.record(ctx, l, found); err != nil {
			return err
		}
		all = op != nil && len(t.Parts(op)) > 1
		return t.closeCall(w, call, true)
	})
	return errors.Join(err, s.settle(op, all))
}

// recordEdit records the changes of an edit.
func (t *Tx) recordEdit(ctx context.Context, w *window, unsure string) error {
	x := t.current(w.Paths...)
	op := w.About.op(kindEdit)
	switch {
	case x.lost && w.name != "": // the index was written when the edit began, and is lost now
		op.Note = "it is not known what it changed: the record of what was there before it is lost"
		return t.addMade(op)
	case x.lost:
		op.Note = "it is not known what it changed: skill was not told of it before it began"
		return t.addMade(op)
	}
	r := t.pathRecorder(op)
	others := t.edited(w.name)
	names := slices.DeleteFunc(slices.Clone(w.Paths), func(name Name) bool {
		return others[string(name)] && w.name == ""
	})
	if err := r.paths(ctx, names); err != nil {
		return err
	}
	for _, name := range w.Outside {
		op.Left = append(op.Left, Left{Path: name, Why: outsideReason})
	}
	op.Quiet = len(op.Deltas) == 0 && unsure == ""
	if op.Kind = kindOfEdit(op.Deltas); len(op.Deltas) > 0 {
		op.Unsure = unsure
	} else {
		op.Note = unsure
	}
	op.Owners = []Owner{w.owner()}
	parts := t.endsParts(op)
	if w.told && !parts { // its paths are known to be its own
		op.Owners = nil
	}
	if len(op.Deltas)+len(op.Left) > 0 || op.Note != "" || parts {
		if err := t.addMade(op); err != nil {
			return err
		}
	}
	t.index.upTo = t.log.last()
	return named(t.Path(), t.saveIndex())
}

// Kinds of an op of an edit, as package workspace calls them.
const (
	kindEdit   = "edit"
	kindWrite  = "write"
	kindDelete = "delete"
	kindPatch  = "patch"
)

// kindOfEdit returns the kind of an edit with the given deltas.
func kindOfEdit(deltas []Delta) string {
	files := slices.DeleteFunc(slices.Clone(deltas), func(d Delta) bool {
		return d.Before.Kind == absent && d.After.Kind == Dir
	})
	switch {
	case len(files) > 1:
		return kindPatch
	case len(files) == 1 && files[0].Before.Kind == absent:
		return kindWrite
	case len(files) == 1 && files[0].After.Kind == absent:
		return kindDelete
	}
	return kindEdit
}

// closeCall removes the file of a call. told says that the end of the call itself was reported. Otherwise
// the call is kept, because its own end may still be reported, and wins.
func (t *Tx) closeCall(w *window, call Call, told bool) error {
	d, err := t.runningFolder()
	if err != nil {
		return err
	}
	if w.name != "" {
		if err := d.Remove(w.name, false); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if !w.Edit {
		t.endFar(w)
	}
	end := closedCall{call.Key, call.Twin, call.Host, call.Tool, call.Unkeyed, time.Now(), nil, nil}
	kept := *w
	switch {
	case !told:
		end.Window = &kept
	case w.Edit:
		end.Edit = &kept
	}
	list, _ := t.closedCalls()
	return t.writeClosed(append(list, end))
}

func (t *Tx) writeClosed(list []closedCall) error {
	data, err := json.Marshal(list[max(0, len(list)-maxClosed):])
	if err != nil {
		return err
	}
	return named(t.Path(), t.dir.Load().WriteFile(closedName, data, 0o600))
}

// Ended says which open calls of a session are over.
type Ended struct {
	Session string
	AgentID string // the calls of this agent; "" is the main agent
	All     bool   // the calls of all agents
	Turn    string // only calls of this turn; "" means every turn
	Told    bool   // the calls end now. Otherwise they ended before, at a moment that nobody told.
}

func (e Ended) includes(c Call) bool {
	return c.Session == e.Session && (e.All || c.AgentID == e.AgentID)
}

// CloseCalls records the changes of open calls that are over, and closes the calls.
func (s *Store) CloseCalls(ctx context.Context, ended Ended, base string, walk Walker) error {
	if err := s.recordAfter(ctx, ended.Session); err != nil {
		return err
	}
	return s.closeOver(ctx, &window{Base: base}, walk, func(w *window) bool {
		if !isCall(w.name) || !ended.includes(w.Call) {
			return w.isOver(nil)
		}
		w.told = ended.Told && (ended.Turn == "" || w.Turn == "" || ended.Turn == w.Turn)
		return true
	})
}

// SeeCalls records the changes of the open calls so far, so that an undo finds them. The calls stay
// open, unless the host's process has ended.
func (s *Store) SeeCalls(ctx context.Context, base string, walk Walker) error {
	if err := s.recordAfter(ctx, ""); err != nil {
		return err
	}
	if err := s.closeOver(ctx, &window{Base: base}, walk, func(w *window) bool { return w.isOver(nil) }); err != nil {
		return err
	}
	t, err := s.Lock(ctx)
	if err != nil {
		return err
	}
	calls := slices.ContainsFunc(t.windows(), func(w *window) bool { return isCall(w.name) })
	for _, w := range t.edits() {
		err = errors.Join(err, t.recordEdit(ctx, w, ""))
	}
	t.End()
	if err != nil || !calls {
		return err
	}
	_, err = s.look(ctx, &window{Base: base}, walk, func(*window) bool { return false }, nil)
	if errors.Is(err, ErrTooManyFiles) { // the calls are not recorded, and other changes can be undone
		err = nil
	}
	return err
}

// closeOver records the changes of the calls that over selects, and closes the calls. For a call whose end nobody told,
// nothing is proven after the end that the host's transcript says, or else after its begin. next has not begun.
func (s *Store) closeOver(ctx context.Context, next *window, walk Walker, over func(*window) bool) error {
	t, err := s.Lock(ctx)
	if err != nil {
		return err
	}
	commands := false
	for _, w := range t.opened() {
		switch {
		case !over(w):
		case w.Edit:
			if err = errors.Join(err, t.recordEdit(ctx, w, "")); err == nil {
				err = t.closeCall(w, w.Call, false)
			}
		default:
			commands = true
		}
	}
	t.End()
	if err != nil || !commands {
		return err
	}
	closes := func(w *window) bool {
		if !over(w) {
			return false
		}
		if !w.told {
			w.until = max(w.Began.UnixNano(), w.toldBy().UnixNano())
		}
		return true
	}
	_, err = s.look(ctx, next, walk, closes, func(t *Tx, w *window) error { return t.closeCall(w, w.Call, false) })
	return errors.Join(err, s.settle(nil, true))
}

// The file closedName holds the last ends of calls, to recognize a second report of the same end.

const (
	closedName = "told"
	maxClosed  = 64
)

// A closedCall is a call that is not open any more.
type closedCall struct {
	Key, Twin, Host, Tool string
	Unkeyed               bool
	Time                  time.Time
	Window                *window `json:",omitempty"` // if the call's own end was not reported
	Edit                  *window `json:",omitempty"` // until the next event of the session
}

// recordAfter records what something else, such as a formatter, has changed in the files of an edit since its end,
// before the next event of its session. Another command may be open, and then the change belongs to that. In a folder
// that commands do not look at, a command may have changed the file, and then the change is nobody's.
func (s *Store) recordAfter(ctx context.Context, next string) error {
	isEdit := func(c closedCall) bool { return c.Edit != nil }
	if list, err := s.closedCalls(); err == nil && !slices.ContainsFunc(list, isEdit) { // most events need no lock
		return nil
	}
	t, err := s.Lock(ctx)
	if err != nil {
		return err
	}
	defer t.End()
	list, _ := t.closedCalls()
	over := false
	for i := range slices.Backward(list) {
		w := list[i].Edit
		if w == nil {
			continue
		}
		if w.Session == next {
			list[i].Edit, over = nil, true
		}
		if t.current(w.Paths...).lost || t.commands {
			continue
		}
		op := w.About.op(kindEdit)
		op.Quiet, op.Owners = true, []Owner{w.owner(), {Key: w.Handle + "-after", After: true}}
		op.Owners[0].Told = true
		r, others := t.pathRecorder(op), t.edited("")
		names := slices.DeleteFunc(slices.Clone(w.Paths), func(name Name) bool { return others[string(name)] })
		if err := r.paths(ctx, names); err != nil {
			return err
		}
		op.Deltas = slices.DeleteFunc(op.Deltas, func(d Delta) bool {
			if d.Before.Kind != absent {
				return false
			}
			_, last, _ := t.newestAbout(d.Path)
			return last.After.Kind != absent // the index does not have what an op left there
		})
		if len(op.Deltas) > 0 {
			if err := t.addMade(op); err != nil {
				return err
			}
			t.index.upTo = t.log.last()
		}
		if err := t.saveIndex(); err != nil && !isFull(err) { // on a full disk, replayAll updates the old index
			return named(t.Path(), err)
		}
	}
	if !over {
		return nil
	}
	return t.writeClosed(list)
}

// closedCalls reads the last ends of calls. A damaged file counts as empty. Without the lock, an error may mean that
// another process writes the file.
func (s *Store) closedCalls() (list []closedCall, err error) {
	data, err := s.dir.Load().ReadFile(closedName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	return list, err
}

// closedBefore returns the last close of a call, by the same program or a twin; nil if there was none.
func (t *Tx) closedBefore(c Call) *closedCall {
	list, _ := t.closedCalls()
	for _, o := range slices.Backward(list) {
		fresh := time.Since(o.Time) < twinTime
		twin := o.Twin != "" && o.Twin == c.Twin && (o.Host != c.Host || o.Tool != c.Tool)
		if o.Key == c.Key && !c.Unkeyed || fresh && (o.Key == c.Key || twin) {
			return &o
		}
	}
	return nil
}
