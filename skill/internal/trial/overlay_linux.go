package trial

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"textskill/skill/internal/merge"
	"textskill/skill/internal/process"
)

// Run runs a helper with arguments on a view of a folder, on three streams, and records the trial. Its
// error says why there is no view here.
func (t *Trial) Run(program, folder string, argv []string, streams []*os.File) (err error) {
	if rel, err := filepath.Rel(folder, t.dir); err != nil || !strings.HasPrefix(rel, "..") {
		return fmt.Errorf("the history lies in the workspace, where no trial can be; name a folder outside with --state DIR")
	}
	// not every file system can hold an upper layer; tmpfs can, and mostly that of the workspace
	for _, in := range []string{"", os.Getenv("XDG_RUNTIME_DIR"), "/dev/shm", filepath.Dir(folder)} {
		if in == "" && t.Layers != "" {
			continue
		}
		lerr := t.makeLayers(in)
		if lerr == nil {
			t.Began, lerr = t.clock()
		}
		if lerr == nil {
			t.Exit, lerr = process.OnView(program, folder, t.Layers, argv, streams)
		}
		if lerr == nil {
			err = nil
			break
		}
		err = cmp.Or(err, lerr)
		removeAll(t.upper())
		removeAll(t.work())
		os.Remove(t.Layers) // that of the trial holds more
	}
	if err != nil {
		return err
	}
	removeAll(t.State())
	removeAll(t.work())
	t.Shut = map[string]fs.FileMode{}
	if t.Changes, err = t.changes(folder); err != nil {
		return err
	}
	for _, c := range t.Changes {
		t.saveBefore(folder, c)
	}
	err = t.save()
	t.Release()
	return err
}

// saveBefore copies a changed text as it was when the trial began. Without the copy the text cannot be merged.
func (t *Trial) saveBefore(folder string, c Change) {
	if !c.Before.Exists || !c.Before.Mode.IsRegular() || c.Before.Size > merge.MaxSize || !t.isOld(c.Before) {
		return
	}
	data, err := readIn(folder, c.Path)
	if now, _, _ := stateOf(filepath.Join(folder, c.Path)); err == nil && now == c.Before {
		os.WriteFile(t.before(c), data, 0o600)
	}
}

// isOld reports whether a file last changed before the trial began.
func (t *Trial) isOld(s State) bool { return s.Changed < t.Began.UnixNano() }

// clock returns the time of the file system's clock, once it is later than that of all changes before.
func (t *Trial) clock() (time.Time, error) {
	var first, now syscall.Stat_t
	err := syscall.Stat(t.upper(), &first) // it was made just now
	for now = first; err == nil && now.Ctim == first.Ctim; err = syscall.Stat(t.upper(), &now) {
		time.Sleep(time.Millisecond)
		if err = os.Chmod(t.upper(), 0o700); err != nil {
			break
		}
	}
	return time.Unix(now.Ctim.Unix()), err
}

// stateOf describes a file.
func stateOf(path string) (s State, uid, gid int) {
	info, err := os.Lstat(path)
	if err != nil {
		return s, 0, 0
	}
	st := info.Sys().(*syscall.Stat_t)
	s = State{Mode: info.Mode(), Inode: st.Ino, Changed: st.Ctim.Nano(), Exists: true}
	if !info.IsDir() {
		s.Size, s.Links = info.Size(), uint64(st.Nlink)
	}
	return s, int(st.Uid), int(st.Gid)
}

// isWhiteout reports whether a file of the upper layer stands for a removed one.
func isWhiteout(path string) bool {
	var st syscall.Stat_t
	return syscall.Lstat(path, &st) == nil && st.Mode&syscall.S_IFMT == syscall.S_IFCHR && st.Rdev == 0
}

// isOpaque reports whether a folder of the upper layer hides that of the lower one.
func isOpaque(path string) bool {
	value := make([]byte, 8)
	for _, name := range []string{"trusted.overlay.opaque", "user.overlay.opaque"} {
		if n, err := syscall.Getxattr(path, name, value); err == nil && n == 1 && value[0] == 'y' {
			return true
		}
	}
	return false
}

// changes returns what the upper layer changes in a folder.
func (t *Trial) changes(folder string) (list []Change, err error) {
	var removed func(path string)
	removed = func(path string) {
		before, _, _ := stateOf(filepath.Join(folder, path))
		if !before.Exists {
			return
		}
		list = append(list, Change{Path: path, Before: before})
		if before.Mode.IsDir() {
			entries, rerr := os.ReadDir(filepath.Join(folder, path))
			if !errors.Is(rerr, fs.ErrPermission) { // the program did not see what is in it, either
				err = cmp.Or(err, rerr)
			}
			for _, e := range entries {
				removed(path + "/" + e.Name())
			}
		}
	}
	var walk func(path string, below, opaque bool) error // below: the path is a folder of the lower layer, too
	walk = func(path string, below, opaque bool) error {
		entries, err := os.ReadDir(filepath.Join(t.upper(), path))
		if err != nil {
			return err
		}
		above := map[string]bool{}
		for _, e := range entries {
			name := filepath.Join(path, e.Name())
			above[e.Name()] = true
			upper, lower := filepath.Join(t.upper(), name), filepath.Join(folder, name)
			if isWhiteout(upper) {
				removed(name)
				continue
			}
			var before State
			var uid, gid int
			if below {
				before, uid, gid = stateOf(lower)
			}
			after, uid2, gid2 := t.open(name)
			if after.Mode.IsRegular() && after.Links > 1 {
				t.links[after.Inode] = append(t.links[after.Inode], name)
			}
			both := before.Exists && before.Mode.Type() == after.Mode.Type()
			if before.Exists && before.Mode.IsDir() && !after.Mode.IsDir() {
				removed(name)
				at := slices.IndexFunc(list, func(c Change) bool { return c.Path == name })
				list[at].After = after
				continue
			}
			same := both && before.Mode == after.Mode && uid == uid2 && gid == gid2
			if same && !after.Mode.IsDir() {
				same = before.Size == after.Size && t.sameContent(folder, name, after.Mode)
			}
			if !same {
				list = append(list, Change{Path: name, Before: before, After: after})
			}
			if after.Mode.IsDir() {
				if err := walk(name, both, opaque || isOpaque(upper)); err != nil {
					return err
				}
			}
		}
		if !below || !opaque {
			return nil
		}
		entries, err = os.ReadDir(filepath.Join(folder, path))
		if errors.Is(err, fs.ErrPermission) { // the program did not see what is in it, either
			return nil
		}
		for _, e := range entries {
			if !above[e.Name()] {
				removed(filepath.Join(path, e.Name()))
			}
		}
		return err
	}
	t.links = map[uint64][]string{}
	t.open("")
	err = cmp.Or(walk("", true, false), err)
	slices.SortFunc(list, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return list, err
}

// open describes a file of the upper layer, and gives this user the rights to it that the program may have taken
// from itself.
func (t *Trial) open(path string) (s State, uid, gid int) {
	upper := filepath.Join(t.upper(), path)
	s, uid, gid = stateOf(upper)
	rights := fs.FileMode(0)
	switch {
	case s.Mode.IsDir():
		rights = 0o700
	case s.Mode.IsRegular():
		rights = 0o400
	}
	if mode, ok := t.Shut[path]; ok {
		s.Mode = mode
	} else if os.Geteuid() != 0 && s.Mode&rights != rights {
		t.Shut[path] = s.Mode
		os.Chmod(upper, s.Mode|rights)
	}
	return s, uid, gid
}

// sameContent reports whether a file of a folder holds the same in the trial, where it has the same kind and size.
func (t *Trial) sameContent(folder, name string, mode fs.FileMode) bool {
	upper := filepath.Join(t.upper(), name)
	switch {
	case mode&fs.ModeSymlink != 0:
		to, err := os.Readlink(filepath.Join(folder, name))
		other, err2 := os.Readlink(upper)
		return err == nil && err2 == nil && to == other
	case !mode.IsRegular():
		return true
	}
	one, err := readIn(folder, name)
	two, err2 := os.ReadFile(upper)
	return err == nil && err2 == nil && bytes.Equal(one, two)
}
