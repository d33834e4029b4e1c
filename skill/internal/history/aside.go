package history

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"time"

	"textskill/skill/internal/workspace/tree"
)

// Somebody may save a file between the last look at it and the step that removes or replaces it. So a step first moves
// the file or folder at the path aside, where nobody can save it, and looks again: rule 23 of the package. If it is not
// the planned one, it goes back. A kill in between leaves it aside, and the next holder of the lock puts it back.

// aside returns the name under which the blobs hold what a step took, until it is looked at.
func (k *Keeper) aside() string {
	return cmp.Or(k.needs(), fmt.Sprintf("%d.%d", k.op.ID, k.Delta)) + freshBlob
}

// setAside moves what is at name in d to the blobs, or removes it if its content is kept already. The error is
// [ErrChanged] if it is not e: then it is back.
func (k *Keeper) setAside(e Entry, d tree.Folder, name string) (err error) {
	b, out := k.t.blobs, k.aside()
	if e.Kind == Dir {
		err = moveFolder(d, name, b.Folder, out)
	} else {
		err = d.Rename(name, b.Folder, out, true)
	}
	if err != nil {
		return err
	}
	k.t.crash("aside")
	switch {
	case !k.isPlanned(e, b.Folder, out):
		return k.putBack(b.Folder, out, d, name)
	case e.Kind == Link, k.needs() == "":
		return b.Remove(out, false)
	}
	return b.Rename(out, b.Folder, k.needs(), true)
}

// isPlanned reports whether what was set aside is e, the state that the step found at the path.
func (k *Keeper) isPlanned(e Entry, in tree.Folder, name string) bool {
	info, err := in.Lstat(name)
	switch {
	case err != nil || e.Kind != Link && e.Ino == 0 && e.Kind != Dir:
		return true
	case kindOf(info.Mode) != e.Kind:
		return false
	case e.Kind == File:
		return e.describes(info) && !k.isOpen(in, name)
	case e.Kind == Link:
		target, err := in.Readlink(name)
		return err != nil || target == string(e.Target)
	case e.Kind == Dir:
		return k.addedIn(in, name, k.delta().Path) == ""
	}
	return info.ID.Ino == e.Ino
}

// isOpen reports whether a program has opened a file for writing since the undo was planned.
func (k *Keeper) isOpen(in tree.Folder, name string) bool {
	if !k.t.asks {
		return false
	}
	yes, err := tree.HasWriter(in, name, patience)
	return err == nil && yes
}

// addedIn returns a path in a folder that somebody added or changed since the undo was planned, "" without one.
func (k *Keeper) addedIn(in tree.Folder, name string, at Name) (found Name) {
	if k.op.Undoes == 0 || k.op.Began == 0 {
		return ""
	}
	d, err := in.OpenFolder(name)
	if err != nil {
		return ""
	}
	defer d.Close()
	entries, _ := d.Entries()
	for _, e := range entries {
		info, err := d.Lstat(e.Name)
		if err != nil || e.Name == TempName {
			continue
		}
		below := Name(path.Join(string(at), e.Name))
		if info.Changed.UnixNano() > k.op.Began && !(info.IsDir() && k.op.changesIn(below)) {
			return below
		}
		if info.IsDir() {
			if found := k.addedIn(d, e.Name, below); found != "" {
				return found
			}
		}
	}
	return ""
}

// changesIn reports whether an undo itself changes the entries of a folder.
func (op *Op) changesIn(folder Name) bool {
	for _, d := range op.Deltas {
		if Name(path.Dir(string(d.Path))) == folder || d.From != "" && Name(path.Dir(string(d.From))) == folder {
			return true
		}
	}
	for _, o := range op.Opened {
		if o.Path == folder {
			return true
		}
	}
	return false
}

// waitTick waits until the file system stamps files with a later time than began.
func (s *Store) waitTick(began int64) {
	for deadline := time.Now().Add(timeGrain); began != 0 && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if now, ok := s.stampOfNow(); !ok || now > began {
			return
		}
	}
}

// putBack gives what was set aside its path again. The error is [ErrChanged], or names where it is if somebody has
// saved the path again.
func (k *Keeper) putBack(in tree.Folder, out string, d tree.Folder, name string) error {
	err := moveFolder(in, out, d, name)
	switch {
	case err == nil:
		return ErrChanged
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("it was saved twice while the undo ran: the newer one stays, and the older one is in %s",
			k.keepSaved(in, out, d))
	}
	return err
}

// keepSaved gives what somebody saved a name of its own, and returns where it is.
func (k *Keeper) keepSaved(in tree.Folder, out string, d tree.Folder) string {
	saved := fmt.Sprintf("%d.%d.saved", k.op.ID, k.Delta)
	if err := moveFolder(in, out, k.t.blobs.Folder, saved); err == nil {
		return k.t.blobPath(saved)
	}
	saved = ".skill-" + saved // on another file system
	in.Rename(out, d, saved, false)
	return path.Join(path.Dir(k.t.PathOf(k.delta().Path)), saved)
}

// removeHere removes what is at name in d, where it cannot be moved to the blobs. The error is [ErrChanged] if it is not
// e: then it is back.
func (k *Keeper) removeHere(e Entry, d tree.Folder, name string) error {
	if err := d.Rename(name, d, TempName, false); err != nil {
		return err
	}
	k.t.crash("aside")
	if !k.isPlanned(e, d, TempName) {
		return k.putBack(d, TempName, d, name)
	}
	err := removeAll(d, TempName)
	if err != nil {
		d.Rename(TempName, d, name, false)
	}
	return err
}

// recoverAside completes or takes back what a killed process had set aside.
func (t *Tx) recoverAside(op *Op) {
	var lost []Left
	last := map[string]int{} // by folder: the last step that was made; a file with the temporary name is of that step
	for _, i := range order(op.Deltas) {
		d := op.Deltas[i]
		if now, err := t.at(d.Path, d.Before, d.After); err == nil && d.isThere(now, d.After) {
			last[path.Dir(string(d.Path))] = i
		}
	}
	for i, d := range op.Deltas {
		dir, base, err := t.parent(d.Path)
		if err != nil || d.Added {
			continue
		}
		k := t.Keeper(op, i)
		at := k.recoverAside(t.blobs.Folder, k.aside(), dir, base)
		if n, ok := last[path.Dir(string(d.Path))]; at == "" && ok && n == i {
			at = k.recoverAside(dir, TempName, dir, base)
		}
		if at != "" {
			lost = append(lost, Left{Path: d.Path,
				Why: "it was saved while an undo ran that was killed: that version is in " + at})
		}
		dir.Close()
	}
	if len(lost) > 0 {
		t.addMade(&Op{Kind: KindRun, Command: "undo", Quiet: true, Left: lost})
	}
}

// recoverAside is [Tx.recoverAside] for one path and one place. It returns where the file is that cannot be put back, ""
// without one.
func (k *Keeper) recoverAside(in tree.Folder, name string, dir tree.Folder, base string) string {
	d, b := *k.delta(), k.t.blobs
	info, err := in.Lstat(name)
	if err != nil {
		return ""
	}
	is, err := At(in, name, d.Before, d.After)
	now, nerr := k.t.at(d.Path, d.Before, d.After)
	switch {
	case err != nil || nerr != nil, is.Kind == Dir && now.Same(d.Before):
		return ""
	case is.Kind == d.Before.Kind && is.Same(d.Before) && (is.Kind != Dir || k.addedIn(in, name, d.Path) == ""):
		if in == b.Folder && k.needs() != "" {
			b.Rename(name, in, k.needs(), true)
		}
		return ""
	case info.Mode.IsRegular() && info.Mode.Perm() == 0, is.Kind == d.After.Kind && is.Same(d.After):
		return "" // a draft
	case in != b.Folder && is.Kind == Dir && k.needs() != "" && isPartOf(in, name, b.Folder, k.needs(), k.op.Began):
		return "" // the blobs hold all of it, and its removal had begun
	case now.Same(d.Before), in != b.Folder && k.isOfOther(is):
		return ""
	case now.Kind == absent && d.After.Kind == absent:
		moveFolder(in, name, dir, base)
		return ""
	case now.Kind == File && d.isThere(now, d.After):
		if in.Exchange(name, dir, base) == nil {
			in.Remove(name, false)
		}
		return ""
	}
	return k.keepSaved(in, name, dir)
}

// isOfOther reports whether a file with the temporary name is of another delta in the folder.
func (k *Keeper) isOfOther(is Entry) bool {
	at := k.delta().Path
	return slices.ContainsFunc(k.op.Deltas, func(d Delta) bool {
		return d.Path != at && path.Dir(string(d.Path)) == path.Dir(string(at)) && (is.Same(d.Before) || is.Same(d.After))
	})
}
