package trial

import (
	"cmp"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"syscall"

	"textskill/skill/internal/merge"
)

// Check merges the texts that others changed, too. It returns a *ConflictError if others changed what the trial
// changes, and that cannot be merged. With force, the trial wins each conflict.
func (t *Trial) Check(folder string, force bool) error {
	now, err := t.changes(folder)
	if err != nil {
		return err
	}
	byPath := map[string]State{}
	for _, c := range now {
		byPath[c.Path] = c.Before
	}
	t.merged = map[string][]byte{}
	conflict := &ConflictError{ID: t.ID}
	for _, c := range t.Changes {
		is, seen := byPath[c.Path]
		if !seen { // it is as the trial leaves it
			is, _, _ = stateOf(filepath.Join(folder, c.Path))
		}
		// of a folder, the entries that the trial does not change may change
		asBefore := is.Exists == c.Before.Exists && is.Mode == c.Before.Mode &&
			(is.Mode.IsDir() && is.Inode == c.Before.Inode || is == c.Before && t.isOld(is))
		if !asBefore && !t.merge(folder, c, is, force) {
			conflict.Paths = append(conflict.Paths, c.Path)
		}
		delete(byPath, c.Path)
	}
	for path := range byPath { // in a folder that the trial removed
		conflict.Paths = append(conflict.Paths, path)
	}
	if len(conflict.Paths) > 0 && !force {
		slices.Sort(conflict.Paths)
		return conflict
	}
	return nil
}

// merge merges a text that the trial and others changed. It reports whether it could.
func (t *Trial) merge(folder string, c Change, is State, force bool) bool {
	if !is.Mode.IsRegular() || !c.After.Mode.IsRegular() || is.Mode != c.Before.Mode && is.Mode != c.After.Mode {
		return false
	}
	base, err := os.ReadFile(t.before(c))
	ours, oerr := os.ReadFile(filepath.Join(folder, c.Path))
	theirs, terr := os.ReadFile(filepath.Join(t.upper(), c.Path))
	if !c.Before.Exists || cmp.Or(err, oerr, terr) != nil {
		return false
	}
	text, conflicts, err := merge.Theirs(base, ours, theirs)
	if err != nil || len(conflicts) > 0 && !force {
		return false
	}
	t.merged[c.Path] = text
	return true
}

// Make makes the changes of a trial in a folder. It removes first what is removed, the innermost first.
func (t *Trial) Make(folder string) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	defer t.unlockAbove(root)()
	for _, c := range slices.Backward(t.Changes) {
		if c.Before.Exists && (!c.After.Exists || c.Before.Mode.Type() != c.After.Mode.Type()) {
			if err := root.Remove(c.Path); err != nil {
				return err
			}
		}
	}
	for _, c := range t.Changes {
		if c.After.Exists {
			if err := t.makeOne(root, folder, c); err != nil {
				return err
			}
		}
	}
	for _, c := range slices.Backward(t.Changes) {
		if c.After.Exists && c.After.Mode.IsDir() {
			if err := root.Chmod(c.Path, c.After.Mode); err != nil {
				return err
			}
		}
	}
	return nil
}

// unlockAbove gives this user all rights to the folders that hold changed paths, until lock is called.
func (t *Trial) unlockAbove(root *os.Root) (lock func()) {
	final, was := map[string]bool{}, map[string]fs.FileMode{}
	for _, c := range t.Changes {
		final[c.Path] = true
	}
	for _, c := range t.Changes {
		for i, r := range c.Path {
			if r != '/' || os.Geteuid() == 0 {
				continue
			}
			info, err := root.Lstat(c.Path[:i])
			if err != nil || !info.IsDir() || info.Mode()&0o700 == 0o700 {
				continue
			}
			if root.Chmod(c.Path[:i], info.Mode()|0o700) == nil && !final[c.Path[:i]] {
				was[c.Path[:i]] = info.Mode()
			}
		}
	}
	return func() {
		paths := slices.Sorted(maps.Keys(was))
		for _, path := range slices.Backward(paths) {
			root.Chmod(path, was[path]) // it may be gone
		}
	}
}

// makeOne makes what a path has after the trial.
func (t *Trial) makeOne(root *os.Root, folder string, c Change) error {
	upper := filepath.Join(t.upper(), c.Path)
	_, uid, gid := stateOf(upper)
	owned := func(err error) error {
		if err == nil && os.Geteuid() == 0 {
			err = root.Lchown(c.Path, uid, gid)
		}
		return err
	}
	switch {
	case c.After.Mode.IsDir():
		err := root.Mkdir(c.Path, 0o700)
		if errors.Is(err, fs.ErrExist) && c.Before.Mode.IsDir() {
			err = nil
		}
		return owned(err)
	case c.After.Mode&fs.ModeSymlink != 0:
		to, err := os.Readlink(upper)
		if err != nil {
			return err
		}
		root.Remove(c.Path)
		return owned(root.Symlink(to, c.Path))
	case c.After.Mode&fs.ModeNamedPipe != 0:
		root.Remove(c.Path)
		return owned(syscall.Mkfifo(filepath.Join(folder, c.Path), uint32(c.After.Mode.Perm())))
	case !c.After.Mode.IsRegular():
		return nil // a socket, which nobody serves any more
	}
	name := path.Join(path.Dir(c.Path), ".skill-keep-"+rand.Text())
	err := t.copyFile(root, c.Path, name)
	if err == nil && os.Geteuid() == 0 {
		err = root.Lchown(name, uid, gid)
	}
	if err == nil {
		err = root.Chmod(name, c.After.Mode)
	}
	if info, serr := os.Stat(upper); err == nil && serr == nil && t.merged[c.Path] == nil {
		err = root.Chtimes(name, info.ModTime(), info.ModTime())
	}
	if err == nil {
		err = root.Rename(name, c.Path)
	}
	if err != nil {
		root.Remove(name)
	}
	return err
}

// copyFile makes a new file with what a changed path holds after the trial.
func (t *Trial) copyFile(root *os.Root, changed, to string) error {
	r, err := os.Open(filepath.Join(t.upper(), changed))
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := root.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if text := t.merged[changed]; text != nil {
		_, err = w.Write(text)
	} else {
		_, err = io.Copy(w, r)
	}
	return errors.Join(err, w.Close())
}
