package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
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

// opened is the content of the file of a running command.
type opened struct {
	About
	Base string // the folder of the root in which the command runs
}

// A Command is a running command. Its changes are the difference between the index and the
// workspace when it ends.
type Command struct {
	s       *Store
	about   About
	walk    Walker
	limit   int64
	base    string
	name    string // of its file in runningName
	file    *os.File
	since   int64                      // number of the last op before the command began
	beside  bool                       // another command was running when it began
	objects map[string]map[string]bool // git objects before the command, by the path of .git

	call   *openCall // for another agent's command; else nil
	unsure string    // why the changes may be others': see [Op]
	alone  bool      // without changes, do not record that another command ran at the same time
}

// Begin starts the record of a command. Call it before the command runs in base, a folder of the
// root; "." is the root. Begin updates the index, unless other commands are running, and copies
// files up to limit bytes in all. Errors are [ErrTooManyFiles], [*BusyError], errors of ctx and the
// system's.
func (s *Store) Begin(ctx context.Context, about About, base string, limit int64,
	walk Walker) (*Command, error) {
	c := &Command{s: s, about: about, walk: walk, limit: limit, base: base}
	release, err := s.beginAlone(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	t, err := s.Lock(ctx)
	if err != nil {
		return nil, err
	}
	x, err := t.current()
	alone, spared := !t.anyRunning(), t.editing("")
	if err == nil && !alone {
		c.beside = true
		err = c.open(t)
	}
	t.End()
	if err == nil && alone {
		err = c.refresh(ctx, x, spared)
	}
	if err != nil {
		return nil, s.noRoom("what the command may change", err)
	}
	return c, nil
}

// beginAlone locks out other commands that begin, so that each sees the commands that began before.
func (s *Store) beginAlone(ctx context.Context) (release func(), err error) {
	f, err := s.dir.Load().OpenFile("begin", os.O_RDWR|os.O_CREATE, 0o600)
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

// refresh updates the index from the disk and saves the contents. Edits by other programs before the
// command belong to no op.
func (c *Command) refresh(ctx context.Context, old *index, spared map[string]bool) error {
	s := c.s
	found, err := s.scan(ctx, old, c.base, c.walk)
	if err != nil {
		return err
	}
	x := found.updated()
	if x != old {
		for name := range spared { // differences here belong to another agent's open edit
			x.set(name, old.find(name))
		}
		x = x.folded()
	}
	if x != old || old.limit != c.limit {
		if x == old {
			x = newIndex(slices.Clone(old.list))
			x.upTo = old.upTo
		}
		whole, err := s.keepAll(ctx, x.choose(c.limit), found.begin)
		if err != nil {
			s.dropCopies(x, found.begin, err)
			return err
		}
		if whole {
			x.limit = c.limit
		}
	}
	t, err := s.Lock(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	defer t.End()
	s.index = x
	t.replayAll()
	if x != old {
		if err := s.writeIndex(x.folded()); err != nil {
			return named(s.Path(), err)
		}
	}
	return c.open(t)
}

// open creates the locked file that says that the command runs.
func (c *Command) open(t *Tx) (err error) {
	c.since, c.objects = t.log.last(), t.allObjects()
	d, err := c.s.runningFolder()
	if err != nil {
		return err
	}
	if c.call != nil {
		c.call.Since, c.call.Beside, c.call.Objects = c.since, c.beside, c.objects
		return t.openCall(c.call)
	}
	c.name = fmt.Sprintf("%d-%d", os.Getpid(), time.Now().UnixNano())
	if c.file, err = d.OpenFile(c.name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		return err
	}
	err = json.NewEncoder(c.file).Encode(opened{c.about, c.base})
	if _, lerr := tree.TryLock(int(c.file.Fd()), true); err == nil {
		err = lerr
	}
	if err != nil {
		c.file.Close()
		d.Remove(c.name, false)
	}
	return err
}

// close removes the file of the command, which has ended.
func (c *Command) close() {
	if c.file == nil {
		return
	}
	if d, err := c.s.runningFolder(); err == nil {
		d.Remove(c.name, false)
	}
	c.file.Close()
	c.file = nil
}

// leaveOpen keeps the file of a command that cannot be recorded now. The next holder of the lock records
// the command like that of a killed process.
func (c *Command) leaveOpen() {
	if c.file != nil {
		c.file.Close()
		c.file = nil
	}
}

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

// anyRunning reports whether a command is running.
func (t *Tx) anyRunning() bool {
	return len(t.commandsOpen()) > 0
}

// commandsOpen lists the files of running commands, of this program and of other agents.
func (t *Tx) commandsOpen() []tree.Entry {
	d, err := t.runningFolder()
	if err != nil {
		return nil
	}
	entries, _ := sortedEntries(d)
	return slices.DeleteFunc(entries, func(e tree.Entry) bool {
		return strings.HasPrefix(e.Name, openEdit) || strings.HasPrefix(e.Name, openLate)
	})
}

// closeKilled records the changes of commands whose skill process was killed.
func (t *Tx) closeKilled(ctx context.Context) error {
	d, err := t.runningFolder()
	if err != nil {
		return nil
	}
	entries, err := d.Entries()
	for _, e := range entries {
		if isCall(e.Name) { // no process holds the file of a call
			continue
		}
		f, _, oerr := tree.RegularFile(d.OpenFile(e.Name, os.O_RDWR, 0))
		if oerr != nil {
			continue
		}
		free, lerr := tree.TryLock(int(f.Fd()), true)
		if lerr == nil && free {
			cerr := t.closeOne(ctx, f)
			if isFull(cerr) { // the next Lock retries
				f.Close()
				continue
			}
			err = errors.Join(err, cerr)
			d.Remove(e.Name, false)
		}
		f.Close()
	}
	t.commands = t.anyRunning()
	return err
}

// closeOne records the changes of the command with the file f, whose process was killed.
func (t *Tx) closeOne(ctx context.Context, f *os.File) error {
	var o opened
	data, _ := io.ReadAll(io.LimitReader(f, 1<<20))
	if json.Unmarshal(data, &o) != nil { // a power cut left it empty
		o.Base = "."
	}
	c := &Command{s: t.Store, about: o.About, base: o.Base, walk: t.plainWalk(o.Base)}
	x, err := t.current()
	if err != nil {
		return err
	}
	found, err := t.scan(ctx, x, c.base, c.walk)
	if err != nil {
		op := c.op()
		op.Note = "it is not known what the command changed: skill was killed while it ran, and then " +
			err.Error()
		return t.addMade(op)
	}
	_, err = c.record(ctx, t, found)
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
				if strings.HasPrefix(e.Name, ".skill") {
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

// op returns the op of a command without deltas.
func (c *Command) op() *Op {
	return c.about.op(KindRun)
}

func (a About) op(kind string) *Op {
	return &Op{
		Kind: kind, Command: a.Command, Dialect: a.Dialect, Tool: a.Tool, Run: a.Run, RunStep: a.RunStep,
		Host: a.Host, Agent: a.Agent,
	}
}

// End records the changes of the command, and returns the op. Its ID is 0 if the command changed
// nothing that undo can take back.
func (c *Command) End(ctx context.Context) (*Op, error) {
	s := c.s
	defer func() {
		if c.file != nil {
			c.Cancel()
		}
	}()
	t, err := s.Lock(ctx)
	if err != nil {
		return nil, err
	}
	x, err := t.current()
	t.End()
	if err != nil {
		return nil, err
	}
	found, err := s.scan(ctx, x, c.base, c.walk)
	if err != nil {
		return nil, err
	}
	if t, err = s.Lock(ctx); err != nil {
		return nil, err
	}
	part := t.ranSince(c.since) // earlier changes of the command may be in an op already
	op, err := c.record(ctx, t, found)
	if isFull(err) {
		c.leaveOpen()
		err = fmt.Errorf("%w; what the command changed becomes a change that undo takes back once there is room", err)
	} else {
		c.close()
	}
	t.End()
	if err == nil && (op.ID > 0 || part) && !s.o.NoSync {
		if len(op.Deltas) > 0 || part {
			err = tree.Syncfs(s.blobs.Folder)
		}
		err = errors.Join(err, s.Flush())
	}
	return op, err
}

// record compares the workspace with the index, adds the op, and updates the index. After an error the
// index is unchanged.
func (c *Command) record(ctx context.Context, t *Tx, found *scan) (op *Op, err error) {
	defer func() {
		if err != nil {
			op, t.index, t.indexStamp = nil, nil, 0
		}
	}()
	if t.index.lost {
		op = c.op()
		op.Note = "it is not known what the command changed: the record of what was there before it is lost"
		return op, t.addMade(op)
	}
	t.replayAll()
	r := &recorder{Tx: t, scan: found, op: c.op(), spared: t.editing("")}
	r.op.Unsure, r.op.Left = c.unsure, found.left()
	if err := r.compare(ctx); err != nil {
		return nil, t.noRoom("what the command changed", err)
	}
	r.gitObjects(c)
	switch others := c.name != "" && (c.beside || t.othersRun(c.name) || t.ranSince(c.since)); {
	case others && len(r.op.Deltas) > 0:
		r.addLeft("", "another command ran at the same time, and what it changed may be among these changes")
	case others:
		r.addLeft("", "another command ran at the same time, and what this one changed may be among that one's changes")
	}
	op = r.op
	op.bound(c.alone)
	x := t.index.folded()
	changed := x != t.index || r.changed
	t.index = x
	if len(op.Deltas)+len(op.Left) > 0 || op.Note != "" {
		if err := t.addMade(op); err != nil {
			return op, err
		}
	}
	x.upTo = t.log.last()
	if !changed {
		return op, nil
	}
	if err := t.writeIndex(x); !isFull(err) { // on a full disk, replayAll updates the old index
		return op, named(t.Path(), err)
	}
	return op, nil
}

// bound limits the size of a command's op. With alone, an op without deltas also drops the notes that are
// not about a path.
func (op *Op) bound(alone bool) {
	if op.Quiet = op.isQuiet(); alone && len(op.Deltas) == 0 {
		op.Left = slices.DeleteFunc(op.Left, func(l Left) bool { return l.Path == "" })
	}
	if len(op.Deltas) == 0 && op.Unsure != "" {
		op.Note, op.Unsure = op.Unsure, ""
	}
	if n := len(op.Left); n > maxLeft {
		op.Left, op.More = op.Left[:maxLeft], n-maxLeft
	}
	if len(op.Deltas) > maxDeltas {
		op.Note = fmt.Sprintf("it changed %d files, and at most %d can be undone", len(op.Deltas), maxDeltas)
		op.Deltas = nil
	}
}

// addMade adds an op whose change is made already. It skips an op without deltas that equals the last op:
// the same command in a loop would push changes out of the history.
func (t *Tx) addMade(op *Op) error {
	if n := len(t.log.lines); n > 0 && len(op.Deltas) == 0 {
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
	return len(op.Deltas) == 0 && op.Kind == o.Kind &&
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
	c := &Command{about: about}
	op := c.op()
	op.Note, op.Quiet = why, quiet
	err = t.addMade(op)
	t.End()
	return errors.Join(err, s.Flush())
}

// othersRun reports whether a command runs besides the one with the file name.
func (t *Tx) othersRun(name string) bool {
	return slices.ContainsFunc(t.commandsOpen(), func(e tree.Entry) bool { return e.Name != name })
}

// ranSince reports whether an op of a command follows the op id.
func (t *Tx) ranSince(id int64) bool {
	for at := range t.log.newest() {
		if at.id <= id {
			return false
		}
		if op := t.log.op(at); op != nil && op.Kind == KindRun {
			return true
		}
	}
	return false
}

// current returns the index, updated with all ops in the log.
func (t *Tx) current() (*index, error) {
	if stamp := t.indexTime(); t.index == nil || stamp != t.indexStamp { // another process has written it
		if x := t.readIndex(); t.index == nil || !x.lost { // else the index in memory is still valid
			t.index = x
		}
		t.indexStamp = stamp
	}
	t.replayAll()
	t.index = t.index.folded()
	return t.index, nil
}

// replayAll updates the index with the ops that were added after x.upTo: of tools, undos and running
// commands.
func (t *Tx) replayAll() {
	x := t.index
	for _, at := range t.log.lines {
		if at.id <= x.upTo {
			continue
		}
		if op := t.log.op(at); op != nil && t.log.undoes[at.id] != at.id {
			for _, d := range op.Deltas {
				t.replay(x, d)
			}
		}
	}
	x.upTo = t.log.last()
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
	e := &item{path: name, racy: true, stamp: stamp{
		size: d.After.Size, mod: d.After.MTime, mode: d.After.Mode, id: tree.FileID{Ino: d.After.Ino},
		uid: uint32(os.Geteuid()), gid: uint32(os.Getegid()),
	}}
	if was := x.find(name); was != nil {
		e.ignored, e.git = was.ignored, was.git
	}
	switch d.After.Kind {
	case File:
		e.kind = aFile
		if blob := d.After.blob(); isSum(blob) && t.blobs.has(blob) {
			e.digest = blob
		}
	case Dir:
		e.kind = aFolder
	case Link:
		e.kind, e.digest = aLink, string(d.After.Target)
	default:
		e.kind = aSpecial
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
		in := &item{path: folder + "/" + e.Name, kind: letterOf(info), stamp: stampOf(info),
			ignored: like.ignored}
		if !info.IsDir() {
			t.keepIn(d, e.Name, in, time.Now().UnixNano())
		}
		x.set(in.path, in)
		if info.IsDir() {
			t.adopt(x, in.path, in)
		}
	}
}

// allObjects lists the objects of each repository in the workspace.
func (t *Tx) allObjects() map[string]map[string]bool {
	const most = 8
	all := map[string]map[string]bool{}
	x := t.index
	if x == nil {
		return all
	}
	for i := range x.list {
		if e := &x.list[i]; e.git && path.Base(e.path) == ".git" && e.kind == aFolder && len(all) < most {
			all[e.path] = t.objectNames(e.path)
		}
	}
	return all
}

// CatchUp records the changes of running commands at the paths of deltas so far. Call it before a
// tool or an undo changes these paths; so each change of a path is in one op, and the ops are in
// order.
func (t *Tx) CatchUp(ctx context.Context, deltas ...Delta) error {
	if !t.commands {
		return nil
	}
	if x, err := t.current(); err != nil || x.lost {
		return err
	}
	r := &recorder{Tx: t, scan: t.newScan(t.index, ".", 0), op: t.runningCommand().op(KindRun)}
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
	var below []*item
	if was != nil && was.kind == aFolder {
		below = r.index.below(name)
	}
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
	for _, e := range below {
		if err := r.recordPath(e.path); err != nil {
			return err
		}
	}
	return nil
}

// allBelow records the differences below a folder, and updates the index.
func (r *recorder) allBelow(ctx context.Context, folder string) error {
	r.index = r.index.folded()
	found, err := r.Tx.scan(ctx, r.index, folder, r.plainWalk(folder))
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

// runningCommand joins the command lines of the running commands, and returns what they have in common.
func (t *Tx) runningCommand() (about About) {
	d, err := t.runningFolder()
	if err != nil {
		return about
	}
	var all []string
	for i, e := range t.commandsOpen() {
		var o opened
		if f, _, err := tree.RegularFile(d.OpenFile(e.Name, os.O_RDONLY, 0)); err == nil {
			json.NewDecoder(f).Decode(&o)
			f.Close()
		}
		if i == 0 {
			about = o.About
		}
		about = about.common(o.About)
		if o.Command != "" {
			all = append(all, o.Command)
		}
	}
	about.Command = strings.Join(all, " & ")
	return about
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
		return About{}
	}
	a.Dialect, a.Tool, a.Host, a.Agent = same(a.Dialect, b.Dialect), same(a.Tool, b.Tool),
		same(a.Host, b.Host), same(a.Agent, b.Agent)
	return a
}

// Follow keeps the contents that a tool or an undo left at the paths of deltas while commands run,
// because a command may overwrite them. It lists whole folders at once, before a command adds files
// to them.
func (t *Tx) Follow(deltas ...Delta) {
	if !t.commands || t.index == nil || t.index.lost {
		return
	}
	t.replayAll()
	if slices.ContainsFunc(deltas, func(d Delta) bool { return d.After.Whole }) {
		defer func() { t.writeIndex(t.index.folded()) }()
	}
	for _, name := range pathsOf(deltas) {
		if e := t.index.find(string(name)); e != nil && !filepath.IsAbs(string(name)) {
			info, err := t.statAt(name)
			if err != nil {
				continue
			}
			fresh := *e
			fresh.kind, fresh.stamp, fresh.digest = letterOf(info), stampOf(info), ""
			if fresh.kind != aFolder {
				t.keepOne(&fresh, time.Now().UnixNano())
			}
			t.index.set(string(name), &fresh)
		}
	}
}

func (t *Tx) statAt(name Name) (tree.Info, error) {
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
		if e == nil || e.digest == "" {
			return false
		}
		data, err := s.blobs.tree.ReadFile(e.digest, maxGitIndex)
		if err != nil {
			return false
		}
		sums = append(sums, indexSum(data))
	}
	return sums[0] != "" && sums[0] == sums[1]
}
