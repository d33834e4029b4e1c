package history

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"textskill/skill/internal/workspace/tree"
)

// A user may not change a folder of his own that is read-only. So an undo opens such a folder, and shuts it when
// its contents are as they should be: rule 18 of the package.

// An Opened is a folder that an undo opens for its changes, and its permissions before.
type Opened struct {
	Path Name   `json:"path"`
	Mode uint32 `json:"mode"`
}

// full are the permissions that a folder needs while its entries change.
const full = 0o700

// bitsOf returns permissions with the set-user-ID, set-group-ID and sticky bits as the system numbers them.
func bitsOf(m fs.FileMode) uint32 {
	bits := uint32(m.Perm())
	for i, special := range []fs.FileMode{fs.ModeSticky, fs.ModeSetgid, fs.ModeSetuid} {
		if m&special != 0 {
			bits |= 1 << (9 + i)
		}
	}
	return bits
}

// modeOf is the inverse of bitsOf.
func modeOf(bits uint32) fs.FileMode {
	m := fs.FileMode(bits).Perm()
	for i, special := range []fs.FileMode{fs.ModeSticky, fs.ModeSetgid, fs.ModeSetuid} {
		if bits&(1<<(9+i)) != 0 {
			m |= special
		}
	}
	return m
}

// openings returns the read-only folders whose entries the deltas change.
func (s *Store) openings(deltas []Delta) (list []Opened) {
	asked := map[Name]bool{}
	for _, d := range deltas {
		for _, name := range []Name{d.Path, d.From} {
			folder := Name(path.Dir(string(name)))
			if name == "" || asked[folder] {
				continue
			}
			asked[folder] = true
			if mode, shut := s.isShut(folder); shut {
				list = append(list, Opened{folder, mode})
			}
		}
	}
	slices.SortFunc(list, func(a, b Opened) int { return byName(a.Path, b.Path) })
	return list
}

// isShut reports whether a folder is this user's and may not be changed by him.
func (s *Store) isShut(folder Name) (mode uint32, shut bool) {
	d, base, err := s.parent(folder)
	if err != nil {
		return 0, false
	}
	defer d.Close()
	info, err := d.Lstat(base)
	if err != nil || !info.IsDir() || int(info.UID) != os.Geteuid() {
		return 0, false
	}
	return bitsOf(info.Mode), errors.Is(d.CheckWritable(base), fs.ErrPermission)
}

// openFolders opens the read-only folders of an op, the outermost first.
func (s *Store) openFolders(op *Op) {
	for _, o := range op.Opened {
		s.chmod(o.Path, o.Mode, o.Mode|full)
	}
}

// shutFolders gives the folders of an op their permissions, the innermost first: those that the op opened, and those
// that it makes.
func (s *Store) shutFolders(op *Op) {
	modes := map[Name]uint32{}
	for _, o := range op.Opened {
		modes[o.Path] = o.Mode
	}
	for _, d := range op.Deltas {
		if e := d.After; e.Kind == Dir && !e.Whole && e.Mode != UsualMode {
			modes[d.Path] = e.Mode
		}
	}
	for _, name := range slices.Backward(slices.SortedFunc(maps.Keys(modes), byName)) {
		if mode := modes[name]; mode&full != full {
			s.chmod(name, mode|full, mode)
		}
	}
}

// chmod changes the permissions of a folder. A folder with other permissions than from stays as it is.
func (s *Store) chmod(name Name, from, to uint32) {
	d, base, err := s.parent(name)
	if err != nil {
		return
	}
	defer d.Close()
	if info, err := d.Lstat(base); err == nil && info.IsDir() && bitsOf(info.Mode) == from {
		d.Chmod(base, modeOf(to))
	}
}

// makeFolder makes a folder, with the owner, the attributes and the permissions of an entry. It stays open for its
// contents.
func (s *Store) makeFolder(dir tree.Folder, base string, e Entry) error {
	if e.Mode == UsualMode {
		return dir.Mkdir(base, 0o777)
	}
	if err := dir.Mkdir(base, full); err != nil {
		return err
	}
	if f, err := dir.OpenFile(base, os.O_RDONLY, 0); err == nil {
		chown(f, e.Owner)
		s.setAttributes(f, e)
		f.Close()
	}
	return dir.Chmod(base, modeOf(e.Mode|full))
}

// setAttributes gives a folder the extended attributes of an entry, in place of those that it got from the folder
// above.
func (s *Store) setAttributes(f *os.File, e Entry) bool {
	var list map[string][]byte
	switch e.Attributes {
	case "":
		return true
	case noAttributes:
	default:
		data, err := s.read("", Entry{Kind: File, Sum: e.Attributes})
		if err != nil || json.Unmarshal(data, &list) != nil {
			return false
		}
	}
	return tree.SetAttributes(f, list)
}

// restoreAttributes gives a file or folder the extended attributes of a delta, if those have changed.
func (s *Store) restoreAttributes(dir tree.Folder, base string, d Delta) bool {
	if d.Before.attributes() == d.After.attributes() || d.After.Kind == File && d.After.Sum == "" {
		return true
	}
	f, err := dir.OpenFile(base, readFlags, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	switch {
	case d.After.Kind == Dir:
		return s.setAttributes(f, d.After)
	case d.After.attributes() == "":
		return tree.SetAttributes(f, nil)
	}
	saved, err := s.blobs.OpenFile(d.After.Blob, readFlags, 0)
	if err != nil {
		return false
	}
	defer saved.Close()
	return tree.CopyAttributes(f, saved)
}

// chown gives a file the owner of an entry. Only root may give files away; others may choose a group of their own.
// It returns false if the file has another owner.
func chown(f *os.File, owner string) bool {
	uid, gid, ok := strings.Cut(owner, ":")
	u, uerr := strconv.Atoi(uid)
	g, gerr := strconv.Atoi(gid)
	if !ok || uerr != nil || gerr != nil {
		u, g = me()
	}
	if f.Chown(u, g) == nil {
		return true
	}
	f.Chown(-1, g)
	return false
}

func byName(a, b Name) int { return byPath(string(a), string(b)) }
