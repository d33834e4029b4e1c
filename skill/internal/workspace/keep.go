package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"textskill/skill/internal/state"
	"textskill/skill/internal/workspace/tree"
)

// A keeper puts what one step of a change takes away into the image of the step.
type keeper struct {
	*state.Change
	w    *Workspace
	h    *history
	step int
}

func (k *keeper) image() string { return k.Steps[k.step].Image }

// errChanged means that something else has changed a file since it was read.
var errChanged = errors.New("something else changed it at the same time")

// exchange installs a new file under name; the old file, which info describes, becomes the
// image, in the same step. done is false if that is not possible here: then the image is
// a link to the old file, or a copy, and the caller replaces the file.
func (k *keeper) exchange(n *newFile, name string, old Info) (done bool, err error) {
	if n.named {
		return false, k.save(n.dir, name)
	}
	err = k.Change.Exchange(k.step, n.file, n.dir, name)
	switch {
	case err == nil:
		return true, k.checkExchange(n, name, old)
	case errors.Is(err, errors.ErrUnsupported): // the new file is the image now
		if err := k.Images().Rename(k.image(), n.dir, tempName, false); err != nil {
			return true, err
		}
		n.named = true
	case !errors.Is(err, syscall.EXDEV):
		return true, err
	}
	return false, k.save(n.dir, name)
}

// checkExchange takes an exchange back if what became the image is not the file that
// was there.
func (k *keeper) checkExchange(n *newFile, name string, old Info) error {
	info, err := k.Images().Lstat(k.image())
	if err == nil && untouched(info, old) {
		return nil
	}
	fresh, err := tree.StatRegular(n.file)
	if err != nil {
		return err
	}
	if err := takeBack(k.Images(), k.image(), n.dir, name, fresh); err != nil {
		return err
	}
	if info.IsDir() {
		return syscall.EISDIR
	}
	return errChanged
}

// takeBack exchanges the image with the new file at name again, and removes the new file,
// fresh. If another program has replaced or changed that meanwhile, its file is put back in
// turn, and the image stays: it is the only name of what that program did not see.
func takeBack(images tree.Folder, image string, dir tree.Folder, name string, fresh Info) error {
	for there := fresh; ; {
		back, err := images.Lstat(image)
		if err != nil {
			return err
		}
		if err := images.Exchange(image, dir, name); err != nil {
			return err
		}
		out, err := images.Lstat(image)
		if err != nil {
			return err
		}
		switch {
		case untouched(out, fresh):
			discard(images, image)
			return nil
		case untouched(out, there):
			return nil
		}
		there = back
	}
}

func untouched(now, before Info) bool {
	return now.ID == before.ID && now.Size == before.Size && now.ModTime.Equal(before.ModTime)
}

// save makes an image of the file at name, which is about to be replaced: another link
// to it, or a copy. A folder that can be replaced is empty, and needs no image.
func (k *keeper) save(d tree.Folder, name string) error {
	info, err := d.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir() {
		return nil
	}
	if err != nil {
		return err
	}
	if d.Link(name, k.Images(), k.image()) == nil {
		return nil
	}
	return k.copy(d, name)
}

// copy makes a copy of the file at name the image, and makes it durable with the record
// before the file is changed.
func (k *keeper) copy(d tree.Folder, name string) error {
	discard(k.Images(), k.image()) // of an undo that was interrupted
	if err := k.w.copyWithMetadata(d, name, k.Images(), k.image()); err != nil {
		return err
	}
	return k.Flush()
}

// copyWithMetadata copies a file or a symbolic link to a new name.
func (w *Workspace) copyWithMetadata(d tree.Folder, name string, to tree.Folder, newName string) error {
	target, err := d.Readlink(name)
	if err == nil {
		return to.Symlink(target, newName)
	}
	if err := d.CopyFile(name, to, newName, true); err != nil {
		return err
	}
	return w.copyMetadata(d, name, to, newName, true)
}

// copyMetadata gives a copy the owner, permissions and attributes of the file that it is of,
// and flushes it if flush is set.
func (w *Workspace) copyMetadata(d tree.Folder, name string, to tree.Folder, newName string, flush bool) error {
	info, err := d.Lstat(name)
	if err != nil {
		return err
	}
	f, err := to.OpenFile(newName, os.O_RDONLY, 0)
	if err != nil {
		return nil // its mode keeps even its owner from reading it, and so from copying more
	}
	defer f.Close()
	tree.CopyMetadata(f, d, name, info)
	if !flush {
		return nil
	}
	return w.flush(f)
}

// flushNames makes the record of a change durable, and then the names in a folder.
func (w *Workspace) flushNames(k *keeper, d tree.Folder) error {
	switch {
	case k != nil:
		return k.Flush(d)
	case w.opts.NoSync:
		return nil
	}
	return state.SyncFolder(d)
}

// copyInto copies a file or a symbolic link under the temporary name, and gives it newName.
func (w *Workspace) copyInto(d tree.Folder, name string, to tree.Folder, newName string, replace bool) error {
	err := w.copyWithMetadata(d, name, to, tempName)
	if err == nil {
		err = to.Rename(tempName, to, newName, replace)
	}
	if err != nil {
		discard(to, tempName)
	}
	return err
}

// take moves what is at p, in d, to be the image. Where it cannot be moved, it is copied
// and then removed.
func (k *keeper) take(ctx context.Context, p location, d tree.Folder, info Info) error {
	err := d.Rename(p.base(), k.Images(), k.image(), false)
	if !errors.Is(err, syscall.EXDEV) {
		return err
	}
	if !info.IsDir() {
		if err := k.copy(d, p.base()); err != nil {
			return err
		}
		if err = removeSource(d, p.base(), info); err != nil {
			discard(k.Images(), k.image())
		}
		return err
	}
	_, size, err := treeSum(d, p.base())
	if err != nil {
		return err
	}
	if note := state.CopyNote(size); note != "" {
		return fmt.Errorf("%s cannot be moved to the history, and %s; --no-journal removes it for good", p.path(), note)
	}
	images, err := k.h.openImages(k.ID)
	if err != nil {
		return err
	}
	defer images.close()
	if err := k.w.copyTree(ctx, p, images.top, images.at(k.image()), CopyOptions{Times: true, moving: true, temp: k.image() + "~"}, atOnce); err != nil {
		return err
	}
	if err = k.Flush(); err == nil {
		err = removeSource(d, p.base(), info)
	}
	if err != nil {
		err = k.w.takeBack(ctx, err, p, d, images.at(k.image()), images.top)
	}
	return err
}

func atOnce(appear func() error) error { return appear() }

// openImages opens the images of the segment of the store that has the record.
func (h *history) openImages(id int64) (*storeFolder, error) {
	s, err := h.open()
	if err != nil {
		return nil, err
	}
	return openStoreFolder(s.OpenImages(id))
}
