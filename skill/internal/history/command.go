package history

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"textskill/skill/internal/workspace/tree"
)

// Kinds of an op that this package treats in a special way.
const (
	KindRun  = "run"
	KindUndo = "undo"
	KindRedo = "redo"
)

// maxDeltas is the largest number of paths in an op of a command that can be undone.
const maxDeltas = 50_000

// maxLeft limits the number of [Left] changes in an op.
const maxLeft = 50

// runningName is a folder of the history. It has a file for each running command, locked by the process
// that runs the command.
const runningName = "running"

// About says who makes a change.
type About struct {
	Command, Dialect, Tool, Run string
	RunStep                     int
	Host, Agent                 string // of another agent's call: see [Op]
}

// A Command is a running command of this program.
type Command struct {
	s    *Store
	w    *window
	walk Walker
	file *os.File // of the window; locked
	stop func()   // ends the heartbeat
}

// heartbeat is how often the file of a running command is touched: the last touch is the last moment at
// which a killed program was alive.
const heartbeat = 200 * time.Millisecond

// Begin opens the window of a command. Call it before the command runs in base, a folder of the
// root; "." is the root. Begin looks at the workspace, and copies files up to limit bytes in all.
// Errors are [ErrTooManyFiles], [*BusyError], errors of ctx and the system's.
func (s *Store) Begin(ctx context.Context, about About, base string, limit int64,
	walk Walker) (*Command, error) {
	release, err := s.beginAlone(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	c := &Command{s: s, walk: walk}
	c.w = &window{Call: Call{About: about, Session: cmp.Or(about.Run, "process "+processName(os.Getpid()))},
		Base: base, Began: time.Now()}
	c.w.Handle = fmt.Sprintf("%d-%d", os.Getpid(), c.w.Began.UnixNano())
	c.w.name = c.w.Handle
	if err := s.beginWindow(ctx, c.w, limit, walk, c.open); err != nil {
		return nil, s.noRoom("what the command may change", err)
	}
	return c, nil
}

// beginName is a file that a process locks while a command begins.
const beginName = "begin"

// beginAlone locks out other commands that begin, so that each sees the commands that began before.
func (s *Store) beginAlone(ctx context.Context) (release func(), err error) {
	f, err := s.dir.Load().OpenFile(beginName, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, named(s.Path(), err)
	}
	for {
		if ok, err := tree.TryLock(int(f.Fd()), true); ok || err != nil {
			return func() { f.Close() }, err
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
}

// beginWindow looks at the workspace, and calls open when the window begins. If no other window is open,
// the index is updated from the disk: changes since the last look belong to no op. Otherwise they
// become an op of the open windows.
func (s *Store) beginWindow(ctx context.Context, w *window, limit int64, walk Walker,
	open func(*Tx) error) error {
	over := func(o *window) bool { return o.Handle != w.Handle && o.isOver(&w.Call) }
	if err := s.closeOver(ctx, w, walk, over); err != nil {
		return err
	}
	t, err := s.Lock(ctx)
	if err != nil {
		return err
	}
	others := t.windows()
	others = slices.DeleteFunc(others, func(o *window) bool { return o.Handle == w.Handle })
	x, since := t.whole(), t.log.last()
	t.End()
	looked := false
	if len(others) > 0 {
		looked, err = s.look(ctx, w, walk, func(*window) bool { return false }, nil)
	}
	if err == nil && !looked {
		err = s.refresh(ctx, x, since, w, limit, walk)
	}
	if err != nil {
		return err
	}
	if t, err = s.Lock(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	defer t.End()
	w.Stamp = s.clock()
	if t.index != nil {
		since = t.index.upTo
	}
	t.current()
	t.keepMade(t.madeSince(since)) // of tools since the look
	t.saveIndex()                  // else the next process reads these files again
	if len(others) == 0 {
		t.forgetFar(t.far())
	}
	w.Since = t.log.last()
	t.linkObjects()
	if err := open(t); err != nil {
		return err
	}
	t.tellNeighbors(w)
	return nil
}

// refresh updates the index from the disk and saves the contents. Edits by other programs before the
// command belong to no op.
func (s *Store) refresh(ctx context.Context, old *index, since int64, w *window, limit int64,
	walk Walker) error {
	found, err := s.scan(ctx, old, w.Base, walk, false)
	if err != nil {
		return err
	}
	w.git = found.repositories()
	t, err := s.Lock(ctx)
	if err != nil {
		return err
	}
	edited := t.edited("")
	t.End()
	x := old
	if fresh := found.updated(); fresh != nil {
		x = fresh
		for name := range edited { // differences here belong to another agent's open edit
			x.set(name, old.find(name))
		}
		x = x.folded()
	}
	some := false // only the unsaved items differ from the old index
	if x != old || old.limit != limit {
		if x == old {
			x = newIndex(slices.Clone(old.list))
			x.upTo = old.upTo
		}
		todo, dropped := x.choose(limit)
		for _, e := range todo {
			x.unsaved[e.path] = true
		}
		whole, err := s.keepAll(ctx, todo, found.begin)
		if err != nil {
			s.dropCopies(x, found.begin, err)
			return err
		}
		if whole {
			x.limit = limit
		}
		some = whole && !dropped && old.limit == limit
	}
	if t, err = s.Lock(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	defer t.End()
	if now := t.current(); x != old {
		if some && now.hasList(old) && len(now.over) == 0 {
			x.file = now.file
			maps.Copy(x.unsaved, now.unsaved)
		}
		s.shutIndex()
		s.index = x
		t.replayAll()
	}
	t.keepMade(t.madeSince(since)) // of tools since the scan
	return named(s.Path(), s.saveIndex())
}

// Repositories returns the paths of the files and folders with the names .git and HEAD that there were
// in the base before the command, but for those in repositories and in folders that tools build again.
func (c *Command) Repositories() []string { return c.w.git }

// open creates the locked file of the command's window.
func (c *Command) open(t *Tx) (err error) {
	d, err := c.s.runningFolder()
	if err != nil {
		return err
	}
	if c.file, err = d.OpenFile(c.w.name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		return err
	}
	err = json.NewEncoder(c.file).Encode(c.w)
	if _, lerr := tree.TryLock(int(c.file.Fd()), true); err == nil {
		err = lerr
	}
	if err != nil {
		c.file.Close()
		d.Remove(c.w.name, false)
		return err
	}
	done, ended := make(chan struct{}), make(chan struct{})
	c.stop = sync.OnceFunc(func() { close(done); <-ended })
	go func() {
		defer close(ended)
		for tick := time.NewTicker(heartbeat); ; {
			select {
			case <-done:
				tick.Stop()
				return
			case <-tick.C:
				tree.Touch(c.file)
			}
		}
	}()
	return nil
}

// close removes the file of the command, which has ended.
func (c *Command) close() {
	if c.file == nil {
		return
	}
	c.stop()
	if d, err := c.s.runningFolder(); err == nil {
		d.Remove(c.w.name, false)
	}
	c.file.Close()
	c.file = nil
	c.s.endFar(c.w)
}

// leaveOpen keeps the file of a command that cannot be recorded now. The next holder of the lock records
// the command like that of a killed process.
func (c *Command) leaveOpen() {
	if c.file != nil {
		c.stop()
		tree.Touch(c.file) // the command was alive until now
		c.file.Close()
		c.file = nil
	}
}

// Window returns a file that is locked while the command may change something. The process that ends the command if
// this program is killed holds the file open until then, so that nobody takes the command for ended before.
func (c *Command) Window() *os.File { return c.file }

// Cancel forgets a command that did not start.
func (c *Command) Cancel() {
	if t, err := c.s.Lock(context.Background()); err == nil {
		c.close()
		t.End()
	}
}

// runningFolder returns the open folder [runningName], and makes it if it is missing.
func (s *Store) runningFolder() (tree.Folder, error) {
	if s.running != nil {
		return s.running, nil
	}
	if err := s.dir.Load().Mkdir(runningName, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, named(s.Path(), err)
	}
	t, err := tree.Open(filepath.Join(s.Path(), runningName), false)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	s.running, err = t.OpenFolder(".")
	return s.running, err
}

// closeKilled records the changes of commands whose skill process was killed.
func (t *Tx) closeKilled(ctx context.Context) error {
	d, err := t.runningFolder()
	if err != nil {
		return nil
	}
	entries, err := d.Entries()
	for _, e := range entries {
		if isCall(e.Name) || strings.HasPrefix(e.Name, openFar) { // no process holds the file of a call
			continue
		}
		f, info, oerr := tree.RegularFile(d.OpenFile(e.Name, os.O_RDWR, 0))
		if oerr != nil {
			continue
		}
		free, lerr := tree.TryLock(int(f.Fd()), true)
		if lerr == nil && free {
			cerr := t.closeOne(ctx, e.Name, info.ModTime)
			if isFull(cerr) { // the next Lock retries
				f.Close()
				continue
			}
			err = errors.Join(err, cerr)
			d.Remove(e.Name, false)
		}
		f.Close()
	}
	t.commands = len(t.windows()) > 0
	return err
}

// closeOne records the changes of the command with the file name, whose process was killed. alive is its
// last heartbeat.
func (t *Tx) closeOne(ctx context.Context, name string, alive time.Time) error {
	l := lookFor{owners: t.windows()}
	base := "."
	for _, w := range l.owners {
		if w.name == name {
			w.until, base = alive.UnixNano(), w.Base
		}
	}
	found, err := t.scan(ctx, t.whole(), base, t.plainWalk(base), true)
	if err != nil {
		op := l.op()
		op.Note = "it is not known what the command changed: skill was killed while it ran, and then " +
			err.Error()
		return t.addMade(op)
	}
	_, err = t.record(ctx, l, found)
	return err
}

// plainWalk returns a Walker of a folder. It takes from the index which names git ignores.
func (t *Tx) plainWalk(base string) Walker {
	return func(ctx context.Context, visit func(int, Visited) error) error {
		x := t.index
		var walk func(rel string) error
		walk = func(rel string) error {
			d, err := t.o.Tree.OpenFolder(path.Join(base, rel))
			if err != nil {
				return nil
			}
			defer d.Close()
			entries, err := sortedEntries(d)
			if err != nil {
				return nil
			}
			for _, e := range entries {
				if isOwn(e.Name) {
					continue
				}
				at := path.Join(rel, e.Name)
				was := x.find(path.Join(base, at))
				v := Visited{Folder: strings.TrimPrefix(rel, "."), Name: []byte(e.Name),
					File: statIn{d, e.Name}}
				v.Ignored = was != nil && was.ignored
				err := visit(0, v)
				if err == nil && e.Type == fs.ModeDir && !v.Ignored && e.Name != ".git" {
					err = walk(at)
				}
				if err != nil && err != fs.SkipDir {
					return err
				}
			}
			return nil
		}
		if err := walk("."); err != fs.SkipAll {
			return err
		}
		return nil
	}
}

type statIn struct {
	d    tree.Folder
	name string
}

func (s statIn) Stat() (tree.Info, error) { return s.d.Lstat(s.name) }

func (a About) op(kind string) *Op {
	return &Op{
		Kind: kind, Command: a.Command, Dialect: a.Dialect, Tool: a.Tool, Run: a.Run, RunStep: a.RunStep,
		Host: a.Host, Agent: a.Agent,
	}
}

// End records the changes of the command, and returns the op. Its ID is 0 if the command changed
// nothing that undo can take back.
func (c *Command) End(ctx context.Context) (op *Op, err error) {
	s := c.s
	defer func() {
		if c.file != nil {
			c.Cancel()
		}
	}()
	stamp := s.clock()
	parts := false
	err = s.lookWith(ctx, c.w.Base, c.walk, func(t *Tx, found *scan, tooMany error) error {
		l := lookFor{owners: t.windows()}
		for _, w := range l.owners {
			w.told = w.name == c.w.name
		}
		if len(l.owners) == 1 {
			l.stamp = stamp
		}
		var err error
		if tooMany != nil {
			err = tooMany
		} else if op, err = t.record(ctx, l, found); op != nil && op.ID > 0 {
			parts = len(t.Parts(op)) > 1
		}
		if isFull(err) {
			c.leaveOpen()
			return fmt.Errorf("%w; what the command changed becomes a change that undo takes back once there is room", err)
		}
		c.close()
		return err
	})
	if err == nil && op != nil && (op.ID > 0 || parts) {
		err = s.settle(op, parts)
	}
	return op, err
}

// lookWith scans the folder base by the scope of the index, and calls use with the lock. tooMany is
// [ErrTooManyFiles], or nil.
func (s *Store) lookWith(ctx context.Context, base string, walk Walker,
	use func(t *Tx, found *scan, tooMany error) error) error {
	t, err := s.Lock(ctx)
	if err != nil {
		return err
	}
	x := t.whole()
	t.End()
	stamp := s.clock()
	found, err := s.scan(ctx, x, base, walk, true)
	if err != nil && !errors.Is(err, ErrTooManyFiles) {
		return err
	}
	if found != nil {
		found.clock = stamp
	}
	if t, lerr := s.Lock(ctx); lerr != nil {
		return lerr
	} else {
		defer t.End()
		t.current()
		return use(t, found, err)
	}
}

// look records the changes so far of all open windows but next, which has not begun. Windows that closes
// selects are over. done is called for each of these, after the record. look returns false if no window was open.
func (s *Store) look(ctx context.Context, next *window, walk Walker, closes func(*window) bool,
	done func(*Tx, *window) error) (looked bool, err error) {
	err = s.lookWith(ctx, next.Base, walk, func(t *Tx, found *scan, tooMany error) error {
		l := lookFor{owners: slices.DeleteFunc(t.windows(),
			func(w *window) bool { return w.Handle == next.Handle })}
		if found != nil {
			next.git = found.repositories()
		}
		if looked = len(l.owners) > 0; !looked {
			return nil
		}
		var over []*window
		for _, w := range l.owners {
			if closes(w) {
				over = append(over, w)
			}
		}
		if tooMany != nil {
			if len(over) == 0 {
				return tooMany
			}
			op := l.op()
			op.Note = "it is not known what it changed: " + tooManyText
			if err := t.addMade(op); err != nil {
				return err
			}
		} else if _, err := t.record(ctx, l, found); err != nil {
			return err
		}
		for _, w := range over {
			if err := done(t, w); err != nil {
				return err
			}
		}
		return nil
	})
	return looked, err
}

var tooManyText = fmt.Sprintf("the workspace holds more than %d files", MaxVisited)

// record compares the workspace with the index, adds the op of the look, and updates the index. After an
// error the index is unchanged.
func (t *Tx) record(ctx context.Context, l lookFor, found *scan) (op *Op, err error) {
	defer func() {
		if err != nil {
			t.shutIndex()
			op, t.index, t.indexStamp = nil, nil, indexStamp{}
		}
	}()
	ended := l.dropEnded()
	l.far = t.far()
	defer func() {
		for _, w := range ended {
			if err == nil && w.until != 0 {
				err = t.recordEnd(w)
			}
		}
	}()
	op = l.op()
	if t.index.load(); t.index.lost {
		op.Note = "it is not known what the command changed: the record of what was there before it is lost"
		return op, t.addMade(op)
	}
	t.replayAll()
	r := &recorder{Tx: t, scan: found, op: op, edited: t.edited(""), look: &l}
	op.Left, op.NotSeen = found.left(), found.notSeen()
	if err := r.compare(ctx); err != nil {
		return nil, t.noRoom("what the command changed", err)
	}
	r.lostObjects()
	r.leaveCommits()
	op.forgetMade()
	op.Began, op.Ended = r.began, found.clock
	op.bound()
	ends := op.IsEnd() && t.endsParts(op)
	op.Quiet = op.Quiet || ends
	if len(op.Deltas)+len(op.Left)+len(op.Times) > 0 || op.Note != "" || ends {
		if err := t.addMade(op); err != nil {
			return op, err
		}
	}
	t.index.upTo = t.log.last()
	t.forgetFar(l.far)
	for _, w := range l.owners {
		if !w.told && w.until == 0 {
			if err := t.seen(w); err != nil {
				return op, err
			}
		}
	}
	if err := t.saveIndex(); !isFull(err) { // on a full disk, replayAll updates the old index
		return op, named(t.Path(), err)
	}
	return op, nil
}

// recordEnd records the end of a window whose changes are in other ops.
func (t *Tx) recordEnd(w *window) error {
	op := w.About.op(KindRun)
	op.Quiet, op.Owners = true, []Owner{w.owner()}
	if !t.endsParts(op) {
		return nil
	}
	err := t.addMade(op)
	t.index.upTo = t.log.last()
	return err
}

// endsParts reports whether an op ends a window whose earlier changes are in other ops.
func (t *Tx) endsParts(op *Op) bool {
	for _, o := range op.Owners {
		if !o.Told && o.Until == 0 {
			continue
		}
		for at := range t.log.newest() {
			if at.id <= o.Since {
				break
			}
			if at.owned && t.log.has(at, o.Key) {
				return true
			}
		}
	}
	return false
}

// bound limits the size of a command's op.
func (op *Op) bound() {
	op.Quiet = op.isQuiet()
	if len(op.Deltas) == 0 && op.Unsure != "" {
		op.Note, op.Unsure = op.Unsure, ""
	}
	if n := len(op.Left); n > maxLeft {
		slices.SortStableFunc(op.Left, func(a, b Left) int { // the lost ones first: an undo without them is a part
			switch {
			case a.Lost == b.Lost:
				return 0
			case a.Lost:
				return -1
			}
			return 1
		})
		op.Left, op.More = op.Left[:maxLeft], n-maxLeft
	}
	if len(op.Deltas) > maxDeltas {
		op.Note = fmt.Sprintf("it changed %d files, and at most %d can be undone", len(op.Deltas), maxDeltas)
		op.Deltas = nil
	}
}

// addMade adds an op whose change is made already. It skips an op without deltas that equals the last op,
// unless it ends a window: the same command in a loop would push changes out of the history.
func (t *Tx) addMade(op *Op) error {
	if n := len(t.log.lines); n > 0 && len(op.Deltas) == 0 && !t.endsParts(op) {
		if last := t.log.op(t.log.lines[n-1]); last != nil && last.saysTheSame(op) {
			return nil
		}
	}
	err := t.Add(op)
	t.Made()
	return err
}

// saysTheSame reports whether two ops without deltas differ only in their number and time.
func (op *Op) saysTheSame(o *Op) bool {
	return len(op.Deltas)+len(op.Times)+len(o.Times) == 0 && op.Kind == o.Kind &&
		op.Command == o.Command && op.Note == o.Note &&
		op.Run == o.Run && op.RunStep == o.RunStep && slices.Equal(op.Left, o.Left)
}

// RecordUnknown records a command with unknown changes, and why they are unknown. If quiet is set,
// an undo without an ID skips the op.
func (s *Store) RecordUnknown(ctx context.Context, about About, why string, quiet bool) error {
	t, err := s.Lock(ctx)
	if err != nil {
		return err
	}
	op := about.op(KindRun)
	op.Note, op.Quiet = why, quiet
	err = t.addMade(op)
	t.End()
	return errors.Join(err, s.Flush())
}

// current returns the index, updated with all ops in the log. It has read what the file has about the given paths.
func (t *Tx) current(names ...Name) *index {
	t.freshIndex()
	t.replayAll()
	for _, name := range withParents(names) {
		t.index.find(string(name))
	}
	return t.index
}

// whole returns a snapshot of the current index with all items in the list, for a look at everything without the lock.
func (t *Tx) whole() *index {
	t.index = t.current().folded()
	return t.index.snapshot()
}

// replayAll updates the index with the ops that were added after x.upTo: of tools, undos and running
// commands.
func (t *Tx) replayAll() {
	for _, d := range t.madeSince(t.index.upTo) {
		t.replay(t.index, d)
	}
	t.index.upTo = t.log.last()
}

// madeSince returns the deltas of the ops after the op id.
func (t *Tx) madeSince(id int64) (made []Delta) {
	for _, op := range t.log.about("", id) {
		made = append(slices.Clone(op.Deltas), made...)
	}
	return made
}

// replay updates the index with a delta. The metadata is incomplete, so the item is racy, and the next
// scan reads the file.
func (t *Tx) replay(x *index, d Delta) {
	name := string(d.Path)
	if filepath.IsAbs(name) {
		return
	}
	if d.Before.Kind == Dir && (d.After.Kind != Dir || d.After.Whole || d.Before.Whole) {
		x.removeBelow(name)
	}
	if d.After.Kind == absent {
		x.set(name, nil)
		return
	}
	e := &item{path: name, kind: letterOf(d.After.Kind), racy: true, stamp: stamp{
		size: d.After.Size, mod: d.After.MTime, mode: d.After.Mode, id: tree.FileID{Ino: d.After.Ino},
		uid: uint32(os.Geteuid()), gid: uint32(os.Getegid()),
	}}
	if was := x.find(name); was != nil {
		e.ignored, e.git = was.ignored, was.git
	}
	if blob := d.After.blob(); e.kind == aFile && isSum(blob) && t.blobs.has(blob) {
		e.digest = blob
	} else if e.kind == aLink {
		e.digest = string(d.After.Target)
	}
	x.set(name, e)
	if d.After.Whole { // the entries belong to the tool's op, not to a command
		t.adopt(x, name, e)
	}
}

// adopt adds the entries of a folder that a tool made or moved as a whole to the index.
func (t *Tx) adopt(x *index, folder string, like *item) {
	d, err := t.o.Tree.OpenFolder(folder)
	if err != nil {
		return
	}
	defer d.Close()
	entries, _ := d.Entries()
	for _, e := range entries {
		info, err := d.Lstat(e.Name)
		if err != nil {
			continue
		}
		in := &item{path: folder + "/" + e.Name, kind: letterOf(kindOf(info.Mode)), stamp: stampOf(info),
			ignored: like.ignored}
		if !info.IsDir() {
			t.keepIn(d, e.Name, in, time.Now().UnixNano(), nil)
		}
		x.set(in.path, in)
		if info.IsDir() {
			t.adopt(x, in.path, in)
		}
	}
}

// CatchUp records the changes of running commands at the paths of deltas so far. Call it before a
// tool or an undo changes these paths; so each change of a path is in one op, and the ops are in
// order.
func (t *Tx) CatchUp(ctx context.Context, deltas ...Delta) error {
	if !t.commands {
		return nil
	}
	if t.current(pathsOf(deltas)...).lost {
		return nil
	}
	l := lookFor{owners: t.windows()}
	l.dropEnded()
	l.far = t.far()
	r := t.pathRecorder(l.op())
	r.look = &l
	for _, name := range withParents(pathsOf(deltas)) {
		if filepath.IsAbs(string(name)) {
			continue
		}
		if err := r.oneAndBelow(ctx, string(name)); err != nil {
			return err
		}
	}
	for _, d := range deltas {
		if (d.Before.Whole || d.After.Whole) && !filepath.IsAbs(string(d.Path)) {
			if err := r.allBelow(ctx, string(d.Path)); err != nil {
				return err
			}
		}
	}
	r.sort()
	if len(r.op.Deltas) == 0 {
		return nil
	}
	err := t.addMade(r.op)
	t.index.upTo = t.log.last()
	return err
}

// oneAndBelow records the difference at a path. If the path became a folder or was one before, it also
// records the paths below.
func (r *recorder) oneAndBelow(ctx context.Context, name string) error {
	was := r.index.find(name)
	if err := r.recordPath(name); err != nil {
		return err
	}
	now := r.index.find(name)
	if was == nil || now != nil && now.kind == was.kind {
		return nil
	}
	if now != nil && now.kind == aFolder {
		return r.allBelow(ctx, name)
	}
	for _, e := range r.index.below(name) {
		if err := r.recordPath(e.path); err != nil {
			return err
		}
	}
	return nil
}

// allBelow records the differences below a folder, and updates the index.
func (r *recorder) allBelow(ctx context.Context, folder string) error {
	r.index = r.index.folded()
	found, err := r.Tx.scan(ctx, r.index.snapshot(), folder, r.plainWalk(folder), true)
	if err == nil {
		r.scan = found
		return r.compare(ctx)
	}
	if !noFolder(err) {
		return err
	}
	for _, e := range r.index.below(folder) {
		if err := r.recordPath(e.path); err != nil {
			return err
		}
	}
	return nil
}

// withParents returns the paths, each after the folders above it.
func withParents(names []Name) (list []Name) {
	for _, name := range names {
		for i := range name {
			if name[i] == '/' && i > 0 && !slices.Contains(list, name[:i]) {
				list = append(list, name[:i])
			}
		}
		list = append(list, name)
	}
	return list
}

// Follow keeps the contents that a tool or an undo left at the paths of deltas while commands run,
// because a command may overwrite them. It lists whole folders at once, before a command adds files
// to them.
func (t *Tx) Follow(deltas ...Delta) {
	if !t.commands || t.index == nil || t.index.lost {
		return
	}
	t.replayAll()
	t.keepMade(deltas)
}

// keepMade is Follow, also while no command runs.
func (t *Tx) keepMade(deltas []Delta) {
	if t.index.lost {
		return
	}
	if slices.ContainsFunc(deltas, func(d Delta) bool { return d.After.Whole }) {
		defer t.saveIndex()
	}
	for _, name := range pathsOf(deltas) {
		if e := t.index.find(string(name)); e != nil && !filepath.IsAbs(string(name)) {
			info, err := t.statAt(name)
			if err != nil {
				continue
			}
			fresh := *e
			fresh.kind, fresh.stamp, fresh.digest = letterOf(kindOf(info.Mode)), stampOf(info), ""
			if fresh.kind != aFolder {
				t.keepSome([]*item{&fresh}, time.Now().UnixNano(), nil)
			}
			t.index.set(string(name), &fresh)
		}
	}
}

func (t *Store) statAt(name Name) (tree.Info, error) {
	d, base, err := t.parent(name)
	if err != nil {
		return tree.Info{}, err
	}
	defer d.Close()
	return d.Lstat(base)
}

// sameIndex reports whether two versions of git's index differ only in stat data, which git status
// rewrites.
func (s *Store) sameIndex(a, b *item) bool {
	var sums []string
	for _, e := range []*item{a, b} {
		data, err := s.read("", e.entry())
		if err != nil {
			return false
		}
		sums = append(sums, indexSum(data))
	}
	return sums[0] != "" && sums[0] == sums[1]
}
