package workspace

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"textskill/skill/internal/workspace/tree"
)

// backup is where one change puts what it takes away.
type backup struct {
	folder tree.Folder
	steps  []pathChange
}

func (k *backup) name() string { return k.steps[0].Image }

// discard removes the image of a change that was not made.
func (k *backup) discard() { discard(k.folder, k.name()) }

// withFreeName makes the name of the image free, which one of a lost journal may bear.
func (k *backup) withFreeName(put func() error) error {
	err := put()
	if errors.Is(err, fs.ErrExist) {
		k.discard()
		err = put()
	}
	return err
}

// exchange puts a new file in the place of the one called name, which becomes the
// image. done is false where the caller has to do it, with an image that is made.
func (k *backup) exchange(n *newFile, name string) (done bool, err error) {
	err = errors.ErrUnsupported
	if !n.named {
		err = k.withFreeName(func() error { return k.folder.LinkUnnamed(n.file, k.name()) })
	}
	if err != nil {
		return false, k.save(n.dir, name)
	}
	if err = k.folder.Exchange(k.name(), n.dir, name); err != nil {
		if err := k.folder.Rename(k.name(), n.dir, tempName, false); err != nil {
			return true, err
		}
		n.named = true // a file that has lost its only name gets no other
		return false, k.save(n.dir, name)
	}
	if info, err := k.folder.Lstat(k.name()); err == nil && info.IsDir() { // it came there just now
		if err := k.folder.Exchange(k.name(), n.dir, name); err != nil {
			return true, err
		}
		k.discard()
		return true, syscall.EISDIR
	}
	return true, nil
}

// save makes an image of what is at name and is about to be replaced: the file itself
// under another name, or a copy. An empty folder is made anew.
func (k *backup) save(d tree.Folder, name string) error {
	info, err := d.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir() {
		return nil
	}
	if err != nil {
		return err
	}
	if k.withFreeName(func() error { return d.Link(name, k.folder, k.name()) }) == nil {
		return nil
	}
	return k.copy(d, name)
}

// copy makes an image that is a copy.
func (k *backup) copy(d tree.Folder, name string) error {
	return k.withFreeName(func() error { return copyWithMetadata(d, name, k.folder, k.name()) })
}

// copyWithMetadata copies a file or a link to a new name.
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
	if f, err := to.OpenFile(newName, os.O_RDONLY, 0); err == nil { // else its owner may not read it, and so not keep more of it
		defer f.Close()
		tree.CopyMetadata(f, d, name, info)
	}
	return nil
}

// move makes what is at name the image. done is false where it is still there, and
// a copy of it is the image.
func (k *backup) move(d tree.Folder, name string, info Info) (done bool, err error) {
	err = k.withFreeName(func() error { return d.Rename(name, k.folder, k.name(), false) })
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, fs.ErrNotExist):
		return true, err
	case info.IsDir():
		return false, nil
	}
	return false, k.copy(d, name)
}
