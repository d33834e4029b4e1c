package history

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"textskill/skill/internal/workspace/tree"
)

// Discard removes a file, or a folder with everything in it, even from read-only folders.
func Discard(d tree.Folder, name string) {
	if removeAll(d, name) != nil {
		makeWritable(d, name)
		removeAll(d, name)
	}
}

// RemoveTree removes the folder name from d with everything in it. It renames the folder first, so
// that no reader sees a part of it. If something cannot be removed, the folder gets its name back.
func RemoveTree(d tree.Folder, name string) error {
	if err := d.Rename(name, d, TempName, false); err != nil {
		return err
	}
	err := removeAll(d, TempName)
	if err != nil {
		d.Rename(TempName, d, name, false)
	}
	return err
}

// removeAll removes name from d with everything below it. It does not follow links.
func removeAll(d tree.Folder, name string) error {
	err := d.Remove(name, false)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	sub, serr := d.OpenFolder(name)
	if serr != nil {
		return err
	}
	entries, err := sub.Entries()
	for _, e := range entries {
		if err = removeAll(sub, e.Name); err != nil {
			break
		}
	}
	sub.Close()
	if err != nil {
		return err
	}
	return d.Remove(name, true)
}

// isPartOf reports whether a folder is what a removal left of it: its copy holds all of it too, and no file
// has changed since began, when the removal was planned; 0 means any time.
func isPartOf(d tree.Folder, name string, in tree.Folder, copied string, began int64) bool {
	left, err := d.OpenFolder(name)
	if err != nil {
		return false
	}
	defer left.Close()
	all, err := in.OpenFolder(copied)
	if err != nil {
		return false
	}
	defer all.Close()
	entries, err := left.Entries()
	for _, e := range entries {
		is, ierr := left.Lstat(e.Name)
		was, werr := all.Lstat(e.Name)
		if ierr != nil || werr != nil || kindOf(is.Mode) != kindOf(was.Mode) {
			return false
		}
		switch kindOf(is.Mode) {
		case Dir:
			if !isPartOf(left, e.Name, all, e.Name, began) {
				return false
			}
		case File: // a file system may round the time of the copy
			if is.Size != was.Size || is.ModTime.Sub(was.ModTime).Abs() > 2*time.Second ||
				began != 0 && is.Changed.UnixNano() > began {
				return false
			}
		}
	}
	return err == nil
}

// makeWritable gives the owner write access to the folder name and the folders below it.
func makeWritable(d tree.Folder, name string) {
	sub, err := d.OpenFolder(name)
	if err != nil {
		return
	}
	defer sub.Close()
	sub.Chmod(".", 0o700)
	entries, _ := sub.Entries()
	for _, e := range entries {
		if e.Type == fs.ModeDir {
			makeWritable(sub, e.Name)
		}
	}
}

// copyTree copies a folder with everything in it: names, contents, metadata and times. With missing it
// copies only names that do not exist at the destination.
func copyTree(from tree.Folder, name string, to tree.Folder, newName string, missing bool) error {
	info, err := from.Lstat(name)
	if err != nil {
		return err
	}
	err = to.Mkdir(newName, 0o700)
	if err != nil && !(missing && errors.Is(err, fs.ErrExist)) {
		return err
	}
	made := err == nil
	src, err := from.OpenFolder(name)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := to.OpenFolder(newName)
	if err != nil {
		return err
	}
	defer dst.Close()
	entries, err := src.Entries()
	if err != nil {
		return err
	}
	for _, e := range entries {
		if _, err := dst.Lstat(e.Name); err == nil && e.Type != fs.ModeDir {
			continue
		}
		if err := copyIn(src, e, dst, missing); err != nil {
			return err
		}
	}
	if !made {
		return nil
	}
	if f, err := to.OpenFile(newName, os.O_RDONLY, 0); err == nil {
		tree.CopyMetadata(f, from, name, info)
		f.Close()
	}
	err = to.Chmod(newName, info.Mode)
	dst.Chtimes(".", info)
	return err
}

// copyIn copies the entry e of a folder.
func copyIn(src tree.Folder, e tree.Entry, dst tree.Folder, missing bool) error {
	switch e.Type {
	case fs.ModeDir:
		return copyTree(src, e.Name, dst, e.Name, missing)
	case fs.ModeSymlink:
		target, err := src.Readlink(e.Name)
		if err != nil {
			return err
		}
		return dst.Symlink(target, e.Name)
	}
	return copyFile(src, e.Name, dst, e.Name)
}

// copyFile copies a file, with its metadata and times.
func copyFile(from tree.Folder, name string, to tree.Folder, newName string) error {
	if err := from.CopyFile(name, to, newName, true); err != nil {
		return err
	}
	info, err := from.Lstat(name)
	if err != nil {
		return err
	}
	if f, err := to.OpenFile(newName, os.O_RDONLY, 0); err == nil {
		tree.CopyMetadata(f, from, name, info)
		f.Close()
	}
	return to.Chtimes(newName, info)
}
