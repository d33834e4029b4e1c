package history

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
)

// A Place is a folder of histories. Each history has a folder there, named by the key of its root.
type Place struct {
	Path string // absolute
	Root string // the root, absolute and without links
	Key  string // identifies the root: a renamed root keeps its key, a copy has another one
	Rule int    // which rule found it, from 1 to 6
	Why  string // the rule, in words for the user
	Near bool   // on the root's mount and device: contents are moved or linked, not copied

	ignore bool // write a .gitignore: the place may be in somebody's repository
}

// Inside is the name of a history's folder in the root itself.
const Inside = ".skill"

// An identity identifies a folder.
type identity struct {
	dev, ino, mount uint64
	born            int64 // creation time in nanoseconds; 0 if it is unknown
	owner           int   // user ID; -1 if it is unknown
	mode            uint32
	folder          bool
}

// Find finds the place of a root's history, and makes nothing. It uses the first rule that applies and
// finds a history; if no rule finds one, the first rule that applies. With o.Dir it uses only rule 1:
//
//  1. o.Dir names it.
//  2. The user's state folder, if it is on the root's mount.
//  3. .skill-UID in the topmost folder above the root that is on its mount, the
//     user's own, and in no root.
//  4. .skill in the root, which is the top of its mount or holds the user's state folder.
//  5. The user's state folder, on another mount: contents are copied there.
//  6. .skill in the root.
func Find(o Options) (Place, error) {
	root, err := filepath.Abs(o.Root)
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err != nil {
		return Place{}, err
	}
	at, err := identify(root)
	if err != nil {
		return Place{}, err
	}
	f := finder{root: root, at: at, roots: []string{root}}
	for _, other := range o.Roots {
		if other, err := filepath.EvalSymlinks(other); err == nil {
			f.roots = append(f.roots, other)
		}
	}
	if o.Dir != "" {
		err = f.addNamed(o.Dir)
	} else {
		f.search(cmp.Or(o.User, userDir()))
	}
	if err != nil {
		return Place{}, err
	}
	if len(f.found) == 0 {
		return Place{}, fmt.Errorf("no folder for the history of %s: none of this user's is above it, and the home folder has none; name one with --state DIR", root)
	}
	for i := range f.found {
		f.found[i].Root, f.found[i].Key = root, ownKey(f.found[i].Path, root, at)
	}
	if i := slices.IndexFunc(f.found, func(p Place) bool { return f.holds(p.Path) }); i >= 0 {
		return f.found[i], nil
	}
	return f.found[0], nil
}

// Exists reports whether a root has a history.
func Exists(o Options) bool {
	p, err := Find(o)
	if err == nil {
		_, err = os.Lstat(filepath.Join(p.Path, p.Key))
	}
	return err == nil
}

// userDir returns the user's state folder, "" without a home folder.
func userDir() string {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "skill")
	}
	home, err := os.UserHomeDir()
	if err != nil { // cron, a service or env -i: the system's list of users knows it
		if u, uerr := user.Current(); uerr == nil {
			home, err = u.HomeDir, nil
		}
	}
	if err == nil && filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "skill")
	}
	return ""
}

// UserDir returns the user's state folder, with links resolved, or "" without a home folder.
func UserDir() string {
	dir := userDir()
	if dir != "" {
		_, dir = existing(dir)
	}
	return dir
}

type finder struct {
	root  string
	at    identity
	roots []string
	found []Place
}

func (f *finder) add(rule int, path, why string) {
	there, _ := existing(path)
	f.found = append(f.found, Place{Path: path, Rule: rule, Why: why, Near: f.near(there),
		ignore: rule == 3 || rule == 4 || rule == 6})
}

// addNamed adds the place of rule 1.
func (f *finder) addNamed(dir string) error {
	path, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	_, path = existing(path)
	if f.inRoots(path) {
		return fmt.Errorf("the state folder %s lies in the workspace, where commands reach it; name one outside", dir)
	}
	f.add(1, path, "--state names it")
	return nil
}

// search adds the places of rules 2 to 6.
func (f *finder) search(user string) {
	var there identity
	usable := false
	if user != "" {
		there, user = existing(user)
		usable = f.usable(user, there)
	}
	if usable && f.near(there) {
		f.add(2, user, "your state folder")
	}
	if top := f.above(); top != "" {
		f.add(3, filepath.Join(top, fmt.Sprintf("%s-%d", Inside, os.Geteuid())),
			"the topmost folder of yours above the workspace on its disk")
	}
	inside := filepath.Join(f.root, Inside)
	mayHold := (f.holds(inside) || writable(f.root)) && f.mine(inside)
	switch {
	case !mayHold:
	case f.isTop():
		f.add(4, inside, "the workspace is the top folder of its disk")
	case user != "" && within(user, f.root):
		f.add(4, inside, "the workspace holds your state folder")
	}
	if usable && !f.near(there) {
		f.add(5, user, "your state folder; you have no folder on the disk of the workspace")
	}
	if len(f.found) == 0 && mayHold {
		f.add(6, inside, "you have no folder above the workspace, and no home folder")
	}
}

// isTop reports whether the root is the top folder of its mount.
func (f *finder) isTop() bool {
	if filepath.Dir(f.root) == f.root {
		return true
	}
	parent, err := identify(filepath.Dir(f.root))
	return err == nil && !f.near(parent)
}

// usable reports whether the history may be in the state folder user, which there describes.
func (f *finder) usable(user string, there identity) bool {
	if !there.folder || f.inRoots(user) {
		return false
	}
	mine := there.owner == os.Geteuid() || there.owner < 0
	return mine && (f.holds(user) || mayBeMade(user))
}

// mayBeMade reports whether a folder is writable, or can be made if it does not exist.
func mayBeMade(dir string) bool {
	for filepath.Dir(dir) != dir {
		if _, err := os.Lstat(dir); err == nil {
			break
		}
		dir = filepath.Dir(dir)
	}
	return writable(dir)
}

// holds reports whether a place has a history of the root.
func (f *finder) holds(place string) bool {
	_, err := os.Lstat(filepath.Join(place, ownKey(place, f.root, f.at)))
	return err == nil
}

// keysOf returns the two possible keys of a folder: the usual one, and one that includes its path. The
// second is for a folder whose usual key belongs to another folder's history.
func keysOf(root string, at identity) []string {
	own := keyOf(root, at)
	sum := sha256.Sum256([]byte(own + root))
	return []string{own, hex.EncodeToString(sum[:16])}
}

// ownKey returns the key of a root's history in a place. A history with the usual key that names another
// path belongs to the folder at that path, if that folder is another one: inodes are reused, and a copy
// of a disk has the same inodes.
func ownKey(place, root string, at identity) string {
	keys := keysOf(root, at)
	var r rootFile
	data, err := os.ReadFile(filepath.Join(place, keys[0], rootName))
	if err != nil || json.Unmarshal(data, &r) != nil || r.Path == "" || r.Path == root {
		return keys[0]
	}
	if there, err := identify(r.Path); err == nil &&
		(there.dev != at.dev || there.ino != at.ino || there.born != at.born) {
		return keys[1]
	}
	return keys[0]
}

// above finds the folder of rule 3: the nearest folder with a history of the root, even if it is not
// writable now, else the topmost folder.
func (f *finder) above() (top string) {
	for dir := f.root; filepath.Dir(dir) != dir; {
		dir = filepath.Dir(dir)
		at, err := identify(dir)
		if err != nil || !f.near(at) {
			break
		}
		shared := at.mode&0o022 != 0 && at.mode&0o1000 == 0 // other users may rename its entries
		place := filepath.Join(dir, fmt.Sprintf("%s-%d", Inside, os.Geteuid()))
		switch {
		case at.owner != os.Geteuid() || shared || f.inRoots(dir) || !f.mine(place):
		case f.holds(place):
			return dir
		case writable(dir):
			top = dir
		}
	}
	return top
}

// mine reports whether a folder belongs to this user or does not exist.
func (f *finder) mine(path string) bool {
	at, err := identify(path)
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	return err == nil && at.folder && (at.owner == os.Geteuid() || at.owner < 0)
}

func (f *finder) near(at identity) bool { return at.mount == f.at.mount && at.dev == f.at.dev }

func (f *finder) inRoots(path string) bool {
	return slices.ContainsFunc(f.roots, func(root string) bool { return within(path, root) })
}

// within reports whether path is root or below root.
func within(path, root string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// existing returns the identity of the nearest existing folder at or above a path, and the path with
// links resolved.
func existing(path string) (identity, string) {
	rest := ""
	for dir := path; ; dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			at, err := identify(real)
			if err == nil {
				return at, filepath.Join(real, rest)
			}
		}
		if filepath.Dir(dir) == dir {
			return identity{}, path
		}
		rest = filepath.Join(filepath.Base(dir), rest)
	}
}

// open opens the place. It makes a missing folder with access for this user only. An existing folder
// must belong to this user and must not be a link.
func (p Place) open(sync bool) (*os.Root, error) {
	if err := makeAll(p.Path, sync); err != nil {
		return nil, err
	}
	at, err := identify(p.Path)
	if err != nil {
		return nil, err
	}
	if !at.folder || p.Rule != 1 && at.owner >= 0 && at.owner != os.Geteuid() {
		return nil, fmt.Errorf("%s is not a folder of this user's; name another one with --state DIR", p.Path)
	}
	dir, err := os.OpenRoot(p.Path)
	if err != nil || !p.ignore {
		return dir, err
	}
	if f, err := dir.OpenFile(".gitignore", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644); err == nil {
		f.WriteString("*\n")
		f.Close()
	}
	return dir, nil
}

// makeAll makes a folder and the missing folders above it, and with sync makes them durable.
func makeAll(path string, sync bool) error {
	err := os.Mkdir(path, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		if err = makeAll(filepath.Dir(path), sync); err == nil {
			err = os.Mkdir(path, 0o700)
		}
	}
	if errors.Is(err, fs.ErrExist) { // another process made it
		return nil
	}
	if err != nil || !sync {
		return err
	}
	return syncNames(os.Open(filepath.Dir(path)))
}

// Explain says in one line where the history is and why.
func (p Place) Explain() string {
	how := "on the same disk, so deleted files are moved there"
	if !p.Near {
		how = fmt.Sprintf("on another disk, so deleted files are copied there, up to %d MB for each change",
			MaxCopied>>20)
	}
	return fmt.Sprintf("the history of %s is in %s (%s), %s", p.Root, filepath.Join(p.Path, p.Key),
		p.Why, how)
}
