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
	"time"

	"textskill/skill/internal/workspace/tree"
)

// A recorder adds the differences between the index and the workspace to an op as deltas. It also
// updates the index from the disk.
type recorder struct {
	*Tx
	scan        *scan
	op          *Op
	found       map[string]*item  // the items that the scan found, by path
	moved       map[string]string // folders that were moved whole: old path to new path
	movedTo     map[uint64]string // paths of new files with one link, by inode
	unkeptFiles map[uint64]*item  // files that are not at their old path and not kept, by inode
	edited      map[string]bool   // paths whose difference belongs to an open edit of another agent
	look        *lookFor          // nil for the paths of an edit
	began       int64             // of the look
	ask         *asker
	inodes      map[uint64]*item // of the index before the look
	older       map[string]bool  // folders whose older contents the op leaves without naming each
}

// addLeft adds to the op that undo does not revert a path, and why.
func (r *recorder) addLeft(name, why string) { r.leave(Left{Path: Name(name), Why: why}) }

// addLost is addLeft for a change of the op whose earlier state is not known: an undo of the rest is a part.
func (r *recorder) addLost(name, why string) { r.leave(Left{Name(name), why, true}) }

func (r *recorder) leave(l Left) {
	if !slices.Contains(r.op.Left, l) {
		r.op.Left = append(r.op.Left, l)
	}
}

// notKept adds to the op that undo does not revert a path whose content is not kept.
func (r *recorder) notKept(name string, e *item) {
	why := whyNotKept(e)
	r.leave(Left{Name(name), why, why != cacheReason && why != rebuiltReason})
}

// compare records the differences at the paths that the scan found changed or missing. It saves the new
// contents. It reads a file again that has changed since the scan.
func (r *recorder) compare(ctx context.Context) error {
	fresh := r.scan.fresh()
	if r.look != nil {
		if r.began = r.look.began(); r.began > r.clock() {
			r.began = 0 // somebody has set the clock back
		}
	}
	missing := r.scan.missing(fresh)
	r.found = make(map[string]*item, len(fresh))
	paths := make([]string, 0, len(fresh)+len(missing))
	var todo []*item
	for i := range fresh {
		e := &fresh[i]
		r.found[e.path] = e
		paths = append(paths, e.path)
		if e.keeps() {
			todo = append(todo, e)
		}
	}
	if _, err := r.keepAll(ctx, todo, r.scan.begin); err != nil {
		return err
	}
	for _, e := range missing {
		paths = append(paths, e.path)
	}
	slices.SortFunc(paths, byPath)
	slices.SortFunc(missing, func(a, b *item) int { return byPath(a.path, b.path) })
	r.findMoves(missing)
	for _, name := range paths {
		if err := ctx.Err(); err != nil {
			return err
		}
		if r.edited[name] {
			continue
		}
		if err := r.recordPath(name); err != nil {
			return err
		}
	}
	r.sort()
	return nil
}

// findMoves finds folders that were moved whole, and moved files whose content is not kept. An undo
// moves these back, because they are the only copies.
func (r *recorder) findMoves(missing []*item) {
	r.moved, r.movedTo, r.unkeptFiles = map[string]string{}, map[uint64]string{}, map[uint64]*item{}
	folders := map[tree.FileID]*item{}
	for _, e := range r.found {
		was := r.index.find(e.path)
		if was != nil && was.id == e.id {
			continue
		}
		r.noteUnkept(was)
		switch {
		case e.kind == aFolder:
			folders[e.id] = e
		case e.links == 1:
			r.movedTo[e.id.Ino] = e.path
		}
	}
	for _, e := range missing {
		r.noteUnkept(e)
		to := folders[e.id]
		if e.kind == aFolder && to != nil &&
			to.mode == e.mode && r.sameFile(e, to) &&
			r.movedWhole(e.path, to.path) {
			r.moved[e.path] = to.path
		}
	}
}

// noteUnkept adds a file that is no longer at its path to r.unkeptFiles, if its content is not kept.
func (r *recorder) noteUnkept(was *item) {
	if was != nil && was.kind != aFolder && !was.kept() {
		r.unkeptFiles[was.id.Ino] = was
	}
}

// movedWhole reports whether the folder from is now at to, with the same unchanged entries, and
// contains an entry that is not kept.
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
			// the scan may enter a folder under its new name that it did not enter under the old name
			return !e.kept() && now == nil
		}
		special = special || !e.kept() || e.git
	}
	return special && !r.addedTo(from, to)
}

// addedTo reports whether a moved folder contains a new entry. The index does not know the earlier
// entries of a folder that the scan did not enter, so no entry of such a folder counts as new.
func (r *recorder) addedTo(from, to string) bool {
	for name := range r.found {
		rest, ok := strings.CutPrefix(name, to+"/")
		if ok && r.index.find(from+"/"+rest) == nil && !r.notEntered(from, rest) {
			return true
		}
	}
	return false
}

// notEntered reports whether the scan did not enter folder, or a folder between it and below.
func (r *recorder) notEntered(folder, below string) bool {
	for at := folder + "/" + below; len(at) > len(folder); {
		at = path.Dir(at)
		if e := r.index.find(at); e != nil && !e.kept() {
			return true
		}
	}
	return false
}

// inMoved reports whether a path is in a folder that was moved whole, at its old or new path.
func (r *recorder) inMoved(name string) bool {
	for from, to := range r.moved {
		if strings.HasPrefix(name, from+"/") || strings.HasPrefix(name, to+"/") {
			return true
		}
	}
	return false
}

// recordPath records the difference at a path, and updates the index.
func (r *recorder) recordPath(name string) error {
	if r.moved != nil && r.recordMoved(name) {
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
	unseen := was == nil && r.look != nil && r.isHidden(name) // no look knows its earlier state
	switch same := both && r.sameAs(name, was, now); {
	case unseen, same && !was.otherAttributes(now), r.untouched(name, was, now):
	case same:
		r.addLost(name, "only its extended attributes changed, and undo leaves them as they are")
	default:
		r.difference(name, was, now)
		r.noteTime(name, was, now)
	}
	r.index.set(name, now)
	return nil
}

// otherAttributes reports whether the extended attributes of two versions of a path are known and differ.
func (e *item) otherAttributes(now *item) bool {
	return e.digest != "" && now.digest != "" && e.entry().attributes() != now.entry().attributes()
}

// isHidden reports whether a path is in a folder that the last look did not enter.
func (r *recorder) isHidden(name string) bool {
	return slices.ContainsFunc(above(name), func(folder string) bool {
		e := r.index.find(folder)
		return isFolder(e) && !e.kept()
	})
}

// sameAs reports whether a path has the same content and permissions as before.
func (r *recorder) sameAs(name string, was, now *item) bool {
	known := was.digest != "" || was.kind == aFolder && was.kept()
	return known && was.entry().equal(now.entry()) || isGitIndex(name) && r.sameIndex(was, now)
}

// recordMoved is recordPath for the paths of a folder that was moved whole. It returns false for other paths.
func (r *recorder) recordMoved(name string) bool {
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

// now returns the current item of a path and saves its content. It returns nil if the path does not
// exist, and was if it is in a folder that may not be read.
func (r *recorder) now(name string, was *item) (*item, error) {
	d, base, err := r.parent(Name(name))
	if noFolder(err) {
		return nil, nil
	}
	if err != nil {
		return was, nil
	}
	defer d.Close()
	info, err := d.Lstat(base)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.Is(err, fs.ErrPermission):
		return was, nil
	case err != nil:
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
	if e.kind == letterOf(kindOf(info.Mode)) && e.stamp == stampOf(info) && !(e.kind == aFile && e.digest == "") {
		return e, nil
	}
	fresh := *e
	fresh.kind, fresh.stamp, fresh.digest = letterOf(kindOf(info.Mode)), stampOf(info), ""
	if fresh.keeps() {
		err = r.keepIn(d, base, &fresh, r.scan.begin, nil)
	}
	return &fresh, err
}

// untouched reports whether a path was not changed in the windows of the look: its file changed before
// they began, or after the last process of a single command had ended.
func (r *recorder) untouched(name string, was, now *item) bool {
	if now == nil || r.look == nil || r.began == 0 {
		return false
	}
	if was != nil && was.id == now.id && was.changed == now.changed {
		return false // the system is between a change and its time, or it has no such times
	}
	if r.look.stamp != 0 && now.changed > r.look.stamp {
		return true
	}
	if now.changed >= r.began {
		return false
	}
	for _, folder := range above(name) { // a moved folder leaves the times of its files alone
		was := r.scan.old.find(folder)
		if is := r.found[folder]; was == nil || is != nil && is.id != was.id {
			return false
		}
	}
	return true
}

// isOlder reports whether the file at a new path is older than the windows of the look, and was not at a
// path that the index knows: it came from a folder that was not looked at, or from outside. known is
// false if the system does not tell the age of the file.
func (r *recorder) isOlder(name string, now *item) (older, known bool) {
	if r.look == nil || r.began == 0 || now.kind == aFile && now.links > 1 {
		return false, true
	}
	born := tree.Birth(r.PathOf(Name(name)), now.id)
	if known = !born.IsZero(); !known {
		if now.kind == aFolder {
			return false, true
		}
		born = time.Unix(0, now.mod)
	}
	if born.UnixNano() >= r.began {
		return false, true
	}
	if r.inodes == nil {
		r.inodes = map[uint64]*item{}
		for e := range r.scan.old.all() {
			r.inodes[e.id.Ino] = e
		}
		r.addRemoved()
	}
	was := r.inodes[now.id.Ino]
	return was == nil || was.kind != now.kind, known
}

// addRemoved adds to r.inodes what ops since the windows began have taken out of the index: a part of a move
// may be recorded before the rest.
func (r *recorder) addRemoved() {
	since := r.log.last()
	for _, w := range r.look.owners {
		since = min(since, w.Since)
	}
	for at := range r.log.newest() {
		if at.id <= since {
			return
		}
		op := r.log.op(at)
		if op == nil {
			continue
		}
		for _, d := range op.Deltas {
			if d.Before.Ino != 0 && r.inodes[d.Before.Ino] == nil {
				r.inodes[d.Before.Ino] = &item{kind: letterOf(d.Before.Kind)}
			}
		}
	}
}

// removedAt returns the latest moment at which a path that is gone may have been removed.
func (r *recorder) removedAt(name string) int64 {
	for _, folder := range append(above(name), ".") {
		d, err := r.o.Tree.OpenFolder(folder)
		if err != nil {
			continue
		}
		info, err := d.Lstat(".")
		d.Close()
		if err != nil {
			return 0
		}
		return info.ModTime.UnixNano()
	}
	return 0
}

// olderReason says why undo leaves a file that is older than the command that put it here, and where it came
// from, if one folder that was not looked at has changed meanwhile.
func (r *recorder) olderReason(name string) string {
	const why = "it is older than the command that put it here, and undo leaves it"
	var from []string
	for _, folder := range r.op.NotSeen {
		d, base, err := r.parent(folder)
		if err != nil {
			continue
		}
		info, err := d.Lstat(base)
		d.Close()
		if err == nil && info.ModTime.UnixNano() >= r.began {
			from = append(from, r.PathOf(folder))
		}
	}
	if len(from) != 1 {
		return why
	}
	return fmt.Sprintf("%s; if it was in %s, type: mv %s %[2]s/", why, from[0], r.PathOf(Name(name)))
}

// difference adds the delta of a path to the op, or the reason why undo does not revert the path.
func (r *recorder) difference(name string, was, now *item) {
	d := Delta{Path: Name(name), Before: was.entry(), After: now.entry()}
	if r.look != nil && !r.look.told() {
		if now == nil {
			d.Changed = r.removedAt(name)
		} else {
			d.Changed = now.changed
		}
	}
	if now != nil && (was == nil || was.id != now.id) {
		older, known := r.isOlder(name, now)
		switch {
		case older && known && was == nil:
			if r.puts(name); !r.older[path.Dir(name)] {
				r.addLeft(name, r.olderReason(name))
			}
			return
		case older:
			d.Unsure = true
		}
	}
	switch {
	case isFolder(was) && isFolder(now):
		r.folder(d, was, now)
	case was != nil && !was.kept():
		r.unkept(d, was, now)
	case r.isRecord(name, was), r.isRecord(name, now):
		r.addLeft(name, cacheReason)
	case was == nil && r.isLeftBehind(name, now):
		r.addLost(name, "it was at "+r.unkeptFiles[now.id.Ino].path+" and is not kept, and undo leaves it as it is")
	case isFolder(now) && !now.kept():
		r.notKept(name, now)
	case r.heldBy(name, now) != nil:
		r.addLeft(name, r.heldBy(name, now).reason()+", and undo leaves it")
	default:
		d.InPlace = isFile(was) && isFile(now) && now.links > 1 && was.id == now.id
		d.Linked = r.otherName(was, now)
		r.op.Deltas = append(r.op.Deltas, d)
	}
}

// heldBy returns who has a changed file open after the command, nil if nobody has. The change is nobody's. While
// another command runs, the file may be open in that.
func (r *recorder) heldBy(name string, now *item) *Held {
	if r.look == nil || !r.look.told() || !isFile(now) {
		return nil
	}
	if r.ask == nil {
		r.ask = r.newAsker()
	}
	return r.ask.about(Name(name))
}

// puts notes that what is older in a folder, or the folder itself, is named already.
func (r *recorder) puts(folder string) {
	if r.older == nil {
		r.older = map[string]bool{}
	}
	r.older[folder] = true
}

func isFolder(e *item) bool { return e != nil && e.kind == aFolder }

func isFile(e *item) bool { return e != nil && e.kind == aFile }

// unkept is difference for a path whose old content is not kept. Undo can only revert a move or new
// permissions.
func (r *recorder) unkept(d Delta, was, now *item) {
	switch {
	case now == nil && r.isMoved(was):
		r.op.Deltas = append(r.op.Deltas, d)
	case now == nil || !was.stamp.sameContent(now.stamp) || was.kind != now.kind:
		r.notKept(string(d.Path), was)
	case !d.Before.sameMode(d.After):
		r.op.Deltas = append(r.op.Deltas, d)
	}
}

// isLeftBehind reports whether the file at a new path was moved there, is not kept, and cannot be moved
// back by undo.
func (r *recorder) isLeftBehind(name string, now *item) bool {
	was := r.unkeptFiles[now.id.Ino]
	return was != nil && r.sameFile(was, now) && !r.isMovedTo(name, now)
}

// sameFile reports whether two items describe the same file, not a newer file with the same inode.
func (r *recorder) sameFile(was, now *item) bool {
	if was.id != now.id || was.kind != now.kind {
		return false
	}
	if born := tree.Birth(r.PathOf(Name(now.path)), now.id); !born.IsZero() {
		return born.UnixNano() <= was.changed
	}
	return was.size == now.size && was.mod == now.mod
}

// isMoved reports whether a file that is not kept now has another path.
func (r *recorder) isMoved(was *item) bool {
	to, ok := r.movedTo[was.id.Ino]
	if !ok {
		return false
	}
	now := r.found[to]
	return now != nil && r.sameFile(was, now) && now.sameContent(was.stamp)
}

// isMovedTo reports whether the file at name is not kept and was moved there.
func (r *recorder) isMovedTo(name string, now *item) bool {
	was := r.unkeptFiles[now.id.Ino]
	return r.movedTo[now.id.Ino] == name && r.found[was.path] == nil && r.sameFile(was, now) &&
		was.sameContent(now.stamp)
}

// sameContent reports whether two stamps describe the same file with the same content.
func (s stamp) sameContent(o stamp) bool { return s.id == o.id && s.size == o.size && s.mod == o.mod }

// folder is difference for a path that was a folder and is one now.
func (r *recorder) folder(d Delta, was, now *item) {
	if !was.kept() && !now.kept() {
		if was.stamp.mod != now.stamp.mod || was.id != now.id {
			r.notKept(string(d.Path), was)
		}
		return
	}
	if was.mode&0o500 != 0o500 && now.mode&0o500 == 0o500 && os.Geteuid() != 0 {
		r.addLost(string(d.Path), fmt.Sprintf("what was in it could not be read before, and undo leaves all of it as it "+
			"is; to see it, type: ls -lR %s", r.PathOf(d.Path)))
		r.puts(string(d.Path))
	}
	if !d.Before.sameMode(d.After) {
		r.op.Deltas = append(r.op.Deltas, d)
	}
}

// whyNotKept returns why the content of a path is not kept.
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

// isQuiet reports whether the only known changes of an op are in caches and rebuilt folders. A bare
// undo skips such an op.
func (op *Op) isQuiet() bool {
	return len(op.Deltas) == 0 && op.Note == "" && !slices.ContainsFunc(op.Left, func(l Left) bool {
		return l.Why != cacheReason && l.Why != rebuiltReason && l.Path != ""
	})
}

// sort sorts the deltas by path, a folder before its entries.
func (r *recorder) sort() {
	slices.SortStableFunc(r.op.Deltas, func(a, b Delta) int { return byPath(string(a.Path), string(b.Path)) })
}

// nowAt returns the path of a folder after the command, which may have moved it whole.
func (r *recorder) nowAt(folder string) string {
	for from, to := range r.moved {
		if folder == from || strings.HasPrefix(folder, from+"/") {
			return to + folder[len(from):]
		}
	}
	return folder
}
