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

// apply makes the change that check found to be needed.
func (b *undoStep) apply(ctx context.Context) (err error) {
	b.location, b.folder, err = b.open(b.step.Path)
	if errors.Is(err, fs.ErrNotExist) && b.target.Type == "" {
		return nil // an earlier step removed it with its folder
	}
	if err != nil {
		return err
	}
	defer b.close()
	switch b.step.How {
	case bySwap:
		return b.exchange()
	case inPlace:
		return b.exchangeBytes()
	case byAppend:
		return b.applyAppend()
	case byMove:
		return b.move(ctx)
	case asMode:
		return b.folder.Chmod(b.location.base(), fs.FileMode(b.target.Mode))
	}
	return b.applyFolder()
}

// exchange swaps the file and the image, each of which may be nothing.
func (b *undoStep) exchange() error {
	name, image := b.location.base(), b.step.Image
	emptyFolder := b.target.Type == "folder" && b.target.Digest == emptyTreeDigest
	switch {
	case emptyFolder && b.current.Type == "":
		return b.makeFolder()
	case b.current.Type == "folder" && b.current.Digest == emptyTreeDigest && b.target.Type == "":
		return b.folder.Remove(name, true)
	case b.current.Type == "":
		return b.restore(name)
	case b.target.Type == "":
		return b.backUp(name)
	}
	err := b.images.Exchange(image, b.folder, name)
	if !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, syscall.EXDEV) {
		return err
	}
	spare := image + spareEnd
	discard(b.images, spare)
	if b.current.Type != "folder" && b.target.Type != "folder" && b.folder.Link(name, b.images, spare) == nil {
		if err := b.images.Rename(image, b.folder, name, true); err != nil {
			discard(b.images, spare)
			return err
		}
		return b.images.Rename(spare, b.images, image, false)
	}
	if err := b.images.Rename(image, b.images, spare, false); err != nil {
		return err
	}
	if err := b.backUp(name); err != nil {
		b.images.Rename(spare, b.images, image, false)
		return err
	}
	b.step.Image = spare
	return b.restore(name)
}

// spareEnd is added to the name of an image for the file that it is being swapped with.
const spareEnd = ".0"

// restore moves the image to name, where nothing is.
func (b *undoStep) restore(name string) error {
	err := b.images.Rename(b.step.Image, b.folder, name, false)
	if !errors.Is(err, syscall.EXDEV) {
		return err
	}
	if err := copyWithMetadata(b.images, b.step.Image, b.folder, name); err != nil {
		return err
	}
	discard(b.images, b.step.Image)
	return nil
}

// backUp moves what is at name to be the image.
func (b *undoStep) backUp(name string) error {
	err := b.folder.Rename(name, b.images, b.step.Image, false)
	if errors.Is(err, fs.ErrExist) { // the image is not the one that is needed
		discard(b.images, b.step.Image)
		err = b.folder.Rename(name, b.images, b.step.Image, false)
	}
	if !errors.Is(err, syscall.EXDEV) {
		return err
	}
	if err := copyWithMetadata(b.folder, name, b.images, b.step.Image); err != nil {
		return err
	}
	return b.folder.Remove(name, false)
}

// exchangeBytes swaps the content of the file and of the image; the file stays the same
// one, with all its links.
func (b *undoStep) exchangeBytes() error {
	name, image, spare := b.location.base(), b.step.Image, b.step.Image+spareEnd
	if b.current.Type != "file" {
		return b.exchange()
	}
	discard(b.images, spare)
	if err := copyWithMetadata(b.folder, name, b.images, spare); err != nil {
		return err
	}
	full, err := b.images.OpenFile(image, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer full.Close()
	if err := b.w.overwriteBytes(full, b.folder, name); err != nil {
		return err
	}
	if err := b.setModTime(b.target); err != nil {
		return err
	}
	return b.images.Rename(spare, b.images, image, true)
}

// setModTime gives the file the modification time of s.
func (b *undoStep) setModTime(s fileState) error {
	info, err := b.folder.Lstat(b.location.base())
	if err != nil || s.Time == 0 {
		return err
	}
	info.ModTime = time.Unix(0, s.Time)
	return b.folder.Chtimes(b.location.base(), info)
}

// applyAppend moves what was appended from the file to the image, or back.
func (b *undoStep) applyAppend() error {
	name := b.location.base()
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
	return b.setModTime(b.step.Before)
}

// move moves a file or folder back and restores what it replaced, or moves it again.
func (b *undoStep) move(ctx context.Context) error {
	from, d, err := b.open(b.step.From)
	if err != nil {
		return err
	}
	defer d.Close()
	name := b.location.base()
	if !b.back {
		switch {
		case b.current.Type == "folder":
			err = b.folder.Remove(name, true)
		case b.current.Type != "":
			err = b.backUp(name)
		}
		if err != nil {
			return err
		}
		return b.moveTo(ctx, from, d, b.location, b.folder)
	}
	if b.current.Type != "" {
		if err := b.moveTo(ctx, b.location, b.folder, from, d); err != nil {
			return err
		}
	}
	switch b.step.Before.Type {
	case "":
		return nil
	case "folder":
		return b.makeFolder()
	}
	return b.restore(name)
}

// moveTo moves src to dst, where nothing is, also to another file system.
func (b *undoStep) moveTo(ctx context.Context, src location, from tree.Folder, dst location, to tree.Folder) error {
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

// applyFolder makes the folder, or removes it if it is empty.
func (b *undoStep) applyFolder() error {
	if b.target.Type == "folder" {
		return b.makeFolder()
	}
	if in, err := b.folder.OpenFolder(b.location.base()); err == nil { // the roots are locked: this is what a killed process left
		removeLeftover(in)
		in.Close()
	}
	err := b.folder.Remove(b.location.base(), true)
	if errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

func (b *undoStep) makeFolder() error {
	mode := fs.FileMode(b.target.Mode).Perm()
	if b.step.How == byMove {
		mode = fs.FileMode(b.step.Before.Mode).Perm()
	}
	name := b.location.base()
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
