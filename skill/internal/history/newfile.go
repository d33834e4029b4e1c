package history

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"textskill/skill/internal/workspace/tree"
)

// TempName is the temporary name of a new file before it replaces an old one. If a killed process
// left such a file, the next change of the folder removes it.
const TempName = ".skill.tmp"

// A NewFile is a file that is written before it gets its name. Tools and undos put each content into the
// workspace by [NewFile.Put], but for appends.
type NewFile struct {
	*os.File
	Dir     tree.Folder  // the folder of the name
	InPlace bool         // Put writes the content into the old file, which keeps its other names or its owner
	Alone   func() error // called before a step that does not look at what it replaces; may be nil

	named bool // the file has the temporary name
}

// Create creates a file in d. It has no name if the system can do that, so that a killed process leaves nothing
// behind. With private, nobody may open a file with the temporary name until its mode is set.
func Create(d tree.Folder, private bool) (*NewFile, error) {
	if f, err := d.CreateUnnamed(0o666); err == nil { // no other process can open it
		return &NewFile{File: f, Dir: d}, nil
	}
	perm := fs.FileMode(0o666)
	if private {
		perm = 0
	}
	f, err := d.OpenFile(TempName, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return nil, err
	}
	return &NewFile{File: f, Dir: d, named: true}, nil
}

// Named reports whether the file has the temporary name.
func (n *NewFile) Named() bool { return n.named }

// Close closes the file, and removes it unless it was put.
func (n *NewFile) Close() error {
	if n.named {
		n.Dir.Remove(TempName, false)
	}
	return n.File.Close()
}

// Put gives the file its name. old describes the file that it replaces; nil means that nothing is there. The old
// file goes to k, or is removed if k is nil. The error is [ErrChanged] if another file is there.
func (n *NewFile) Put(name string, old *tree.Info, k *Keeper, noSync bool) error {
	switch {
	case old == nil && n.named:
		return n.rename(name, false)
	case old == nil:
		return n.Dir.LinkUnnamed(n.File, name)
	case n.InPlace:
		return n.overwrite(name, *old, k, noSync)
	case k != nil && n.named:
		if err := k.Save(n.Dir, name); err != nil {
			return err
		}
	case k != nil:
		if done, err := k.Exchange(n.File, n.Dir, name, *old); done || err != nil {
			return err
		}
	}
	if !n.named {
		if err := n.Dir.LinkUnnamed(n.File, TempName); err != nil {
			return err
		}
		n.named = true
	}
	k.crash("named")
	return n.exchange(name, *old, k)
}

// exchange swaps the file, which has the temporary name, with the file called name, and removes that. After a
// rename over a file, ext4 writes the new file to disk at once; after an exchange it does not. Replacing a file
// of 64 KiB then takes 45 µs instead of 200.
func (n *NewFile) exchange(name string, old tree.Info, k *Keeper) error {
	fresh, err := n.Dir.Lstat(TempName)
	if err != nil {
		return err
	}
	err = n.Dir.Exchange(TempName, n.Dir, name)
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrNotExist) {
		if err := n.isAlone(name, old); err != nil {
			return err
		}
		return n.rename(name, true)
	}
	if err != nil {
		return err
	}
	n.named = false // the old file has the temporary name, and Close must not remove it
	k.crash("exchanged")
	is, err := n.Dir.Lstat(TempName)
	if err == nil && (!Untouched(is, old) || k != nil && k.isOpen(n.Dir, TempName)) {
		return takeBack(n.Dir, name, fresh.ID)
	}
	if err = n.Dir.Remove(TempName, false); err != nil {
		n.named = n.Dir.Exchange(TempName, n.Dir, name) == nil // else the next change removes the old file
	}
	return err
}

// takeBack reverses an exchange of TempName in dir, and removes the new file. The error is [ErrChanged].
func takeBack(dir tree.Folder, base string, fresh tree.FileID) error {
	err := dir.Exchange(TempName, dir, base)
	if now, serr := dir.Lstat(TempName); err == nil && serr == nil && now.ID != fresh { // saved again
		err = dir.Exchange(TempName, dir, base)
	}
	if err == nil {
		err = dir.Remove(TempName, false)
	}
	if err != nil {
		return err
	}
	return ErrChanged
}

func (n *NewFile) rename(name string, replace bool) error {
	err := n.Dir.Rename(TempName, n.Dir, name, replace)
	n.named = n.named && err != nil
	return err
}

// isAlone fails if the file at name is not old any more, or if another workspace may be changing it.
func (n *NewFile) isAlone(name string, old tree.Info) error {
	if n.Alone != nil {
		if err := n.Alone(); err != nil {
			return err
		}
	}
	if now, err := n.Dir.Lstat(name); err == nil && !Untouched(now, old) {
		return ErrChanged
	}
	return nil
}

// overwrite replaces the content of the file at name, after k has copied it. If the system can, it reserves the
// space first, so that a full disk changes nothing.
func (n *NewFile) overwrite(name string, old tree.Info, k *Keeper, noSync bool) error {
	err := n.isAlone(name, old)
	if err == nil && k != nil {
		err = k.Copy(n.Dir, name)
	}
	if err != nil {
		return err
	}
	k.crash("in place")
	k.Tears()
	dst, now, err := tree.RegularFile(n.Dir.OpenFile(name, os.O_WRONLY, 0))
	if err != nil {
		return err
	}
	defer dst.Close()
	size, err := n.Seek(0, io.SeekEnd)
	if err != nil {
		return tree.Cause(err)
	}
	if err := tree.Reserve(dst, size); err != nil {
		dst.Truncate(now.Size)
		n.Dir.Chtimes(name, now)
		return err
	}
	if _, err := n.Seek(0, io.SeekStart); err != nil {
		return tree.Cause(err)
	}
	if _, err := io.Copy(dst, n.File); err != nil {
		return tree.Cause(err)
	}
	if err := dst.Truncate(size); err != nil {
		return tree.Cause(err)
	}
	if noSync {
		return nil
	}
	return tree.Cause(tree.Datasync(dst))
}

// crash is [Tx.crash]; without a Keeper it does nothing.
func (k *Keeper) crash(step string) {
	if k != nil {
		k.t.crash(step)
	}
}

// Tears says that a write in place begins. From now on, to roll it back restores the whole content. Without a
// Keeper it does nothing.
func (k *Keeper) Tears() {
	if k != nil {
		k.delta().Torn = true
	}
}
