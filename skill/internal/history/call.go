package history

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"

	"slices"
	"strings"
	"time"

	"textskill/skill/internal/workspace/tree"
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
	Late       bool   // the command still runs after the agent reported its end
}

// An openCall is the content of the file of an open call. The file is in the folder [runningName], and
// its name begins with one of the prefixes below.
type openCall struct {
	Call
	Base    string // the folder of the root in which a command runs
	Began   time.Time
	Since   int64                      `json:",omitempty"`
	Beside  bool                       `json:",omitempty"`
	Objects map[string]map[string]bool `json:",omitempty"`
	Told    bool                       `json:",omitempty"` // the end was reported, but the command still runs

	name string // of the file; "" for a call whose begin was not reported
}

const (
	openCommand = "call-"
	openEdit    = "edit-"
	openLate    = "miss-" // a command, until the scan before it is complete
)

// maxOpen is how long a call may be open.
const maxOpen = 30 * time.Minute

// twinTime is how long after a program's report another program may report the same call.
const twinTime = 2 * time.Second

func isCall(name string) bool {
	return slices.ContainsFunc([]string{openCommand, openEdit, openLate}, func(kind string) bool {
		return strings.HasPrefix(name, kind)
	})
}

// BeginCall starts the record of another agent's call, as [Store.Begin] does. For an edit it
// updates only the paths of the edit.
func (s *Store) BeginCall(ctx context.Context, call Call, base string, limit int64, walk Walker) error {
	old := func(o *openCall) bool { return time.Since(o.Began) > maxOpen }
	if err := s.closeCalls(ctx, base, walk, old); err != nil {
		return err
	}
	o := &openCall{Call: call, Base: base, Began: time.Now(), name: call.Key}
	if call.Unkeyed {
		o.name += "-" + time.Now().Format("20060102150405.000000000")
	}
	if call.Edit {
		return s.beginEdit(ctx, o)
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
	late := *o
	late.name = openLate + o.name
	err = t.saveCall(&late)
	x, xerr := t.current()
	c := &Command{s: s, about: call.About, walk: walk, limit: limit, base: base, call: o,
		beside: t.anyRunning()}
	spared := t.editing("")
	if err = errors.Join(err, xerr); err == nil && c.beside {
		err = c.open(t)
	}
	t.End()
	if err == nil && !c.beside {
		err = c.refresh(ctx, x, spared)
	}
	return err
}

// openCall renames the file of another agent's command: the scan before the command is complete.
func (t *Tx) openCall(o *openCall) error {
	d, err := t.runningFolder()
	if err != nil {
		return err
	}
	name := o.name
	o.name = openCommand + name
	if err := t.saveCall(o); err != nil {
		return err
	}
	return d.Remove(openLate+name, false)
}

// saveCall writes the file of a call.
func (t *Tx) saveCall(o *openCall) error {
	if _, err := t.runningFolder(); err != nil {
		return err
	}
	data, err := json.Marshal(o)
	if err != nil {
		return err
	}
	dir, file := t.dir.Load(), runningName+"/"+o.name
	if err = dir.WriteFile("call.new", data, 0o600); err == nil {
		err = dir.Rename("call.new", file)
	}
	return named(t.Path(), err)
}

// beginEdit updates the index at the paths of an edit. If a command runs, the differences become an op
// of the command; else they belong to no op.
func (s *Store) beginEdit(ctx context.Context, o *openCall) error {
	t, err := s.Lock(ctx)
	if err != nil {
		return err
	}
	defer t.End()
	if t.isOpen(o.Call) {
		return nil
	}
	x, err := t.current()
	if err != nil {
		return err
	}
	fresh := x.lost && !t.anyRunning()
	if fresh {
		x = newIndex(nil)
		x.upTo = t.log.last()
		t.index = x
	}
	others := t.editing("")
	names := slices.DeleteFunc(slices.Clone(o.Paths), func(name Name) bool { return others[string(name)] })
	deltas := make([]Delta, len(names))
	for i, name := range names {
		deltas[i].Path = name
	}
	if t.commands {
		err = t.CatchUp(ctx, deltas...)
	} else {
		r := t.pathRecorder(&Op{})
		if err = r.paths(ctx, names); err == nil && (r.changed || fresh) {
			err = t.writeIndex(t.index.folded())
		}
	}
	if err != nil {
		return err
	}
	o.name = openEdit + o.name
	return t.saveCall(o)
}

func (t *Tx) pathRecorder(op *Op) *recorder {
	t.index = t.index.folded()
	return &recorder{Tx: t, scan: t.newScan(t.index, ".", 0), op: op}
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

// editing returns the paths of open edits and the new folders above them, without the edit in the file
// except. Differences at these paths belong to the edits.
func (t *Tx) editing(except string) map[string]bool {
	paths := map[string]bool{}
	for _, o := range t.calls() {
		if !o.Edit || o.name == except {
			continue
		}
		for _, name := range withParents(o.Paths) {
			if slices.Contains(o.Paths, name) || t.index != nil && t.index.find(string(name)) == nil {
				paths[string(name)] = true
			}
		}
	}
	return paths
}

// calls reads the files of the open calls, the oldest first.
func (t *Tx) calls() (list []*openCall) {
	d, err := t.runningFolder()
	if err != nil {
		return nil
	}
	entries, _ := sortedEntries(d)
	for _, e := range entries {
		if !isCall(e.Name) {
			continue
		}
		o := &openCall{}
		data, err := t.dir.Load().ReadFile(runningName + "/" + e.Name)
		if err != nil || json.Unmarshal(data, o) != nil { // a power cut left it empty
			o = &openCall{Base: ".", Call: Call{Key: e.Name, Edit: strings.HasPrefix(e.Name, openEdit)}}
		}
		o.name = e.Name
		list = append(list, o)
	}
	slices.SortStableFunc(list, func(a, b *openCall) int { return a.Began.Compare(b.Began) })
	return list
}

// isOpen reports whether the begin of a call was reported before, by the same program or a twin.
func (t *Tx) isOpen(c Call) bool {
	return slices.ContainsFunc(t.calls(), func(o *openCall) bool {
		return o.Key == c.Key && !c.Unkeyed || o.isTwin(c)
	})
}

// isTwin reports whether another program has just reported the same call.
func (o *openCall) isTwin(c Call) bool {
	same := o.Twin != "" && o.Twin == c.Twin && o.Key != c.Key
	return same && (o.Host != c.Host || o.Tool != c.Tool) && time.Since(o.Began) < twinTime
}

// begun returns the open call that c ends, nil if its begin was not reported.
func begun(open []*openCall, c Call) *openCall {
	for _, same := range []func(*openCall) bool{
		func(o *openCall) bool { return o.Key == c.Key },
		func(o *openCall) bool { return c.Unkeyed && c.Like != "" && o.Like == c.Like },
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

// begunCall returns the open call that call ends. If its begin was not reported, begunCall returns a new
// openCall. unsure is the reason why its changes may be others'.
func (t *Tx) begunCall(call Call, base string) (o *openCall, unsure string, err error) {
	o = begun(t.calls(), call)
	switch {
	case o == nil && t.wasReported(call):
		return nil, "", errReported
	case o == nil:
		return &openCall{Call: call, Base: base}, unsureMissed, nil
	case strings.HasPrefix(o.name, openLate):
		unsure = unsureLate
	}
	for _, name := range call.Paths { // the end may report more paths
		if !slices.Contains(o.Paths, name) {
			o.Paths = append(o.Paths, name)
		}
	}
	return o, unsure, nil
}

// EndCall records the changes of a call that has ended or failed, as [Command.End] does. The call
// of a command that is still running stays open.
func (s *Store) EndCall(ctx context.Context, call Call, base string, walk Walker) error {
	t, err := s.Lock(ctx)
	if err != nil {
		return err
	}
	o, unsure, err := t.begunCall(call, base)
	if err == nil && o.Edit {
		if err = t.recordEdit(ctx, o, unsure); err == nil {
			err = t.closeCall(o, &call)
		}
		t.End()
		return errors.Join(err, s.Flush())
	}
	if err == nil {
		_, err = t.current()
	}
	x := t.index
	t.End()
	if errors.Is(err, errReported) {
		return nil
	}
	if err != nil {
		return err
	}
	found, err := s.scan(ctx, x, o.Base, walk)
	if err != nil {
		return err
	}
	if t, err = s.Lock(ctx); err != nil {
		return err
	}
	c := o.command(s, walk)
	c.unsure = unsure
	if _, err = c.record(ctx, t, found); err == nil {
		if o.Late = call.Late; o.Late {
			o.Told, o.Since = true, t.log.last()
			err = errors.Join(t.addReportedEnd(call), t.saveCall(o))
		} else {
			err = t.closeCall(o, &call)
		}
	}
	t.End()
	return errors.Join(err, s.durable())
}

// durable makes the op and the blobs of a command durable.
func (s *Store) durable() error {
	if s.o.NoSync {
		return nil
	}
	return errors.Join(tree.Syncfs(s.blobs.Folder), s.Flush())
}

const toldMark = "after its answer: "

// command returns the Command whose record ends the call.
func (o *openCall) command(s *Store, walk Walker) *Command {
	c := &Command{
		s: s, about: o.About, walk: walk, base: o.Base, name: o.name,
		since: o.Since, beside: o.Beside, objects: o.Objects, alone: true,
	}
	if o.name == "" {
		c.name = openLate
	}
	if o.Told {
		c.about.Command = toldMark + c.about.Command
	}
	return c
}

// recordEdit records the changes of an edit.
func (t *Tx) recordEdit(ctx context.Context, o *openCall, unsure string) error {
	x, err := t.current()
	if err != nil {
		return err
	}
	op := o.About.op(kindEdit)
	switch {
	case x.lost && o.name != "": // the index was written when the edit began, and is lost now
		op.Note = "it is not known what it changed: the record of what was there before it is lost"
		return t.addMade(op)
	case x.lost:
		op.Note = "it is not known what it changed: skill was not told of it before it began"
		return t.addMade(op)
	}
	r := t.pathRecorder(op)
	others := t.editing(o.name)
	names := slices.DeleteFunc(slices.Clone(o.Paths), func(name Name) bool {
		return others[string(name)] && o.name == ""
	})
	if err := r.paths(ctx, names); err != nil {
		return err
	}
	for _, name := range o.Outside {
		op.Left = append(op.Left, Left{name, outsideReason})
	}
	op.Quiet = len(op.Deltas) == 0 && unsure == ""
	if op.Kind = kindOfEdit(op.Deltas); len(op.Deltas) > 0 {
		op.Unsure = unsure
	} else {
		op.Note = unsure
	}
	if len(op.Deltas)+len(op.Left) > 0 || op.Note != "" {
		if err := t.addMade(op); err != nil {
			return err
		}
	}
	t.index = t.index.folded()
	if t.index.upTo = t.log.last(); !r.changed {
		return nil
	}
	return named(t.Path(), t.writeIndex(t.index))
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

// closeCall removes the file of a call. told is the report of its end, which closeCall records; it may be
// nil.
func (t *Tx) closeCall(o *openCall, told *Call) error {
	d, err := t.runningFolder()
	if err != nil {
		return err
	}
	if o.name != "" {
		if err := d.Remove(o.name, false); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if told == nil {
		return nil
	}
	return t.addReportedEnd(*told)
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
	return c.Session == e.Session && (e.All || c.AgentID == e.AgentID) && (e.Turn == "" || c.Turn == e.Turn)
}

// CloseCalls records the changes of open calls that are over, and closes the calls.
func (s *Store) CloseCalls(ctx context.Context, ended Ended, base string, walk Walker) error {
	return s.closeCalls(ctx, base, walk, func(o *openCall) bool { return ended.includes(o.Call) })
}

// SeeCalls records the changes of the open calls so far, so that an undo finds them. The calls stay
// open.
func (s *Store) SeeCalls(ctx context.Context, base string, walk Walker) error {
	return s.recordCalls(ctx, base, walk, func(*openCall) bool { return true },
		func(*Tx, *openCall) error { return nil })
}

// closeCalls records and closes the calls that which selects. A call without changes leaves no op.
func (s *Store) closeCalls(ctx context.Context, base string, walk Walker, which func(*openCall) bool) error {
	return s.recordCalls(ctx, base, walk, which,
		func(t *Tx, o *openCall) error { return t.closeCall(o, nil) })
}

// recordCalls records the changes so far of the open calls that which selects, and then calls done for
// each.
func (s *Store) recordCalls(ctx context.Context, base string, walk Walker,
	which func(*openCall) bool, done func(*Tx, *openCall) error) error {
	t, err := s.Lock(ctx)
	if err != nil {
		return err
	}
	var commands []*openCall
	for _, o := range t.calls() {
		switch {
		case !which(o):
		case o.Edit:
			err = errors.Join(t.recordEdit(ctx, o, ""), done(t, o))
		default:
			commands = append(commands, o)
		}
		if err != nil {
			break
		}
	}
	if err == nil {
		_, err = t.current()
	}
	x := t.index
	t.End()
	if err != nil || len(commands) == 0 {
		return err
	}
	found, err := s.scan(ctx, x, base, walk)
	if err != nil {
		return err
	}
	if t, err = s.Lock(ctx); err != nil {
		return err
	}
	defer t.End()
	_, err = t.together(commands).record(ctx, t, found)
	for _, o := range commands {
		if err == nil {
			err = done(t, o)
		}
	}
	return err
}

// together returns one Command for several open calls, whose changes cannot be told apart.
func (t *Tx) together(list []*openCall) *Command {
	c := list[0].command(t.Store, nil)
	c.name = openCommand
	c.beside = slices.ContainsFunc(t.commandsOpen(), func(e tree.Entry) bool {
		return !slices.ContainsFunc(list, func(o *openCall) bool { return o.name == e.Name })
	})
	if !c.beside {
		c.name = "" // no other command runs
	}
	var all []string
	for _, o := range list {
		c.about = c.about.common(o.About)
		for dir, names := range o.Objects {
			if c.objects[dir] == nil && c.objects != nil {
				c.objects[dir] = names
			}
		}
		text := "its end was not told: " + o.Command
		if o.Told {
			text = toldMark + o.Command
		}
		if all = append(all, text); strings.HasPrefix(o.name, openLate) {
			c.unsure = unsureLate
		}
	}
	c.about.Command = strings.Join(all, " & ")
	return c
}

// The file toldName holds the last reported ends of calls, to recognize a second report of the same end.

const (
	toldName = "told"
	maxTold  = 64
)

type reportedEnd struct {
	Key, Twin, Host, Tool string
	Unkeyed               bool
	Time                  time.Time
}

func (t *Tx) reportedEnds() (list []reportedEnd) {
	if data, err := t.dir.Load().ReadFile(toldName); err == nil {
		json.Unmarshal(data, &list) // a damaged file counts as empty
	}
	return list
}

// addReportedEnd records that the end of a call was reported.
func (t *Tx) addReportedEnd(c Call) error {
	list := append(t.reportedEnds(), reportedEnd{c.Key, c.Twin, c.Host, c.Tool, c.Unkeyed, time.Now()})
	data, err := json.Marshal(list[max(0, len(list)-maxTold):])
	if err != nil {
		return err
	}
	return named(t.Path(), t.dir.Load().WriteFile(toldName, data, 0o600))
}

// wasReported reports whether the end of a call was reported before, by the same program or a twin.
func (t *Tx) wasReported(c Call) bool {
	return slices.ContainsFunc(t.reportedEnds(), func(o reportedEnd) bool {
		fresh := time.Since(o.Time) < twinTime
		twin := o.Twin != "" && o.Twin == c.Twin && (o.Host != c.Host || o.Tool != c.Tool)
		return o.Key == c.Key && !c.Unkeyed ||
			fresh && (o.Key == c.Key || twin)
	})
}
