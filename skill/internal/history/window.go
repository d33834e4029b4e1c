package history

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"textskill/skill/internal/workspace/tree"
)

// A window is the time in which a command may change the workspace, from its begin to its end. The file
// of an open window is in the folder [runningName]: a locked one for a command of this program, and
// for a call of another agent's tool one whose name begins with a prefix below. An edit of another
// agent has such a file too, but it changes only its own paths, so it is no window for others.
type window struct {
	Call
	Handle   string    // names the window; calls of hosts without IDs may have the same Key
	Base     string    // the folder of the root in which the command runs
	Began    time.Time // when the begin was told
	Stamp    int64     `json:",omitempty"` // Began by the clock of the workspace's file system: see clock
	Since    int64     `json:",omitempty"` // number of the last op before
	Unseen   bool      `json:",omitempty"` // what was there before was not looked at to the end
	Beginner string    `json:",omitempty"` // the process that looks, before the window begins
	Past     bool      `json:",omitempty"` // of a neighbor's window: it has ended

	git   []string // see [Command.Repositories]
	name  string   // of the file; "" for a call whose begin was not told
	told  bool     // the look that is under way is made at the told end of the window
	until int64    // the last moment that the record proves for a window whose end nobody told; else 0
}

// Prefixes of the names of files of calls.
const (
	openCommand = "call-"
	openEdit    = "edit-"
	openLate    = "miss-" // a command, until the look before it is complete
)

func isCall(name string) bool {
	return slices.ContainsFunc([]string{openCommand, openEdit, openLate}, func(kind string) bool {
		return strings.HasPrefix(name, kind)
	})
}

// An Owner is a command in whose window the changes of an op were made.
type Owner struct {
	Key     string `json:"key"`               // names the window
	Session string `json:"session,omitempty"` // windows of one session count as one owner
	Command string `json:"command,omitempty"`
	Host    string `json:"host,omitempty"`
	Since   int64  `json:"since,omitempty"` // number of the last op before the window
	Told    bool   `json:"told,omitempty"`  // the op was recorded at the told end of the window
	// nobody told the end; changes up to this moment were made in the window, in nanoseconds
	Until int64 `json:"until,omitempty"`
	// not a command: something else, such as a formatter, that changed the files of the edit right after it
	After bool `json:"after,omitempty"`
	Far   Name `json:"far,omitempty"` // a command of another workspace: which folder of the root it may change
}

func (w *window) owner() Owner {
	o := Owner{Key: w.Handle, Session: w.Session, Command: w.Command, Host: w.Host, Since: w.Since,
		Told: w.told, Until: w.until}
	if o.Session == "" {
		o.Session = w.Run
	}
	return o
}

// SameOwner reports whether two windows count as one owner.
func (o Owner) SameOwner(p Owner) bool {
	return o.Key == p.Key || o.Session != "" && o.Session == p.Session
}

// A Grade says how sure the record is that an op made the change of a path.
type Grade string

// The grades.
const (
	Known    Grade = "known"    // of a tool's path, or a path that an edit of another agent names
	Sole     Grade = "sole"     // the windows of one owner were open, and their end was told
	Shared   Grade = "shared"   // windows of several owners were open
	Unproven Grade = "unproven" // nobody told the end, or what was there before was not seen
)

// Grade returns the grade of a change. ended returns the owner of a window as a later op has it that was
// recorded at its end; the zero Owner for none.
func (op *Op) Grade(d Delta, ended func(key string) Owner) Grade {
	if op.Unsure != "" || d.Unsure {
		return Unproven
	}
	proven := len(op.Owners) == 0
	for _, o := range op.Owners {
		if proven = proven || o.Told; proven {
			break
		}
		end := ended(o.Key)
		proven = end.Told || d.Changed != 0 && d.Changed <= max(o.Until, end.Until)
	}
	switch {
	case !proven:
		return Unproven
	case slices.ContainsFunc(op.Owners, func(o Owner) bool { return o.mayHave(d.Path) && !o.SameOwner(op.Owners[0]) }):
		return Shared
	case op.Kind != KindRun:
		return Known
	}
	return Sole
}

// Ends reports whether the window with the key ended with the op.
func (op *Op) Ends(key string) bool {
	return slices.ContainsFunc(op.Owners, func(o Owner) bool { return o.Key == key && (o.Told || o.Until != 0) })
}

// IsEnd reports whether the op only says that a window has ended whose changes are in other ops, or notes change times.
func (op *Op) IsEnd() bool {
	return len(op.Owners)+len(op.Times) > 0 && len(op.Deltas)+len(op.Left) == 0 && op.Note == ""
}

// takesBack reports whether an op is an undo or a redo.
func (op *Op) takesBack() bool { return op.Kind == KindUndo || op.Kind == KindRedo }

func (op *Op) owns(key string) bool {
	return slices.ContainsFunc(op.Owners, func(o Owner) bool { return o.Key == key })
}

// endAfter returns a function for [Op.Grade]: the end of a window in an op after the op id. A told end wins.
func (t *Tx) endAfter(id int64) func(key string) Owner {
	return func(key string) (end Owner) {
		for at := range t.log.newest() {
			if at.id <= id {
				break
			}
			if !at.owned {
				continue
			}
			for _, o := range t.log.owning(at).Owners {
				if o.Key == key && (o.Told || o.Until != 0 && end.Until == 0) {
					end = o
				}
			}
			if end.Told {
				break
			}
		}
		return end
	}
}

// Grade returns the grade of a change of an op.
func (t *Tx) Grade(op *Op, d Delta) Grade { return op.Grade(d, t.endAfter(op.ID)) }

// Doubt says why nothing proves that the op made a change, or who else may have made it; "" for a grade
// that every undo takes.
func (t *Tx) Doubt(op *Op) (Grade, string) {
	for _, d := range op.Deltas {
		switch g := t.Grade(op, d); g {
		case Unproven:
			return g, t.whyUnproven(op, d)
		case Shared:
			for _, o := range op.Owners {
				if o.mayHave(d.Path) && !o.SameOwner(op.FirstTold()) {
					return g, o.ran(" ")
				}
			}
		}
	}
	if len(op.Deltas) == 0 {
		return "", ""
	}
	return t.Grade(op, op.Deltas[0]), ""
}

// FirstTold returns the first owner whose end the op tells.
func (op *Op) FirstTold() Owner {
	for _, o := range op.Owners {
		if o.Told {
			return o
		}
	}
	return Owner{}
}

// Parts returns the number of an op, and the numbers of the ops that record the same change, the newest
// first: what a command changed may be in several ops, because others looked at the workspace meanwhile.
func (t *Tx) Parts(op *Op) []int64 {
	keys, since := op.partKeys(op.ID)
	list := []int64{op.ID}
	for at := range t.log.newest() {
		if at.id <= since {
			break
		}
		if at.id == op.ID || !at.owned || t.log.isVoid(at.id) {
			continue
		}
		other := t.log.owning(at)
		if other.takesBack() == op.takesBack() && slices.ContainsFunc(keys, func(o Owner) bool { return other.owns(o.Key) }) {
			list = append(list, at.id)
		}
	}
	return list
}

// partKeys returns the windows whose ops are parts of the same change as the op id, and the number of the last op
// before them.
func (op *Op) partKeys(id int64) (keys []Owner, since int64) {
	keys, since = op.Owners, id
	ended := func(o Owner) bool { return o.Told || o.Until != 0 }
	if slices.ContainsFunc(keys, ended) {
		keys = slices.DeleteFunc(slices.Clone(keys), func(o Owner) bool { return !ended(o) })
	}
	for _, o := range keys {
		since = min(since, o.Since)
	}
	return keys, since
}

// windows reads the files of the open windows, the oldest first. The files of edits are left out, and
// the files of windows that a process still prepares.
func (t *Tx) windows() (list []*window) {
	for _, w := range t.opened() {
		if !w.Edit && !(strings.HasPrefix(w.name, openLate) && w.isBeginning()) {
			list = append(list, w)
		}
	}
	return list
}

// isBeginning reports whether the process that looks at the workspace for the window still runs.
func (w *window) isBeginning() bool {
	const most = 10 * time.Second // a hook has less time
	pid, _, ok := strings.Cut(w.Beginner, " ")
	if n, err := strconv.Atoi(pid); ok && err == nil {
		return processName(n) == w.Beginner
	}
	return time.Since(w.Began) < most
}

// seen says that a look has shown what is there in a window that began before somebody looked.
func (t *Tx) seen(w *window) error {
	if !w.Unseen || w.name == "" {
		return nil
	}
	late := w.name
	w.name, w.Unseen, w.Since = openCommand+w.Handle, false, t.log.last()
	if err := t.saveWindow(w); err != nil {
		return err
	}
	return t.running.Remove(late, false)
}

// edits reads the files of the open edits of other agents.
func (t *Tx) edits() (list []*window) {
	for _, w := range t.opened() {
		if w.Edit {
			list = append(list, w)
		}
	}
	return list
}

// opened reads the files of the open windows and edits, the oldest first.
func (t *Tx) opened() (list []*window) {
	d, err := t.runningFolder()
	if err != nil {
		return nil
	}
	entries, _ := sortedEntries(d)
	for _, e := range entries {
		if strings.HasPrefix(e.Name, openFar) {
			continue
		}
		w := &window{}
		data, err := t.dir.Load().ReadFile(runningName + "/" + e.Name)
		if err != nil || json.Unmarshal(data, w) != nil { // a power cut left it empty
			w = &window{Base: ".", Handle: e.Name, Call: Call{Key: e.Name, Edit: strings.HasPrefix(e.Name, openEdit)}}
		}
		w.name = e.Name
		w.Unseen = w.Unseen || strings.HasPrefix(e.Name, openLate)
		list = append(list, w)
	}
	slices.SortStableFunc(list, func(a, b *window) int { return a.Began.Compare(b.Began) })
	return list
}

// saveWindow writes the file of a call.
func (t *Tx) saveWindow(w *window) error {
	if _, err := t.runningFolder(); err != nil {
		return err
	}
	data, err := json.Marshal(w)
	if err != nil {
		return err
	}
	dir, file := t.dir.Load(), runningName+"/"+w.name
	if err = dir.WriteFile("call.new", data, 0o600); err == nil {
		err = dir.Rename("call.new", file)
	}
	return named(t.Path(), err)
}

// clock returns the time of the clock by which the workspace's file system stamps files, in nanoseconds. A
// program's own clock may be some milliseconds ahead of it. It returns 0 if it cannot be read.
func (s *Store) clock() int64 {
	if now, ok := s.stampOfNow(); ok {
		return now
	}
	d, err := s.o.Tree.OpenFolder(".")
	if err != nil {
		return 0
	}
	defer d.Close()
	const draft = ".skill-clock"
	f, err := d.OpenFile(draft, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0
	}
	defer d.Remove(draft, false)
	defer f.Close()
	info, err := tree.StatRegular(f)
	if err != nil {
		return 0
	}
	return info.Changed.UnixNano()
}

// stampOfNow is clock, if the system makes files without names: a kill leaves nothing behind.
func (s *Store) stampOfNow() (now int64, ok bool) {
	d, err := s.o.Tree.OpenFolder(".")
	if err != nil {
		return 0, false
	}
	defer d.Close()
	f, err := d.CreateUnnamed(0o600)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	info, err := tree.StatRegular(f)
	return info.Changed.UnixNano(), err == nil
}

// A lookFor names the windows whose changes a look at the workspace records.
type lookFor struct {
	owners []*window
	far    []*window // of neighbors
	stamp  int64     // with a single owner, a command of this program: when its last process had ended
	unsure string    // why nothing is proven; "" if that is not so
}

// began returns the earliest begin of the owners by the workspace's clock, 0 if it is not known.
func (l *lookFor) began() int64 {
	first := int64(0)
	for i, w := range l.owners {
		if w.Stamp == 0 {
			return 0
		}
		if i == 0 || w.Stamp < first {
			first = w.Stamp
		}
	}
	return first
}

// dropEnded removes the owners that had ended, as far as the record or their host's process tells, before a window
// began that is still open: a look at that begin has recorded what they changed. It returns them.
func (l *lookFor) dropEnded() (ended []*window) {
	if len(l.owners) < 2 {
		return nil
	}
	last := map[*window]time.Time{}
	for _, w := range l.owners {
		if at, ok := w.ended(); ok {
			last[w] = at
		}
	}
	l.owners = slices.DeleteFunc(l.owners, func(w *window) bool {
		at, ok := last[w]
		return ok && slices.ContainsFunc(l.owners, func(o *window) bool {
			_, over := last[o]
			return !over && !o.Unseen && !o.Began.Before(at)
		})
	})
	for w := range last {
		if !slices.Contains(l.owners, w) {
			ended = append(ended, w)
		}
	}
	return ended
}

// ended returns the last moment at which a window proves to have been open, if nobody told its end and it is over: a
// transcript says so, or the process of its host is gone.
func (w *window) ended() (at time.Time, ok bool) {
	if w.told || !isCall(w.name) {
		return at, false
	}
	at = w.toldBy()
	if ok = !at.IsZero() || w.Process != "" && w.isGone(); ok && at.Before(w.Began) {
		at = w.Began
	}
	return at, ok
}

func (l *lookFor) told() bool {
	return !slices.ContainsFunc(l.owners, func(w *window) bool { return !w.told })
}

// op returns the op of the look, without deltas. It is named after the windows that end, or after all.
func (l *lookFor) op() *Op {
	named := slices.Collect(func(yield func(*window) bool) {
		for _, w := range l.owners {
			if (w.told || w.until != 0) && !yield(w) {
				return
			}
		}
	})
	if len(named) == 0 {
		named = l.owners
	}
	about, commands := About{}, []string{}
	for i, w := range named {
		if i == 0 {
			about = w.About
		}
		about = about.common(w.About)
		if w.Command != "" && !slices.Contains(commands, w.Command) {
			commands = append(commands, w.Command)
		}
	}
	about.Command = strings.Join(commands, " & ")
	op := about.op(KindRun)
	for _, w := range l.owners {
		op.Owners = append(op.Owners, w.owner())
		if w.Unseen && l.unsure == "" {
			op.Unsure = unsureLate
		}
	}
	for _, w := range l.far {
		op.Owners = append(op.Owners, w.farOwner())
	}
	if l.unsure != "" {
		op.Unsure = l.unsure
	}
	return op
}

// common returns the fields that a and b have in common.
func (a About) common(b About) About {
	same := func(x, y string) string {
		if x == y {
			return x
		}
		return ""
	}
	if a.Run != b.Run || a.RunStep != b.RunStep {
		a.Run, a.RunStep = "", 0
	}
	a.Dialect, a.Tool, a.Host, a.Agent = same(a.Dialect, b.Dialect), same(a.Tool, b.Tool),
		same(a.Host, b.Host), same(a.Agent, b.Agent)
	return a
}

// processName names a process and its start, so that the name is not used again.
func processName(pid int) string { return processOf(strconv.Itoa(pid)) }

func processOf(pid string) string {
	data, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	if fields := strings.Fields(rest); len(fields) > 19 {
		return pid + " " + fields[19]
	}
	return ""
}

// isGone reports whether the process of the host has ended.
func (w *window) isGone() bool {
	pid, _, ok := strings.Cut(w.Process, " ")
	n, err := strconv.Atoi(pid)
	if !ok || err != nil {
		return false
	}
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		return false
	}
	return processName(n) != w.Process
}

// maxOpen is how long a call may be open whose host's process is not known.
const maxOpen = 24 * time.Hour

// isOver reports whether the call has ended although nobody told its end, as far as the next call of a
// session tells. next may be nil.
func (w *window) isOver(next *Call) bool {
	switch {
	case !isCall(w.name):
		return false
	case w.Process != "" && w.isGone(), w.Process == "" && time.Since(w.Began) > maxOpen:
		return true
	case next == nil:
		return false
	case next.Session == w.Session:
		return w.AgentID == "" && next.AgentID == "" && w.Turn != "" && next.Turn != "" && w.Turn != next.Turn
	}
	return w.Terminal != "" && w.Terminal == next.Terminal
}

// above returns the folders above a path, the nearest first.
func above(name string) (list []string) {
	for at := path.Dir(name); at != "." && at != "/" && !filepath.IsAbs(at); at = path.Dir(at) {
		list = append(list, at)
	}
	return list
}
