package history

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"textskill/skill/internal/workspace/tree"
)

// A recorder turns the differences between the index and the workspace into deltas of an op, and
// makes the index what is on the disk.
type recorder struct {
	*Tx
	scan    *scan
	op      *Op
	changed bool              // the index was changed
	found   map[string]*item  // what the scan found, by path
	moved   map[string]string // folders that were moved whole: from the old path to the new one
	movedTo map[uint64]string // where a file is now that is not kept, by its inode
	only    map[uint64]*item  // files that are gone and not kept, by their inodes
	spared  map[string]bool   // paths that are another change's
}

// leave notes that undo leaves a path as it is.
func (r *recorder) leave(name, why string) {
	for _, l := range r.op.Left {
		if string(l.Path) == name && l.Why == why {
			return
		}
	}
	r.op.Left = append(r.op.Left, Left{Name(name), why})
}

// compare records what is different at the paths that a scan found changed or gone. Contents are kept
// again where something has changed them since.
func (r *recorder) compare(ctx context.Context) error {
	fresh := r.scan.fresh()
	gone := r.scan.gone(fresh)
	r.found = make(map[string]*item, len(fresh))
	paths := make([]string, 0, len(fresh)+len(gone))
	var todo []*item
	for i := range fresh {
		e := &fresh[i]
		r.found[e.path] = e
		paths = append(paths, e.path)
		if e.kind == aLink || e.kind == aFile && e.size <= maxSize(e) {
			todo = append(todo, e)
		}
	}
	if _, err := r.keepAll(ctx, todo, r.scan.begin); err != nil {
		return err
	}
	for _, e := range gone {
		paths = append(paths, e.path)
	}
	slices.SortFunc(paths, byPath)
	slices.SortFunc(gone, func(a, b *item) int { return byPath(a.path, b.path) })
	r.findMoves(gone)
	for _, name := range paths {
		if err := ctx.Err(); err != nil {
			return err
		}
		if r.spared[name] {
			continue
		}
		if err := r.one(name); err != nil {
			return err
		}
	}
	r.sort()
	return nil
}

// findMoves finds folders that were moved whole, and files that are not kept and have another name
// now. Undo moves them back; else it would lose the only copy.
func (r *recorder) findMoves(gone []*item) {
	r.moved, r.movedTo, r.only = map[string]string{}, map[uint64]string{}, map[uint64]*item{}
	folders := map[tree.FileID]*item{}
	for _, e := range r.found {
		was := r.index.find(e.path)
		if was != nil && was.id == e.id {
			continue
		}
		r.noteOnly(was)
		switch {
		case e.kind == aFolder:
			folders[e.id] = e
		case e.links == 1:
			r.movedTo[e.id.Ino] = e.path
		}
	}
	for _, e := range gone {
		r.noteOnly(e)
		to := folders[e.id]
		if e.kind == aFolder && to != nil &&
			to.mode == e.mode && r.sameFile(e, to) &&
			r.movedWhole(e.path, to.path) {
			r.moved[e.path] = to.path
		}
	}
}

// noteOnly notes a file that is not at its path any more, if its content is not kept.
func (r *recorder) noteOnly(was *item) {
	if was != nil && was.kind != aFolder && !was.kept() {
		r.only[was.id.Ino] = was
	}
}

// movedWhole reports whether all that was in a folder is in another one now, unchanged, and nothing
// else, and the folder holds something that is not kept.
func (r *recorder) movedWhole(from, to string) bool {
	if r.inMoved(from) || r.index.find(to) != nil {
		return false
	}
	special := !r.index.find(from).kept()
	before := r.index.below(from)
	for _, e := range before {
		now := r.found[to+strings.TrimPrefix(e.path, from)]
		if now == nil || !r.sameFile(e, now) ||
			now.mode != e.mode || now.size != e.size &&
			e.kind != aFolder ||
			now.mod != e.mod && e.kind != aFolder {
			// what is not entered under its old name may be entered under the new one
			return !e.kept() && now == nil
		}
		special = special || !e.kept() || e.git
	}
	return special && !r.addedTo(from, to)
}

// addedTo reports whether something is in a moved folder that was not in it before. In a folder that is not
// entered nobody knows what was in it before, and so nothing counts as added.
func (r *recorder) addedTo(from, to string) bool {
	for name := range r.found {
		rest, ok := strings.CutPrefix(name, to+"/")
		if ok && r.index.find(from+"/"+rest) == nil && !r.notEntered(from, rest) {
			return true
		}
	}
	return false
}

// notEntered reports whether a folder of the index, or one between it and a path below it, is not entered.
func (r *recorder) notEntered(folder, below string) bool {
	for at := folder + "/" + below; len(at) > len(folder); {
		at = path.Dir(at)
		if e := r.index.find(at); e != nil && !e.kept() {
			return true
		}
	}
	return false
}

// inMoved reports whether a path is in a folder that was moved whole.
func (r *recorder) inMoved(name string) bool {
	for from, to := range r.moved {
		if strings.HasPrefix(name, from+"/") || strings.HasPrefix(name, to+"/") {
			return true
		}
	}
	return false
}

// one compares a path with the index, and follows it.
func (r *recorder) one(name string) error {
	if r.moved != nil && r.oneMoved(name) {
		return nil
	}
	was := r.index.find(name)
	now, err := r.now(name, was)
	if err != nil {
		return err
	}
	if was == nil && now == nil {
		return nil
	}
	both := was != nil && now != nil
	if both && was.unchanged(now) && !was.racy {
		return nil
	}
	if !both || !r.sameAs(name, was, now) {
		r.difference(name, was, now)
	}
	r.changed = true
	r.index.set(name, now)
	return nil
}

// sameAs reports whether an item that was touched has the same content and permissions as before.
func (r *recorder) sameAs(name string, was, now *item) bool {
	known := was.digest != "" || was.kind == aFolder && was.kept()
	return known && was.entry().equal(now.entry()) || isGitIndex(name) && r.sameIndex(was, now)
}

// oneMoved records a path that was moved with its folder. It reports whether it was.
func (r *recorder) oneMoved(name string) bool {
	for from, to := range r.moved {
		switch {
		case name == from:
			was, now := r.index.find(from), r.found[to]
			before, after := was.entry(), now.entry()
			before.Whole, after.Whole = true, true
			r.op.Deltas = append(r.op.Deltas, Delta{Path: Name(from), Before: before},
				Delta{Path: Name(to), From: Name(from), After: after})
			r.index.removeBelow(from)
			r.index.set(from, nil)
			r.index.set(to, now)
			r.changed = true
			return true
		case strings.HasPrefix(name, from+"/"), name == to:
			return true
		case strings.HasPrefix(name, to+"/"):
			r.index.set(name, r.found[name])
			return true
		}
	}
	return false
}

// now returns what is at a path, with its content kept; nil for nothing.
func (r *recorder) now(name string, was *item) (*item, error) {
	d, base, err := r.parent(Name(name))
	if noFolder(err) {
		return nil, nil
	}
	if err != nil {
		return nil, nil // in a folder that may not be read
	}
	defer d.Close()
	info, err := d.Lstat(base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	e := r.found[name]
	if e == nil {
		e = &item{path: name}
		if was != nil {
			e.ignored, e.git = was.ignored, was.git
		}
		_, _, git := gitPart(name)
		e.git = e.git || git
	}
	if e.kind == letterOf(info) && e.stamp == stampOf(info) && !(e.kind == aFile && e.digest == "") {
		return e, nil
	}
	fresh := *e
	fresh.kind, fresh.stamp, fresh.digest = letterOf(info), stampOf(info), ""
	if fresh.kind == aLink || fresh.kind == aFile && fresh.size <= maxSize(&fresh) {
		err = r.keepIn(d, base, &fresh, r.scan.begin)
	}
	return &fresh, err
}

// difference adds a delta, or says why undo leaves the path.
func (r *recorder) difference(name string, was, now *item) {
	d := Delta{Path: Name(name), Before: was.entry(), After: now.entry()}
	switch {
	case isFolder(was) && isFolder(now):
		r.folder(d, was, now)
	case was != nil && !was.kept():
		r.unkept(d, was, now)
	case was == nil && r.isLeftBehind(name, now):
		r.leave(name, "it was at "+r.only[now.id.Ino].path+" and is not kept, and undo leaves it as it is")
	case isFolder(now) && !now.kept():
		r.leave(name, whyNotKept(now))
	default:
		d.InPlace = isFile(was) && isFile(now) && now.links > 1 && was.id == now.id
		r.op.Deltas = append(r.op.Deltas, d)
	}
}

func isFolder(e *item) bool { return e != nil && e.kind == aFolder }

func isFile(e *item) bool { return e != nil && e.kind == aFile }

// unkept records a path whose content is not kept: a move, or other permissions.
func (r *recorder) unkept(d Delta, was, now *item) {
	switch {
	case now == nil && r.isMoved(was):
		r.op.Deltas = append(r.op.Deltas, d)
	case now == nil || !was.stamp.sameContent(now.stamp) || was.kind != now.kind:
		r.leave(string(d.Path), whyNotKept(was))
	case !d.Before.sameMode(d.After):
		r.op.Deltas = append(r.op.Deltas, d)
	}
}

// isLeftBehind reports whether a new path has a file whose old name is gone and whose content is
// not kept, and which undo cannot move back.
func (r *recorder) isLeftBehind(name string, now *item) bool {
	was := r.only[now.id.Ino]
	return was != nil && r.sameFile(was, now) && !r.isMovedTo(name, now)
}

// sameFile reports whether two items are of one file, and not of a later one that got its number.
func (r *recorder) sameFile(was, now *item) bool {
	if was.id != now.id || was.kind != now.kind {
		return false
	}
	if born := tree.Birth(r.PathOf(Name(now.path)), now.id); !born.IsZero() {
		return born.UnixNano() <= was.changed
	}
	return was.size == now.size && was.mod == now.mod
}

// isMoved reports whether a file that is not kept has another name now.
func (r *recorder) isMoved(was *item) bool {
	to, ok := r.movedTo[was.id.Ino]
	if !ok {
		return false
	}
	now := r.found[to]
	return now != nil && r.sameFile(was, now) && now.sameContent(was.stamp)
}

// isMovedTo reports whether a file that is not kept was moved to a path.
func (r *recorder) isMovedTo(name string, now *item) bool {
	was := r.only[now.id.Ino]
	return r.movedTo[now.id.Ino] == name && r.found[was.path] == nil && r.sameFile(was, now) &&
		was.sameContent(now.stamp)
}

// sameContent reports whether two stamps are of the same file with the same content.
func (s stamp) sameContent(o stamp) bool { return s.id == o.id && s.size == o.size && s.mod == o.mod }

// folder records the change of a folder's permissions, or of one that is not entered.
func (r *recorder) folder(d Delta, was, now *item) {
	if !was.kept() && !now.kept() {
		if was.stamp.mod != now.stamp.mod || was.id != now.id {
			r.leave(string(d.Path), whyNotKept(was))
		}
		return
	}
	if was.mode&0o500 != 0o500 && now.mode&0o500 == 0o500 && os.Geteuid() != 0 {
		r.leave(string(d.Path), "what was in it could not be read, and undo leaves it as it is")
	}
	if !d.Before.sameMode(d.After) {
		r.op.Deltas = append(r.op.Deltas, d)
	}
}

// whyNotKept returns the reason why the content of a path is not kept.
func whyNotKept(e *item) string {
	switch {
	case IsCache(path.Base(e.path)):
		return cacheReason
	case e.kind == aFolder:
		return rebuiltReason
	case e.kind == aSpecial:
		return "it was not a regular file"
	case e.ignored && e.size > maxIgnored:
		return fmt.Sprintf("git ignores it and it held %d bytes: ignored files of more than %d are not kept",
			e.size, maxIgnored)
	case e.size > MaxKept:
		return fmt.Sprintf("it held %d bytes, and files of more than %d are not kept", e.size, MaxKept)
	}
	return "what it held was not kept: it could not be read, or there was no room or no time for it"
}

const (
	cacheReason   = "it is a cache, and undo leaves it as it is"
	rebuiltReason = "git ignores it and a tool builds it again, so undo leaves it as it is"
)

// isQuiet reports whether an op changed only what is built again, or nothing that is known: an undo
// is not to stop at it.
func (op *Op) isQuiet() bool {
	return len(op.Deltas) == 0 && op.Note == "" && !slices.ContainsFunc(op.Left, func(l Left) bool {
		return l.Why != cacheReason && l.Why != rebuiltReason && l.Path != ""
	})
}

// sort orders the deltas by path, folders before what is in them.
func (r *recorder) sort() {
	slices.SortStableFunc(r.op.Deltas, func(a, b Delta) int { return byPath(string(a.Path), string(b.Path)) })
}

// gitObjects says where objects of git are gone: what only they held cannot be brought back.
func (r *recorder) gitObjects(c *Command) {
	for dir, before := range c.objects {
		now := r.objectNames(dir)
		for name := range before {
			if !now[name] {
				r.leave(dir+"/objects", "git's objects were removed or packed again: a commit that only a removed object held does not come back")
				break
			}
		}
	}
}
