package workspace

import (
	"os"

	"textskill/skill/internal/history"
	"textskill/skill/internal/workspace/tree"
)

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

// copyMetadata gives a copy the owner, permissions and attributes of the original. With flush it then
// flushes the copy.
func (w *Workspace) copyMetadata(d tree.Folder, name string, to tree.Folder, newName string,
	flush bool) error {
	info, err := d.Lstat(name)
	if err != nil {
		return err
	}
	f, err := to.OpenFile(newName, os.O_RDONLY, 0)
	if err != nil {
		return nil // the mode forbids even the owner to read the copy
	}
	defer f.Close()
	tree.CopyMetadata(f, d, name, info)
	if !flush {
		return nil
	}
	return w.flush(f)
}

// flushNames makes the op of a change durable, and then the names in d.
func (w *Workspace) flushNames(k *history.Keeper, d tree.Folder) error {
	if k != nil {
		if err := k.FlushOp(); err != nil {
			return err
		}
	}
	if w.opts.NoSync {
		return nil
	}
	return history.SyncFolder(d)
}

// copyInto copies a file or a symbolic link to the temporary name, and renames it to newName.
func (w *Workspace) copyInto(d tree.Folder, name string, to tree.Folder, newName string, replace bool) error {
	err := w.copyWithMetadata(d, name, to, tempName)
	if err == nil {
		err = to.Rename(tempName, to, newName, replace)
	}
	if err != nil {
		history.Discard(to, tempName)
	}
	return err
}
