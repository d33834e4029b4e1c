package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"time"

	"textskill/skill/internal/state"
	"textskill/skill/internal/workspace/tree"
)

// apply takes the step.
func (b *undoStep) apply(ctx context.Context, k *keeper) error {
	p, d, err := b.u.open(b.path)
	if errors.Is(err, fs.ErrNotExist) && b.target.Kind == "" && b.way == byPut {
		return nil // an earlier step removed it with its folder
	}
	if err != nil {
		return err
	}
	defer d.Close()
	removeLeftover(d) // of a process that was killed: the roots are locked
	switch b.way {
	case byMove:
		return b.move(ctx, k, p, d)
	case byPatch:
		return b.applyPatch(k, p, d)
	case byMode:
		return d.Chmod(p.base(), fs.FileMode(b.target.Mode))
	}
	return b.put(ctx, k, p, d)
}

// put makes the target appear at p, in d; what is there becomes the image.
func (b *undoStep) put(ctx context.Context, k *keeper, p location, d tree.Folder) error {
	info, err := d.Lstat(p.base())
	if errors.Is(err, fs.ErrNotExist) {
		return b.appear(ctx, k, p, d)
	}
	if err == nil && !info.IsDir() {
		var done bool
		if done, err = b.relink(k, p, d); done {
			return err
		}
	}
	if err != nil {
		return err
	}
	switch {
	case b.removesEmpty():
		return b.removeFolder(p, d)
	case b.inPlace:
		return b.overwrite(k, p, d)
	case b.source != "" && !(b.link != "" && info.IsDir()) && b.exchange(k, p, d) == nil:
		return nil
	case b.source == "" || info.IsDir() || b.target.Kind == kindFolder:
		if err := k.take(ctx, p, d, info); err != nil {
			return err
		}
		return b.appear(ctx, k, p, d)
	}
	images, err := b.u.h.openImages(b.sourceRecord)
	if err != nil {
		return err
	}
	defer images.close()
	if err := k.save(d, p.base()); err != nil {
		return err
	}
	return b.u.w.copyInto(images.top, b.source, d, p.base(), true)
}

// relink makes p, where no folder is, a name again of the file that it was one of, if that is as
// it was. It may have been made anew, but then it has no third name but from this undo: what is
// written to one name is in all of them, also outside. Else done is false, and the target becomes a
// file of its own.
func (b *undoStep) relink(k *keeper, p location, d tree.Folder) (done bool, err error) {
	if b.link == "" || b.u.c.Undoes > 0 {
		return false, nil
	}
	other, from, err := b.u.open(b.link)
	if err != nil {
		return false, nil
	}
	defer from.Close()
	info, err := from.Lstat(other.base())
	if err != nil || info.Links > 1 && info.ID.Ino != b.target.Stamp.Ino && !b.u.joined[info.ID] {
		return false, nil
	}
	now, err := stateNow(from, other.base(), b.target)
	if err != nil || !same(now, b.target) || now.Mode != b.target.Mode && !b.u.setsMode(b.link, b.target.Mode) || from.Link(other.base(), d, tempName) != nil {
		return false, nil
	}
	if err = k.save(d, p.base()); err == nil {
		err = d.Rename(tempName, d, p.base(), true)
	}
	if err != nil {
		discard(d, tempName)
	}
	b.u.joined[info.ID] = true
	return true, err
}

// setsMode reports whether a step gives a file, with all its names, permissions.
func (u *undo) setsMode(name state.Name, mode uint32) bool {
	return slices.ContainsFunc(u.steps, func(s *undoStep) bool { return s.way == byMode && s.path == name && s.target.Mode == mode })
}

// exchange lets the source and what is at p change places, in one step. Before, the
// source becomes the image; if that was interrupted, findSource finds it there.
func (b *undoStep) exchange(k *keeper, p location, d tree.Folder) error {
	images, err := b.u.h.openImages(b.sourceRecord)
	if err != nil {
		return err
	}
	defer images.close()
	if err := images.top.Rename(b.source, k.Images(), k.image(), true); err != nil {
		return err
	}
	if err := k.Images().Exchange(k.image(), d, p.base()); err != nil {
		if rerr := k.Images().Rename(k.image(), images.top, b.source, false); rerr != nil {
			return rerr
		}
		return err
	}
	return nil
}

// appear makes the target at p, where nothing is.
func (b *undoStep) appear(ctx context.Context, k *keeper, p location, d tree.Folder) error {
	switch {
	case b.target.Kind == "":
		return nil
	case b.source == "":
		return b.makeFolder(p, d)
	}
	if done, err := b.relink(k, p, d); done {
		return err
	}
	images, err := b.u.h.openImages(b.sourceRecord)
	if err != nil {
		return err
	}
	defer images.close()
	err = images.top.Rename(b.source, d, p.base(), false)
	if !errors.Is(err, syscall.EXDEV) {
		return err
	}
	if b.target.Kind == kindFolder {
		err = b.u.w.copyTree(ctx, images.at(b.source), d, p, CopyOptions{Times: true, moving: true}, atOnce)
	} else {
		err = b.u.w.copyInto(images.top, b.source, d, p.base(), false)
	}
	if err == nil {
		err = b.u.w.flushNames(k, d)
	}
	if err != nil {
		return err
	}
	discard(images.top, b.source)
	return nil
}

// makeFolder makes an empty folder.
func (b *undoStep) makeFolder(p location, d tree.Folder) error {
	mode := fs.FileMode(b.target.Mode).Perm()
	if err := d.Mkdir(p.base(), mode); err != nil || b.target.Stamp.Ino == 0 { // it was made by an operation, as the umask has it
		return err
	}
	return d.Chmod(p.base(), mode)
}

// removeFolder removes a folder if it is empty.
func (b *undoStep) removeFolder(p location, d tree.Folder) error {
	if in, err := d.OpenFolder(p.base()); err == nil { // the roots are locked: this is what a killed process left
		removeLeftover(in)
		in.Close()
	}
	err := d.Remove(p.base(), true)
	if errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// checkNames finds out whether the step is taken in the file that is there, and so in all of its
// names. That is so if the change was, and no name may be of something else's making: it may be
// outside of the workspace.
func (u *undo) checkNames(b *undoStep) error {
	was, is := b.expect, b.there
	if was.Links < 2 || was.Stamp.Ino != b.target.Stamp.Ino || is.Kind != kindFile {
		return nil
	}
	var info Info
	p, d, err := u.open(b.path)
	if err == nil {
		info, err = d.Lstat(p.base())
		d.Close()
	}
	same := is.Stamp.Ino == was.Stamp.Ino && is.Links <= was.Links
	b.inPlace = is.Links > 1 && (same || err == nil && u.hasAllNames(p, info))
	b.apart = !b.inPlace || is.Links < was.Links+u.takenNames(info.ID)
	if b.inPlace || same || u.force || is.Links < 2 && u.parted(b.path) {
		return nil
	}
	return u.conflict(b.path, true, "was changed under several names (hard links), and its names differ now: with force only this name is undone")
}

// parted reports whether the undo of a later change made a file of its own of what was there, which
// had no other name in the workspace.
func (u *undo) parted(name state.Name) bool {
	return u.all.parted[u.h.path(name)] || slices.ContainsFunc(u.c.seen, func(c *change) bool {
		return c.Undoes > 0 && c.applied() && !c.undone && slices.ContainsFunc(c.Record().Steps, func(s state.Step) bool { return s.Path == name && parts(s) })
	})
}

// parts reports whether a step of an undo makes a file of its own.
func parts(s state.Step) bool {
	return s.Link == "" && s.From == "" && s.Patch == nil && s.After.Kind == kindFile &&
		(s.Before.Kind != kindFile || s.Before.Stamp.Ino != s.After.Stamp.Ino)
}

// isAsBefore reports whether a file is as it was before the change replaced it in two steps, of which b
// is the last one. Of the same content it is that if it is not the file which the change put there, by
// its names or number.
func (u *undo) isAsBefore(b *undoStep) bool {
	first := slices.IndexFunc(u.c.Record().Steps, func(s state.Step) bool { return s.Path == b.path && s.After.Kind == "" })
	if first < 0 || first >= b.index || b.target.Kind != "" || b.there.Kind == "" {
		return false
	}
	was := u.c.Record().Steps[first].Before
	return same(b.there, was) && (!same(b.there, b.expect) || b.there.Stamp.Ino == was.Stamp.Ino || u.c.Undoes == 0 && b.there.Stamp.Ino != b.expect.Stamp.Ino && b.there.Links < b.expect.Links)
}

// hasAllNames reports whether all names of a file are in its folder of the workspace, or are images.
func (u *undo) hasAllNames(p location, info Info) bool {
	top, err := p.root.tree.OpenFolder(".")
	if err != nil {
		return false
	}
	defer top.Close()
	store, err := u.h.open()
	if err != nil {
		return false
	}
	images, err := openStoreFolder(tree.Open(store.Path(), false))
	if err != nil {
		return false
	}
	defer images.close()
	return countNames(top, info.ID)+countNames(images.top, info.ID) == info.Links
}

// takenNames counts the names of a file that undos of later changes took away. What they put there
// instead is another file, unless it has got a further name.
func (u *undo) takenNames(id FileID) (n uint64) {
	for _, c := range u.c.seen {
		if c.Undoes == 0 {
			continue
		}
		if images, err := u.h.openImages(c.ID); err == nil {
			for _, s := range c.Record().Steps {
				n += countName(images.top, s.Image, id)
			}
			images.close()
		}
	}
	return n
}

// writesBelow reports whether the change wrote in place to a file that has a name in the folder name of images,
// and so its undo is to write to that, too.
func (u *undo) writesBelow(images tree.Folder, name string) bool {
	return slices.ContainsFunc(u.c.Record().Steps, func(s state.Step) bool {
		is := FileID{Dev: images.ID().Dev, Ino: s.After.Stamp.Ino}
		return s.After.Links > 1 && is.Ino == s.Before.Stamp.Ino && countName(images, name, is) > 0
	})
}

// countName counts the names of a file at a name and below it.
func countName(d tree.Folder, name string, id FileID) uint64 {
	info, err := d.Lstat(name)
	switch {
	case name == "" || err != nil:
		return 0
	case info.ID == id:
		return 1
	case !info.IsDir():
		return 0
	}
	in, err := d.OpenFolder(name)
	if err != nil {
		return 0
	}
	defer in.Close()
	return countNames(in, id)
}

// countNames counts the names of a file in a folder and below it.
func countNames(d tree.Folder, id FileID) (n uint64) {
	entries, _ := d.Entries()
	for _, e := range entries {
		if e.Type != fs.ModeDir || !Hidden(e.Name) {
			n += countName(d, e.Name, id)
		}
	}
	return n
}

// overwrite replaces the content of a file with several names by that of the source; it
// stays the same file, with all its names.
func (b *undoStep) overwrite(k *keeper, p location, d tree.Folder) error {
	images, err := b.u.h.openImages(b.sourceRecord)
	if err != nil {
		return err
	}
	defer images.close()
	full, err := images.top.OpenFile(b.source, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer full.Close()
	if err := k.copy(d, p.base()); err != nil {
		return err
	}
	if err := b.u.w.overwriteBytes(full, d, p.base()); err != nil {
		return err
	}
	return setModTime(d, p.base(), b.target)
}

// setModTime gives a file the modification time of s.
func setModTime(d tree.Folder, name string, s state.State) error {
	info, err := d.Lstat(name)
	if err != nil || s.MTime == 0 {
		return err
	}
	info.ModTime = time.Unix(0, s.MTime)
	return d.Chtimes(name, info)
}

// move moves what is at from to p, where nothing is, also to another file system.
func (b *undoStep) move(ctx context.Context, k *keeper, p location, d tree.Folder) error {
	src, from, err := b.u.open(b.from)
	if err != nil {
		return err
	}
	defer from.Close()
	err = from.Rename(src.base(), d, p.base(), false)
	if !errors.Is(err, syscall.EXDEV) {
		return err
	}
	info, err := from.Lstat(src.base())
	if err != nil {
		return err
	}
	m := &move{w: b.u.w, src: src, dst: p, info: info, o: MoveOptions{NoReplace: true}}
	return m.across(ctx, k, from, d)
}
