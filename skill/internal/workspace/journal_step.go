package workspace

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"textskill/skill/internal/workspace/tree"
)

// take takes the step.
func (b *stepBack) take(ctx context.Context) (err error) {
	b.place, b.folder, err = b.open(b.step.Path)
	if errors.Is(err, fs.ErrNotExist) && b.goal.Is == "" {
		return nil // it went with its folder, in an earlier step
	}
	if err != nil {
		return err
	}
	defer b.close()
	switch b.step.How {
	case bySwap:
		return b.swap()
	case inPlace:
		return b.putBytes()
	case byTail:
		return b.takeTail()
	case byMove:
		return b.move(ctx)
	case asMode:
		return b.folder.Chmod(b.place.base(), fs.FileMode(b.goal.Mode))
	}
	return b.takeFolder()
}

// swap lets the name and the image change places.
func (b *stepBack) swap() error {
	name, image := b.place.base(), b.step.Image
	emptyFolder := b.goal.Is == "folder" && b.goal.Print == emptyTree
	switch {
	case emptyFolder && b.there.Is == "":
		return b.makeFolder()
	case b.there.Is == "folder" && b.there.Print == emptyTree && b.goal.Is == "":
		return b.folder.Remove(name, true)
	case b.there.Is == "":
		return b.bringBack(name)
	case b.goal.Is == "":
		return b.putAway(name)
	}
	err := b.images.Exchange(image, b.folder, name)
	if !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, syscall.EXDEV) {
		return err
	}
	spare := image + spareEnd
	discard(b.images, spare)
	if b.there.Is != "folder" && b.goal.Is != "folder" && b.folder.Link(name, b.images, spare) == nil {
		if err := b.images.Rename(image, b.folder, name, true); err != nil {
			discard(b.images, spare)
			return err
		}
		return b.images.Rename(spare, b.images, image, false)
	}
	if err := b.images.Rename(image, b.images, spare, false); err != nil {
		return err
	}
	if err := b.putAway(name); err != nil {
		b.images.Rename(spare, b.images, image, false)
		return err
	}
	b.step.Image = spare
	return b.bringBack(name)
}

// spareEnd makes the name of an image one for the moment in which two change places.
const spareEnd = ".0"

// bringBack makes the image what is at name, where nothing is.
func (b *stepBack) bringBack(name string) error {
	err := b.images.Rename(b.step.Image, b.folder, name, false)
	if !errors.Is(err, syscall.EXDEV) {
		return err
	}
	if err := copyOut(b.images, b.step.Image, b.folder, name); err != nil {
		return err
	}
	discard(b.images, b.step.Image)
	return nil
}

// putAway makes what is at name the image.
func (b *stepBack) putAway(name string) error {
	err := b.folder.Rename(name, b.images, b.step.Image, false)
	if errors.Is(err, fs.ErrExist) { // what is there was not what is to be kept
		discard(b.images, b.step.Image)
		err = b.folder.Rename(name, b.images, b.step.Image, false)
	}
	if !errors.Is(err, syscall.EXDEV) {
		return err
	}
	if err := copyOut(b.folder, name, b.images, b.step.Image); err != nil {
		return err
	}
	return b.folder.Remove(name, false)
}

// putBytes makes the bytes of the image those of the file, and the other way round.
func (b *stepBack) putBytes() error {
	name, image, spare := b.place.base(), b.step.Image, b.step.Image+spareEnd
	if b.there.Is != "file" {
		return b.swap()
	}
	discard(b.images, spare)
	if err := copyOut(b.folder, name, b.images, spare); err != nil {
		return err
	}
	full, err := b.images.OpenFile(image, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer full.Close()
	if err := b.w.pour(full, b.folder, name); err != nil {
		return err
	}
	if err := b.setTime(b.goal); err != nil {
		return err
	}
	return b.images.Rename(spare, b.images, image, true)
}

// setTime gives the file the time that it had in that state.
func (b *stepBack) setTime(s state) error {
	info, err := b.folder.Lstat(b.place.base())
	if err != nil || s.Time == 0 {
		return err
	}
	info.ModTime = time.Unix(0, s.Time)
	return b.folder.Chtimes(b.place.base(), info)
}

// takeTail takes off what was appended and keeps it, or appends it again.
func (b *stepBack) takeTail() error {
	name := b.place.base()
	f, err := b.folder.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	before := b.step.Before.Size
	if !b.back {
		tail, err := b.images.OpenFile(b.step.Image, os.O_RDONLY, 0)
		if err != nil {
			return err
		}
		defer tail.Close()
		if _, err := f.Seek(0, io.SeekEnd); err != nil {
			return tree.Cause(err)
		}
		if _, err := io.Copy(f, tail); err != nil {
			f.Truncate(before)
			return tree.Cause(err)
		}
		return tree.Cause(b.w.flush(f))
	}
	discard(b.images, b.step.Image)
	tail, err := b.images.OpenFile(b.step.Image, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer tail.Close()
	if _, err := f.Seek(before, io.SeekStart); err != nil {
		return tree.Cause(err)
	}
	if _, err := io.Copy(tail, f); err != nil {
		return tree.Cause(err)
	}
	if err := f.Truncate(before); err != nil {
		return tree.Cause(err)
	}
	return b.setTime(b.step.Before)
}

// move puts a thing back where it came from and what it replaced in its place, or
// the other way round.
func (b *stepBack) move(ctx context.Context) error {
	from, d, err := b.open(b.step.From)
	if err != nil {
		return err
	}
	defer d.Close()
	name := b.place.base()
	if !b.back {
		switch {
		case b.there.Is == "folder":
			err = b.folder.Remove(name, true)
		case b.there.Is != "":
			err = b.putAway(name)
		}
		if err != nil {
			return err
		}
		return b.carry(ctx, from, d, b.place, b.folder)
	}
	if b.there.Is != "" {
		if err := b.carry(ctx, b.place, b.folder, from, d); err != nil {
			return err
		}
	}
	switch b.step.Before.Is {
	case "":
		return nil
	case "folder":
		return b.makeFolder()
	}
	return b.bringBack(name)
}

// carry moves src to dst, where nothing is.
func (b *stepBack) carry(ctx context.Context, src place, from tree.Folder, dst place, to tree.Folder) error {
	err := from.Rename(src.base(), to, dst.base(), false)
	if !errors.Is(err, syscall.EXDEV) {
		return err
	}
	info, err := from.Lstat(src.base())
	if err != nil {
		return err
	}
	m := &move{b.w, src, dst, info, MoveOptions{NoReplace: true}}
	return m.across(ctx, from, to)
}

// takeFolder makes the folder or removes it. One that holds something stays.
func (b *stepBack) takeFolder() error {
	if b.goal.Is == "folder" {
		return b.makeFolder()
	}
	if in, err := b.folder.OpenFolder(b.place.base()); err == nil { // nobody else is at work now
		sweep(in)
		in.Close()
	}
	err := b.folder.Remove(b.place.base(), true)
	if errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

func (b *stepBack) makeFolder() error {
	mode := fs.FileMode(b.goal.Mode).Perm()
	if b.step.How == byMove {
		mode = fs.FileMode(b.step.Before.Mode).Perm()
	}
	name := b.place.base()
	if err := b.folder.Mkdir(name, mode); err != nil || b.step.How == asFolder {
		return err
	}
	f, err := b.folder.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return tree.Cause(f.Chmod(mode))
}
