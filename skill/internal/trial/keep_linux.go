package trial

import (
	"cmp"
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
// changes, and that cannot be merged. With force, the trial wins each conflict. Until Release or Drop, no other
// process keeps or drops the trial.
func (t *Trial) Check(folder string, force bool) error {
	if err := t.hold(); err != nil {
		return err
	}
	t.clear()
	now, err := t.changes(folder)
	if err != nil {
		return err
	}
	byPath := map[string]Change{}
	t.made, t.merged = map[string]bool{}, map[string][]byte{}
	for _, names := range t.links {
		for _, name := range names {
			t.made[name] = true
		}
	}
	for _, c := range now {
		byPath[c.Path] = c
		delete(t.made, c.Path)
	}
	conflict := &ConflictError{ID: t.ID, Link: t.linkAbove(folder)}
	if conflict.Link != "" {
		return conflict
	}
	for _, c := range t.Changes {
		change, seen := byPath[c.Path]
		is := change.Before
		if !seen { // it is as the trial leaves it
			t.made[c.Path] = true
			is, _, _ = stateOf(filepath.Join(folder, c.Path))
		}
		// of a folder, the entries that the trial does not change may change
		asBefore := is.Exists == c.Before.Exists && is.Mode == c.Before.Mode &&
			(is.Mode.IsDir() && is.Inode == c.Before.Inode || is == c.Before && t.isOld(is))
		if !asBefore && !t.isBegun(c, is) && !t.merge(folder, c, is, force) {
			conflict.Paths = append(conflict.Paths, c.Path)
		}
		delete(byPath, c.Path)
	}
	for name, c := range byPath {
		if !c.After.Exists { // in a folder that the trial removed; else the trial only opened it
			conflict.Paths = append(conflict.Paths, name)
		}
	}
	if len(conflict.Paths) > 0 && !force {
		slices.Sort(conflict.Paths)
		return conflict
	}
	return nil
}

// isBegun reports whether a path is as a killed keep may have left it: as after the trial, or on the way there.
func (t *Trial) isBegun(c Change, is State) bool {
	replaced := c.After.Exists && c.Before.Mode.Type() != c.After.Mode.Type()
	unread := is.Mode&0o400 == 0 && is.Mode == c.After.Mode && is.Size == c.After.Size // so nobody could compare it
	return t.Begun != "" && (t.made[c.Path] || !is.Exists && replaced || is.Mode.IsDir() && c.After.Mode.IsDir() || unread)
}

// merge merges a text that the trial and others changed. It reports whether it could.
func (t *Trial) merge(folder string, c Change, is State, force bool) bool {
	if !is.Mode.IsRegular() || !c.After.Mode.IsRegular() || is.Mode != c.Before.Mode && is.Mode != c.After.Mode {
		return false
	}
	base, err := os.ReadFile(t.before(c))
	ours, oerr := readIn(folder, c.Path)
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

// linkAbove returns a link that stands in place of a folder in which the trial changes something, "" for none.
func (t *Trial) linkAbove(folder string) string {
	makes := map[string]bool{} // folders that the trial puts in place of something else
	for _, c := range t.Changes {
		makes[c.Path] = c.After.Mode.IsDir() && !c.Before.Mode.IsDir()
		for i, r := range c.Path {
			if r != '/' || makes[c.Path[:i]] {
				continue
			}
			if info, err := os.Lstat(filepath.Join(folder, c.Path[:i])); err == nil && info.Mode()&fs.ModeSymlink != 0 {
				return c.Path[:i]
			}
		}
	}
	return ""
}

// Make makes the changes of a trial in a folder, after Check. It removes first what is removed, the innermost first.
func (t *Trial) Make(folder string) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	shut, err := t.begin(root)
	if err != nil {
		return err
	}
	defer shut()
	for _, c := range slices.Backward(t.Changes) {
		if !c.Before.Exists || t.made[c.Path] {
			continue
		}
		info, err := root.Lstat(c.Path)
		if err == nil && (!c.After.Exists || info.Mode().Type() != c.After.Mode.Type()) {
			err = root.Remove(c.Path)
			t.step()
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return err
		}
	}
	for _, c := range t.Changes {
		if c.After.Exists && !t.made[c.Path] {
			if err := t.makeOne(root, c); err != nil {
				return err
			}
			t.made[c.Path] = true
			t.step()
		}
	}
	for _, c := range slices.Backward(t.Changes) {
		if c.After.Exists && c.After.Mode.IsDir() {
			if err := root.Chmod(c.Path, c.After.Mode); err != nil {
				return err
			}
			t.step()
		}
	}
	return nil
}

// begin records that the changes are made now, and gives this user all rights to the folders that hold changed
// paths, until shut is called.
func (t *Trial) begin(root *os.Root) (shut func(), err error) {
	opened := map[string]fs.FileMode{}
	for _, c := range t.Changes {
		for i, r := range c.Path {
			if r != '/' || os.Geteuid() == 0 {
				continue
			}
			info, err := root.Lstat(c.Path[:i])
			if err == nil && info.IsDir() && info.Mode()&0o700 != 0o700 {
				opened[c.Path[:i]] = info.Mode()
			}
		}
	}
	t.Begun = root.Name()
	if t.Opened == nil {
		t.Opened = map[string]fs.FileMode{}
	}
	maps.Copy(t.Opened, opened)
	if err := t.save(); err != nil {
		return nil, err
	}
	for _, path := range slices.Sorted(maps.Keys(opened)) {
		root.Chmod(path, opened[path]|0o700)
		t.step()
	}
	return func() {
		for _, path := range slices.Backward(slices.Sorted(maps.Keys(t.Opened))) {
			root.Chmod(path, t.Opened[path]) // it may be gone
			t.step()
		}
	}, nil
}

// Unmade records that what a keep had made was taken back.
func (t *Trial) Unmade() error {
	t.Begun, t.Opened = "", nil
	return t.save()
}

// makeOne makes what a path has after the trial.
func (t *Trial) makeOne(root *os.Root, c Change) error {
	upper, name := filepath.Join(t.upper(), c.Path), path.Join(path.Dir(c.Path), t.temporary())
	_, uid, gid := stateOf(upper)
	mode := c.After.Mode
	if mode.IsDir() {
		name = c.Path
	} else {
		root.Remove(name)
	}
	linked, err := false, error(nil)
	switch {
	case mode.IsDir():
		err = root.Mkdir(name, 0o700)
		if errors.Is(err, fs.ErrExist) {
			err = nil
		}
	case mode&fs.ModeSymlink != 0:
		var to string
		if to, err = os.Readlink(upper); err == nil {
			err = root.Symlink(to, name)
		}
	case mode&fs.ModeNamedPipe != 0:
		var dir *os.File
		if dir, err = root.Open(path.Dir(name)); err == nil {
			err = syscall.Mknodat(int(dir.Fd()), path.Base(name), syscall.S_IFIFO|0o600, 0)
			dir.Close()
		}
	case !mode.IsRegular():
		return nil // a socket, which nobody serves any more
	default:
		if linked, err = t.link(root, c.Path, name); !linked && err == nil {
			err = t.copyFile(root, c.Path, name)
		}
	}
	t.step()
	if err == nil && os.Geteuid() == 0 && !linked {
		err = root.Lchown(name, uid, gid)
	}
	if mode.IsDir() {
		return err // it gets its permissions when all in it is made
	}
	if err == nil && mode&fs.ModeSymlink == 0 && !linked {
		err = root.Chmod(name, mode)
	}
	if info, serr := os.Stat(upper); err == nil && serr == nil && mode.IsRegular() && !linked && t.merged[c.Path] == nil {
		err = root.Chtimes(name, info.ModTime(), info.ModTime())
	}
	if err == nil {
		err = root.Rename(name, c.Path)
	}
	root.Remove(name) // left after an error, and by a rename to a hard link of the same file
	return err
}

// link gives a file of the trial a new name if another name of it is there already.
func (t *Trial) link(root *os.Root, changed, to string) (bool, error) {
	for _, names := range t.links {
		if !slices.Contains(names, changed) {
			continue
		}
		for _, name := range names {
			if name != changed && t.made[name] && t.merged[name] == nil && t.merged[changed] == nil {
				return true, root.Link(name, to)
			}
		}
	}
	return false, nil
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
