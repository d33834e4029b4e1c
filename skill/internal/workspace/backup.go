package workspace

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"textskill/skill/internal/workspace/tree"
)

// A backup is where one change puts what it takes away: the image of its first step,
// in the folder of the images.
type backup struct {
	folder tree.Folder
	steps  []pathChange
}

// name returns the name of the image.
func (b *backup) name() string { return b.steps[0].Image }

// discard removes the image, of a change that was not made.
func (b *backup) discard() { discard(b.folder, b.name()) }

// withFreeName calls put, which fails with EEXIST if the name of the image is taken: an
// image that was left by a journal which is lost. That is removed, and put called again.
func (b *backup) withFreeName(put func() error) error {
	err := put()
	if errors.Is(err, fs.ErrExist) {
		b.discard()
		err = put()
	}
	return err
}

// exchange installs a new file under name; the old file becomes the image, in the same
// step. done is false if that is not possible here: then the image is a link to the old
// file, or a copy, and the caller replaces the file.
func (b *backup) exchange(n *newFile, name string) (done bool, err error) {
	err = errors.ErrUnsupported
	if !n.named {
		err = b.withFreeName(func() error { return b.folder.LinkUnnamed(n.file, b.name()) })
	}
	if err != nil {
		return false, b.save(n.dir, name)
	}
	if err = b.folder.Exchange(b.name(), n.dir, name); err != nil {
		if err := b.folder.Rename(b.name(), n.dir, tempName, false); err != nil {
			return true, err
		}
		n.named = true // as it is now: a file that lost its only name cannot be linked again
		return false, b.save(n.dir, name)
	}
	if info, err := b.folder.Lstat(b.name()); err == nil && info.IsDir() { // the folder came there just now
		if err := b.folder.Exchange(b.name(), n.dir, name); err != nil {
			return true, err
		}
		b.discard()
		return true, syscall.EISDIR
	}
	return true, nil
}

// save makes an image of the file at name, which is about to be replaced: another link
// to it, or a copy. A folder that can be replaced is empty, and needs no image.
func (b *backup) save(d tree.Folder, name string) error {
	info, err := d.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir() {
		return nil
	}
	if err != nil {
		return err
	}
	if b.withFreeName(func() error { return d.Link(name, b.folder, b.name()) }) == nil {
		return nil
	}
	return b.copy(d, name)
}

// copy makes a copy of the file at name the image.
func (b *backup) copy(d tree.Folder, name string) error {
	return b.withFreeName(func() error { return copyWithMetadata(d, name, b.folder, b.name()) })
}

// copyWithMetadata copies a file or a symbolic link to a new name.
func copyWithMetadata(d tree.Folder, name string, to tree.Folder, newName string) error {
	target, err := d.Readlink(name)
	if err == nil {
		return to.Symlink(target, newName)
	}
	if err := d.CopyFile(name, to, newName, true); err != nil {
		return err
	}
	info, err := d.Lstat(name)
	if err != nil {
		return err
	}
	if f, err := to.OpenFile(newName, os.O_RDONLY, 0); err == nil { // else its mode keeps even its owner from reading it
		defer f.Close()
		tree.CopyMetadata(f, d, name, info)
	}
	return nil
}

// move moves what is at name to be the image. done is false if that is not possible,
// as between file systems: then a copy is the image, or there is none of a folder, and
// the caller removes what is there.
func (b *backup) move(d tree.Folder, name string, info Info) (done bool, err error) {
	err = b.withFreeName(func() error { return d.Rename(name, b.folder, b.name(), false) })
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, fs.ErrNotExist):
		return true, err
	case info.IsDir():
		return false, nil
	}
	return false, b.copy(d, name)
}
