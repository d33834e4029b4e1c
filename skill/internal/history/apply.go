package history

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"textskill/skill/internal/workspace/tree"
)

// Add writes an op to the log before its change is made. It sets the number and time of the op, and
// names the blobs without a sum. After an error the caller must not make the change.
func (t *Tx) Add(op *Op) error {
	if t.o.ReadOnly {
		return syscall.EROFS
	}
	if op.Undoes == 0 {
		t.retain()
	}
	op.ID = t.log.last() + 1
	return t.add(op)
}

// Replace is Add for an op that contains the deltas of old, an op of this Tx. If old is the last op, the new one
// gets its number, else old becomes void.
func (t *Tx) Replace(op, old *Op) error {
	if old.ID != t.log.last() {
		if err := t.Add(op); err != nil {
			return err
		}
		return t.Supersede(old)
	}
	if t.index != nil {
		t.index.upTo = min(t.index.upTo, old.ID-1)
	}
	op.ID = old.ID
	return t.add(op)
}

// add is Add for an op that has its number.
func (t *Tx) add(op *Op) error {
	op.Time = time.Now().UTC()
	for i := range op.Deltas {
		d := &op.Deltas[i]
		if d.Before.Blob == newBlob {
			d.Before.Blob = fmt.Sprintf("%d.%d", op.ID, i)
		}
	}
	if err := t.log.add(op); err != nil {
		return named(t.Path(), t.noRoom("the record of the change", err))
	}
	for i := range op.Deltas { // the log says that a write may be torn; this process knows when one begins
		op.Deltas[i].Torn = false
	}
	t.failed, t.op = true, op // until Made or Void
	t.crash("recorded")
	return nil
}

// newBlob stands for the name of a blob until the op has its number.
const newBlob = "new"

// Keep marks an Entry without a sum: its content becomes a blob named after the number of the op.
func (e Entry) Keep() Entry {
	if e.Kind == File && e.Sum == "" && e.Derived == 0 ||
		e.Kind == Dir && e.Whole || e.Kind == Other {
		e.Blob = newBlob
	}
	return e
}

// Keeper returns the Keeper of a delta of the op.
func (t *Tx) Keeper(op *Op, delta int) *Keeper { return &Keeper{t, op, delta} }

// Made marks the last op as made. It notes the change times of the files that the op left, and of those in also.
func (t *Tx) Made(also ...Name) {
	t.failed = false
	if t.op != nil {
		t.noteTimes(t.op, also)
	}
}

// FlushLog makes the op durable. Call it before the second step of the change.
func (t *Tx) FlushLog() error { return t.log.flush() }

// Void rolls back the steps of an op that were made, and records the op as void. It returns cause, the
// reason, or an error if the rollback fails.
func (t *Tx) Void(op *Op, cause error) error {
	err := t.rollBack(op)
	if err == nil {
		err = t.log.add(&Op{ID: op.ID, Undoes: op.Undoes, Void: true, Time: time.Now().UTC()})
	}
	if err == nil {
		t.reindex(reversed(op.Deltas))
	}
	t.failed = false
	if err != nil && cause != nil { // the op stays, so that an undo can revert the steps that were made
		return fmt.Errorf("%w; a part of it was made and cannot be taken back now: %w", cause, err)
	}
	return cause
}

// reindex updates the index at the paths that the recovery of an op left as the deltas say, and keeps their
// contents again. Otherwise a running command would count as their author. Other states are somebody's change.
func (t *Tx) reindex(deltas []Delta) {
	names := pathsOf(deltas)
	if t.current(names...).lost {
		return
	}
	r := t.pathRecorder(&Op{})
	ctx := context.Background()
	for _, d := range deltas {
		now, err := t.at(d.Path, d.After)
		if filepath.IsAbs(string(d.Path)) || err != nil || !d.isThere(now, d.After) {
			continue
		}
		if err = r.paths(ctx, []Name{d.Path}); err == nil && now.Whole {
			err = r.allBelow(ctx, string(d.Path))
		}
		if err != nil { // the index is as it was for the other paths, and the next scan compares more
			break
		}
	}
	t.saveIndex()
}

// Supersede voids an op whose change was taken back.
func (t *Tx) Supersede(op *Op) error {
	return t.log.add(&Op{ID: op.ID, Void: true, Time: time.Now().UTC()})
}

// recover completes the last op if its process was killed: it finishes an undo, and rolls back the op of
// a tool. After a power cut, the lock file may be stale, and only the log says whether the op was made.
func (t *Tx) recover() error {
	last, clean := t.log.last(), t.clean()
	if clean > last { // a power cut or damage removed lines from the log
		t.log.lose(clean)
	}
	if clean >= last || t.log.made == last {
		return nil
	}
	at, _ := t.log.find(last)
	op := t.log.op(at)
	if op == nil || t.log.isVoid(last) || len(op.Deltas) == 0 && op.Undoes == 0 || op.isCommands() {
		return nil
	}
	if op.Undoes != 0 {
		t.unlockKilled(op)
	}
	t.recoverAside(op)
	if a := (&applier{Tx: t, op: op}); t.isDone(op) && a.objects() == nil {
		t.shutFolders(op)
		a.close()
		t.renewKilled(op)
		t.reindex(op.Deltas)
		return nil
	}
	ours := func(d Delta, now Entry) bool {
		return d.Torn || now.Kind == absent ||
			now.Same(d.Before) || now.Same(d.After) || t.isTorn(d, now)
	}
	if op.Undoes == 0 || t.apply(op, ours) != nil {
		t.Void(op, nil) // if this fails, the op stays, and an undo can take it back later
	} else {
		t.renewKilled(op)
		t.reindex(op.Deltas)
	}
	return nil
}

// isDone reports whether each path of an op has the state after the op.
func (t *Tx) isDone(op *Op) bool {
	for _, d := range op.Deltas {
		now, err := t.at(d.Path, d.After, d.Before)
		if err != nil || !d.isThere(now, d.After) {
			return false
		}
	}
	return true
}

// isTorn reports whether a power cut interrupted an undo while it wrote the file: the file has a part of
// the content, and zeros.
func (t *Tx) isTorn(d Delta, now Entry) bool {
	const block = 4 << 10
	if now.Kind != File || d.After.Kind != File || now.Size > d.After.Size {
		return false
	}
	want, err := t.read(d.Path, d.After)
	have, herr := t.readNow(d.Path, d.After.Size)
	if err != nil || herr != nil || len(have) > len(want) {
		return false
	}
	for at := 0; at < len(have); at += block {
		part := have[at:min(at+block, len(have))]
		if !bytes.Equal(part, want[at:at+len(part)]) && len(bytes.Trim(part, "\x00")) > 0 {
			return false
		}
	}
	return true
}

// isCommands reports whether the op was recorded after its change: the op of a command or of another
// agent's call.
func (op *Op) isCommands() bool {
	return op.Kind == KindRun || op.Host != "" && op.Dialect == "" && op.Undoes == 0
}

// isThere reports whether now, the current state of the delta's path, is the state e.
func (d Delta) isThere(now, e Entry) bool {
	if d.Added {
		return now.Kind == File && now.Ino == e.Ino && now.Size == e.Size
	}
	return now.equal(e)
}

// rollBack reverts the steps of a tool's op that were made. It keeps a file that another program has
// changed since, unless the op was writing the file in place.
func (t *Tx) rollBack(op *Op) error {
	back := &Op{ID: op.ID, Deltas: reversed(op.Deltas), Opened: op.Opened}
	return t.apply(back, func(d Delta, now Entry) bool {
		return d.Torn && now.Kind == File ||
			now.Kind == absent || d.isThere(now, d.Before) ||
			d.isThere(now, d.After)
	})
}

// apply makes the deltas of an op: first moves, then removals from the innermost path, then new paths
// from the outermost. It skips steps that are made already, and deltas for which accepts returns false.
func (t *Tx) apply(op *Op, accepts func(d Delta, now Entry) bool) error {
	a := &applier{Tx: t, op: op, accepts: accepts, done: make([]bool, len(op.Deltas))}
	defer a.close()
	return a.run()
}

// manySteps is the number of deltas above which an op syncs the whole file system once: a flush of each
// file takes 3 ms.
const manySteps = 64

// run makes the deltas and makes the files durable. The names in a.touched are not durable yet. After a
// power cut in between, recover compares each file and finishes the op.
func (a *applier) run() error {
	a.openFolders(a.op)
	a.all = len(a.op.Opened) > 0
	err := a.runSteps()
	if err == nil {
		err = a.objects()
	}
	a.crash("shut")
	a.shutFolders(a.op)
	if err != nil {
		return err
	}
	synced := map[uint64]bool{}
	for id, d := range a.touched {
		if a.atOnce(id.Dev) && !synced[id.Dev] {
			if err := a.syncAll(d); err != nil {
				return err
			}
			synced[id.Dev] = true
		}
	}
	return nil
}

// atOnce reports whether run syncs the whole file system dev at the end, instead of each file.
func (a *applier) atOnce(dev uint64) bool {
	return a.all || len(a.op.Deltas) > manySteps || dev != a.blobs.ID().Dev
}

// touch remembers a changed folder for the flush of its names: of a file system that run syncs as a whole, only one.
func (a *applier) touch(d tree.Folder) {
	id := d.ID()
	if a.atOnce(id.Dev) {
		id.Ino = 0
	}
	if a.touched[id] != nil {
		return
	}
	if same, err := d.OpenFolder("."); err == nil {
		if a.touched == nil {
			a.touched = map[tree.FileID]tree.Folder{}
		}
		a.touched[id] = same
	}
}

// close closes the folders that were touched.
func (a *applier) close() {
	for _, d := range a.touched {
		d.Close()
	}
}

// runSteps makes the deltas in the order that apply describes.
func (a *applier) runSteps() error {
	for _, i := range order(a.op.Deltas) { // folders that replace files must exist before the moves
		d := a.op.Deltas[i]
		if d.After.Kind == Dir && !d.After.Whole && d.Before.Kind != Dir && d.Before.Kind != absent {
			if err := a.step(i); err != nil {
				return a.stepError(i, err)
			}
			a.done[i] = true
		}
	}
	if err := a.moveAll(); err != nil {
		return err
	}
	for _, i := range order(a.op.Deltas) {
		if a.done[i] {
			continue
		}
		err := a.step(i)
		if errors.Is(err, ErrChanged) && a.accepts != nil { // a recovery keeps what somebody saves meanwhile
			continue
		}
		if err != nil {
			return a.stepError(i, err)
		}
	}
	return nil
}

func (a *applier) stepError(i int, err error) error {
	return &fs.PathError{Op: "undo", Path: a.PathOf(a.op.Deltas[i].Path), Err: tree.Cause(err)}
}

// An applier makes the deltas of an op.
type applier struct {
	*Tx
	op      *Op
	accepts func(d Delta, now Entry) bool // selects the deltas to make; nil means all
	done    []bool                        // by delta

	times   map[Name]int64              // see planner
	begun   []Name                      // files without a sum that a step moved or gave other permissions
	moved   map[int]bool                // by delta: a step of this undo moved a file to the path
	noSwap  bool                        // files cannot be exchanged with blobs
	stays   []Name                      // folders that stay because they are not empty
	touched map[tree.FileID]tree.Folder // see touch
	all     bool                        // permissions or whole folders have changed, which no flush of names covers
}

// order returns the numbers of the deltas in the order of their steps.
func order(deltas []Delta) []int {
	list := make([]int, len(deltas))
	for i := range list {
		list[i] = i
	}
	removes := func(i int) int {
		if d := deltas[i]; d.After.Kind == absent || d.Before.Kind == Dir && d.After.Kind != Dir {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(list, func(i, j int) int {
		a, b := deltas[i], deltas[j]
		if removes(i) == 0 && removes(j) == 0 {
			a, b = b, a
		}
		return cmp.Or(removes(i)-removes(j), byPath(string(a.Path), string(b.Path)))
	})
	return list
}

// syncAll makes everything on the file system of a folder durable.
func (a *applier) syncAll(d tree.Folder) error {
	if a.o.NoSync {
		return nil
	}
	return tree.Cause(tree.Syncfs(d))
}

// makeParent is parent, but makes the missing folders above a path.
func (a *applier) makeParent(name Name) (tree.Folder, string, error) {
	d, base, err := a.parent(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return d, base, err
	}
	above := Name(path.Dir(string(name)))
	if above == "." || above == name {
		return nil, "", err
	}
	up, dir, err := a.makeParent(above)
	if err != nil {
		return nil, "", err
	}
	err = up.Mkdir(dir, 0o777)
	a.touch(up)
	up.Close()
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, "", err
	}
	return a.parent(name)
}

// step gives the path of a delta its new state.
func (a *applier) step(i int) error {
	d := a.op.Deltas[i]
	dir, base, err := a.parent(d.Path)
	if err != nil && !noFolder(err) {
		return err
	}
	var now Entry
	if err == nil {
		defer dir.Close()
		if now, err = At(dir, base, d.Before, d.After); err != nil {
			return err
		}
	}
	switch {
	case d.isThere(now, d.After), a.accepts != nil && !a.accepts(d, now):
		return nil
	case a.accepts == nil && !a.moved[i] && (d.isSaved(now) || a.isTouched(d.Path)):
		return ErrChanged
	case err != nil && d.After.Kind == absent:
		return nil
	case err != nil:
		if dir, base, err = a.makeParent(d.Path); err != nil {
			return err
		}
		defer dir.Close()
	}
	return a.stepIn(i, dir, base, now)
}

// isSaved reports whether somebody saved a file at the path after the undo was planned.
func (d Delta) isSaved(now Entry) bool {
	if d.Added {
		return now.Kind != File || now.Size != d.Before.Size
	}
	return now.Kind != absent && now.Kind != Dir && !now.Same(d.Before) && !now.Same(d.After)
}

// stepIn is step in the open folder of the path.
func (a *applier) stepIn(i int, dir tree.Folder, base string, now Entry) error {
	d := a.op.Deltas[i]
	a.touch(dir)
	if now.hasNoSum() {
		a.begun = append(a.begun, d.Path)
	}
	a.crash("step")
	Discard(dir, TempName)
	k := &Keeper{a.Tx, a.op, i}
	if d.Added {
		return a.appended(k, dir, base)
	}
	if now.Kind != absent && now.Same(d.After) && now.Kind != Link && !d.joined(dir, base) {
		mode := d.After.Mode
		if now.Kind == Dir && !d.After.Whole {
			mode |= full // until shutFolders
		}
		a.all = true
		a.restoreAttributes(dir, base, d)
		return dir.Chmod(base, modeOf(mode))
	}
	if now.Kind != absent && (now.Kind != File || d.After.Kind != File) {
		if d.After.Kind == File {
			if err := a.checkContent(d.Path, d.After); err != nil {
				return err
			}
		}
		if err := a.remove(k, dir, base, now); err != nil {
			return err
		}
		if d.After.Kind == absent {
			return nil
		}
		now = Entry{}
	}
	err := a.create(k, dir, base, now)
	if err == nil && d.After.Kind == File && a.op.Undoes != 0 {
		a.crash("placed")
		renew(dir, base, k.delta())
	}
	return err
}

// joined reports whether the op made a path another name of a file with the same content. Then the path needs a
// file of its own again: new permissions would apply to the other name too.
func (d Delta) joined(dir tree.Folder, base string) bool {
	if d.Before.Ino == d.After.Ino || d.After.Kind != File {
		return false
	}
	info, err := dir.Lstat(base)
	return err == nil && info.Links > 1
}

// remove moves the file or folder at a path to the blobs.
func (a *applier) remove(k *Keeper, dir tree.Folder, base string, now Entry) error {
	d := k.delta()
	if now.Kind == Dir && !d.Before.Whole {
		err := dir.Remove(base, true)
		if sub, oerr := dir.OpenFolder(base); errors.Is(err, syscall.ENOTEMPTY) && oerr == nil {
			Discard(sub, TempName) // left by a killed process
			sub.Close()
			err = dir.Remove(base, true)
		}
		if errors.Is(err, syscall.ENOTEMPTY) && d.After.Kind == absent {
			a.stays = append(a.stays, d.Path)
			return nil
		}
		return err
	}
	return k.take(now, dir, base)
}

// removeEmpty removes the folders of a.stays that are empty now. It returns the others.
func (a *applier) removeEmpty() (stay []Name) {
	for _, name := range a.stays {
		d, base, err := a.parent(name)
		if err == nil {
			err = d.Remove(base, true)
			d.Close()
		}
		if err != nil && !noFolder(err) {
			stay = append(stay, name)
		}
	}
	return stay
}

// create gives a path its new state. now is a file or absent.
func (a *applier) create(k *Keeper, dir tree.Folder, base string, now Entry) error {
	d := k.delta()
	switch d.After.Kind {
	case Dir:
		a.all = a.all || d.After.Whole || d.After.Mode != UsualMode
		if d.After.Whole {
			return a.restoreTree(d.After, dir, base)
		}
		return a.makeFolder(dir, base, d.After)
	case Link:
		return dir.Symlink(string(d.After.Target), base)
	case Other:
		return a.blobs.Rename(d.After.Blob, dir, base, false)
	case File:
		return a.putFile(k, dir, base, now)
	}
	return nil
}

// restoreTree moves a whole folder back, or copies it from another disk.
func (a *applier) restoreTree(e Entry, dir tree.Folder, base string) error {
	err := moveFolder(a.blobs.Folder, e.Blob, dir, base)
	if err == nil {
		if info, serr := dir.Lstat(base); serr == nil && bitsOf(info.Mode) != e.Mode && e.Mode != UsualMode {
			err = dir.Chmod(base, modeOf(e.Mode)) // a killed process had opened it
		}
	}
	if !errors.Is(err, syscall.EXDEV) {
		return err
	}
	if err := cmp.Or(copyTree(a.blobs.Folder, e.Blob, dir, TempName, false), a.syncAll(dir)); err != nil {
		Discard(dir, TempName)
		return err
	}
	return dir.Rename(TempName, dir, base, false)
}

// putFile gives a path its new content. The old content goes to the blobs. The error is [ErrChanged] if the file is
// no longer the one that now describes.
func (a *applier) putFile(k *Keeper, dir tree.Folder, base string, now Entry) error {
	d := k.delta()
	c, err := a.contentToPut(d)
	if errors.Is(err, errGone) && now.Same(d.After) {
		c, err = fileContent(dir, base)
	}
	if err != nil {
		return err
	}
	defer c.close()
	info, err := dir.Lstat(base)
	var old *tree.Info
	if err == nil && info.Mode.IsRegular() {
		old = &info
	}
	if old != nil && !now.describes(info) {
		return ErrChanged
	}
	if old != nil && a.swaps(k, dir, info) {
		return a.swapIn(k, c, dir, base, info)
	}
	n, err := Create(dir, true)
	if err != nil {
		return err
	}
	defer n.Close()
	if err = a.fill(n.File, dir, c, *d, base, old); err != nil {
		return err
	}
	n.InPlace = old != nil && d.InPlace && info.Links > 1
	err = n.Put(base, old, k, a.o.NoSync)
	if old != nil && errors.Is(err, syscall.EBUSY) { // a mount point
		n.InPlace = true
		err = n.Put(base, old, k, a.o.NoSync)
	}
	if err == nil && n.InPlace {
		err = dir.Chmod(base, modeOf(d.After.Mode))
	}
	return err
}

// swaps reports whether putFile can write the new file among the blobs and exchange it for the old file.
// Creating an unnamed file takes five times as long on ext4.
func (a *applier) swaps(k *Keeper, dir tree.Folder, info tree.Info) bool {
	return !a.noSwap && !a.o.Portable &&
		info.Links == 1 &&
		dir.ID().Dev == a.blobs.ID().Dev
}

// swapIn writes a new file among the blobs and exchanges it for the file at base.
func (a *applier) swapIn(k *Keeper, c *content, dir tree.Folder, base string, info tree.Info) error {
	out := k.aside()
	Discard(a.blobs.Folder, out)
	n, err := a.blobs.OpenFile(out, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0) // fill gives it permissions at its end
	if err != nil {
		return err
	}
	defer n.Close()
	if err := a.fill(n, dir, c, *k.delta(), base, &info); err != nil {
		a.blobs.Remove(out, false)
		return err
	}
	done, err := k.swap(n, out, dir, base, info)
	if errors.Is(err, syscall.EBUSY) || errors.Is(err, syscall.EXDEV) || !done && err == nil {
		a.noSwap = true
		return a.putFile(k, dir, base, EntryOf(info))
	}
	return err
}

// fill gives a new file its content and metadata. The file old is at base; nil means that nothing is there. The new file
// becomes durable, unless run syncs the whole file system later.
func (a *applier) fill(n *os.File, dir tree.Folder, c *content, d Delta, base string, old *tree.Info) error {
	e := d.After
	_, err := io.Copy(n, io.NewSectionReader(c, 0, c.size))
	if err == nil {
		switch {
		case c.name != "" && (old == nil || e.attributes() != ""):
			if saved, serr := a.blobs.Lstat(c.name); serr == nil {
				tree.CopyMetadata(n, a.blobs.Folder, c.name, saved)
			}
		case old != nil && d.Before.attributes() == "":
			tree.CopyMetadata(n, dir, base, *old)
		}
		mode := e.Mode
		if !chown(n, e.Owner) {
			mode &= 0o777 // else others could run the program as this user
		}
		err = n.Chmod(modeOf(mode))
	}
	if err == nil && e.MTime != 0 && (e.Sum == "" || old == nil && a.op.Undoes == 0) {
		setTime(n, time.Unix(0, e.MTime))
	}
	if err == nil && !a.o.NoSync && !a.atOnce(dir.ID().Dev) {
		err = tree.Datasync(n)
	}
	return tree.Cause(err)
}

// appended is step for a delta that appends to a file or truncates its end.
func (a *applier) appended(k *Keeper, dir tree.Folder, base string) error {
	d := k.delta()
	if err := a.log.flush(); err != nil {
		return err
	}
	f, info, err := tree.RegularFile(dir.OpenFile(base, os.O_RDWR, 0))
	if err != nil {
		return err
	}
	defer f.Close()
	if d.After.Size <= d.Before.Size {
		err = f.Truncate(d.After.Size)
	} else if d.Splice != nil {
		if _, err = f.WriteAt(d.Splice.New, d.Splice.Offset); err != nil {
			f.Truncate(info.Size)
		}
	}
	if err != nil || a.o.NoSync {
		return tree.Cause(err)
	}
	return tree.Datasync(f)
}
