package workspace

import (
	"cmp"
	"io"
	"os"
	"slices"

	"textskill/skill/internal/state"
	"textskill/skill/internal/workspace/tree"
)

// checkPatch finds the patch that leads back.
func (u *undo) checkPatch(b *undoStep) error {
	before, after, p := b.target, b.expect, b.patch
	b.back = state.Patch{Offset: p.Offset, Length: p.New, New: p.Length}
	if b.there.Kind != kindFile {
		return u.changedSince(b.path, b.there, after)
	}
	switch {
	case p.Sum != "":
		if done, err := u.checkEnd(b); done || err != nil {
			return err
		}
	case same(b.there, before):
		return nil
	case !same(b.there, after):
		return u.changedPart(b, "of all else that the file held, nothing is kept")
	}
	if int64(len(p.Old)) < p.Length {
		b.source, b.sourceRecord = u.c.Record().Steps[b.index].Image, u.c.ID
	}
	if err := u.checkNames(b); err != nil {
		return err
	}
	if err := b.readBack(); err != nil {
		return err
	}
	u.add(b)
	return nil
}

// checkEnd checks a patch at the end of a file, of which only the size is known: an append,
// or what took one back. done means that there is nothing to do. With force, all that follows
// what was there before is taken away, unless another change in effect has put that there.
func (u *undo) checkEnd(b *undoStep) (done bool, err error) {
	size, before, after := b.there.Size, b.target.Size, b.expect.Size
	appended := after > before
	rewritten := u.rewritten(b)
	if size == after {
		if sum, err := u.sumOfPart(b.path, b.patch.Offset, b.patch.New); err == nil && sum == b.patch.Sum {
			if rewritten && !u.force {
				err = u.changedSince(b.path, b.there, b.expect)
			}
			return false, err
		}
	}
	switch {
	case rewritten:
		return false, u.changedPart(b, "the change was at an end that the file no longer has")
	case size == before:
		return true, nil
	case appended && size > before && (u.force || size < after && u.unfinished()):
		b.back.Length = size - before
		return false, nil
	case appended && size > before:
		return false, u.conflict(b.path, true, "was changed since at its end, where the change had appended")
	}
	return false, u.changedPart(b, "the change was at an end that the file no longer has")
}

// rewritten reports whether a later change in effect has written a file, and not only at its end, or has moved another
// one there.
func (u *undo) rewritten(b *undoStep) bool {
	ino := cmp.Or(b.expect.Stamp.Ino, b.target.Stamp.Ino)
	return slices.ContainsFunc(u.c.seen, func(c *change) bool {
		return c.mayName(b.path) && c.undoable() && slices.ContainsFunc(c.Record().Steps, func(s state.Step) bool {
			back := s.From != "" && s.After.Stamp.Ino == ino
			return s.Path == b.path && !back && !isMode(s) && (s.Patch == nil || s.Patch.Sum == "")
		})
	})
}

// changedPart returns the error for a file that was changed since, and of which too little is
// kept to bring it back.
func (u *undo) changedPart(b *undoStep, why string) error {
	by := "something else"
	if c := u.laterChange(state.Step{Path: b.path}); c != nil {
		by = "change " + u.w.changeID(u.h, c.ID)
	}
	return u.conflict(b.path, false, "was changed since by %s, and %s", by, why)
}

// sumOfPart returns the sum of some bytes of a file.
func (u *undo) sumOfPart(name state.Name, from, n int64) (string, error) {
	f, err := u.openFile(name, os.O_RDONLY)
	if err != nil {
		return "", err
	}
	defer f.Close()
	part := make([]byte, n)
	if _, err := f.ReadAt(part, from); err != nil {
		return "", err
	}
	return sumOf(part), nil
}

func (u *undo) openFile(name state.Name, flag int) (*os.File, error) {
	p, d, err := u.open(name)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	f, _, err := tree.RegularFile(d.OpenFile(p.base(), flag, 0))
	return f, err
}

// readBack fills in what the patch that leads back takes away, and what it puts there.
func (b *undoStep) readBack() error {
	if b.back.Length <= state.MaxInline {
		f, err := b.u.openFile(b.path, os.O_RDONLY)
		if err != nil {
			return err
		}
		defer f.Close()
		b.back.Old = make([]byte, b.back.Length)
		if _, err := f.ReadAt(b.back.Old, b.back.Offset); err != nil {
			return tree.Cause(err)
		}
	}
	old, err := b.old()
	if err != nil {
		return b.u.conflict(b.path, false, "has no saved version any more")
	}
	if b.patch.Sum != "" {
		b.back.Sum = sumOf(old)
	}
	return nil
}

// old returns the bytes that the patch of the change took away.
func (b *undoStep) old() ([]byte, error) {
	if b.source == "" {
		return b.patch.Old, nil
	}
	images, err := b.u.h.openImages(b.sourceRecord)
	if err != nil {
		return nil, err
	}
	defer images.close()
	f, err := images.top.OpenFile(b.source, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data := make([]byte, b.patch.Length)
	_, err = f.ReadAt(data, 0)
	return data, err
}

// applyPatch puts back the bytes that an edit or an append replaced.
func (b *undoStep) applyPatch(k *keeper, p location, d tree.Folder) error {
	old, err := b.old()
	if err != nil {
		return err
	}
	f, err := d.OpenFile(p.base(), os.O_RDWR, 0)
	if err != nil {
		return tree.Cause(err)
	}
	if k.image() != "" {
		if err := k.Copy(k.step, f, b.back.Offset, b.back.Length); err != nil {
			f.Close()
			return err
		}
	}
	info, err := tree.StatRegular(f)
	if err == nil && b.patch.Sum != "" && (b.inPlace || info.Links == 1) {
		return b.applyToEnd(k, f, old, d, p.base())
	}
	defer f.Close()
	if err != nil {
		return err
	}
	n, err := createFile(d, true, spliced(f, info.Size, Splice{b.back.Offset, b.back.Length, old}))
	if err != nil {
		return err
	}
	defer n.close()
	n.old = &info
	if !tree.CopyMetadata(n.file, d, p.base(), info) && info.Links == 1 {
		err = b.u.w.overwriteBytes(n.file, d, p.base())
	} else if err = b.u.w.flush(n.file); err == nil {
		err = n.install(p.base(), true, nil)
	}
	if err != nil {
		return err
	}
	return setModTime(d, p.base(), b.target)
}

// applyToEnd puts the bytes at the end of the file f in place of those that are there. It
// closes f later.
func (b *undoStep) applyToEnd(k *keeper, f *os.File, old []byte, d tree.Folder, name string) error {
	err := k.Flush()
	if err == nil {
		_, err = f.Seek(b.back.Offset, io.SeekStart)
	}
	if err == nil {
		err = f.Truncate(b.back.Offset)
	}
	if err == nil {
		_, err = f.Write(old)
	}
	if ferr := b.u.w.flush(f); err == nil {
		err = ferr
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return tree.Cause(err)
	}
	return setModTime(d, name, b.target)
}

// replaced returns the bytes that the patch of a step took away, by the record that has it.
func (h *history) replaced(s state.Step, record int64) ([]byte, error) {
	return (&undoStep{u: &undo{h: h}, patch: s.Patch, source: s.Image, sourceRecord: record}).old()
}
