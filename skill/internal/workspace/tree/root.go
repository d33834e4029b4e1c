package tree

import (
	"errors"
	"hash/maphash"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
)

// A rootTree opens names through os.Root, on systems without openat2. os.Root follows links inside
// the tree. So rootTree walks a name part by part, and checks that each part it opens is the file
// that Lstat described. Only a move between two folders uses the folders' names again: a link put
// there meanwhile can redirect the move inside the tree, but not out of it.
type rootTree struct{ root *os.Root }

func openRootTree(dir string) (Tree, error) {
	r, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return rootTree{r}, nil
}

func (t rootTree) Close() error { return t.root.Close() }

func (t rootTree) OpenFolder(rel string) (Folder, error) {
	d, err := t.walk(rel)
	if err != nil {
		return nil, err
	}
	if d.root == t.root { // the caller must be able to close d without closing the tree
		if d.root, err = t.root.OpenRoot("."); err != nil {
			return nil, rootCause(err)
		}
	}
	return d, nil
}

// walk opens a folder. For "." the folder shares the tree's root, which leave does not close.
func (t rootTree) walk(rel string) (*rootFolder, error) {
	fi, err := t.root.Lstat(".")
	if err != nil {
		return nil, rootCause(err)
	}
	d := &rootFolder{tree: t, rel: ".", root: t.root, at: rootID(fi, t.root.Name())}
	if rel == "." {
		return d, nil
	}
	for name := range strings.SplitSeq(rel, "/") {
		next, err := d.enter(name)
		d.leave()
		if err != nil {
			return nil, err
		}
		d = next
	}
	return d, nil
}

func (t rootTree) Open(rel string, flag int) (*os.File, error) {
	d, err := t.walk(path.Dir(rel))
	if err != nil {
		return nil, err
	}
	defer d.leave()
	return d.OpenFile(path.Base(rel), flag, 0)
}

func (t rootTree) ReadFile(rel string, limit int64) ([]byte, error) {
	f, info, err := RegularFile(t.Open(rel, os.O_RDONLY))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := ReadSized(info.Size, limit, f.Read)
	return data, rootCause(err)
}

func (t rootTree) Stat(rel string) (Info, error) {
	d, err := t.walk(path.Dir(rel))
	if err != nil {
		return Info{}, err
	}
	defer d.leave()
	return d.Lstat(path.Base(rel))
}

// A rootFolder is a Folder of a rootTree.
type rootFolder struct {
	tree rootTree
	rel  string
	root *os.Root
	file *os.File // nil until FD needs it
	at   FileID
}

func (d *rootFolder) ID() FileID { return d.at }

// rootID returns the ID of a folder. If the system has no IDs, it is a hash of the path.
func rootID(fi fs.FileInfo, path string) FileID {
	if id := InfoOf(fi).ID; id != (FileID{}) {
		return id
	}
	return FileID{Ino: maphash.String(seed, path)}
}

var seed = maphash.MakeSeed()

func (d *rootFolder) FD() (fd int, ok bool) {
	if d.file == nil {
		d.file, _ = d.root.Open(".")
	}
	if d.file == nil {
		return -1, false
	}
	return int(d.file.Fd()), true
}

func (d *rootFolder) Close() error {
	if d.file != nil {
		d.file.Close()
	}
	return d.root.Close()
}

// leave closes the folder unless it shares the tree's root.
func (d *rootFolder) leave() {
	if d.root != d.tree.root {
		d.Close()
	}
}

func (d *rootFolder) Entries() ([]Entry, error) {
	f, err := d.root.Open(".")
	if err != nil {
		return nil, rootCause(err)
	}
	defer f.Close()
	dirents, err := f.ReadDir(-1)
	if err != nil {
		return nil, rootCause(err)
	}
	list := make([]Entry, len(dirents))
	for i, e := range dirents {
		list[i] = Entry{e.Name(), e.Type()}
	}
	return list, nil
}

func (d *rootFolder) OpenFolder(name string) (Folder, error) {
	next, err := d.enter(name)
	if err != nil {
		return nil, err
	}
	return next, nil
}

// enter opens the folder name. It adds "/." to the name, so that only a folder can be opened.
func (d *rootFolder) enter(name string) (*rootFolder, error) {
	fi, err := d.root.Lstat(name)
	switch {
	case err != nil:
		return nil, rootCause(err)
	case fi.Mode().Type() == fs.ModeSymlink:
		return nil, syscall.ELOOP
	case !fi.IsDir():
		return nil, syscall.ENOTDIR
	}
	r, err := d.root.OpenRoot(name + "/.")
	if err != nil {
		return nil, rootCause(err)
	}
	if now, err := r.Lstat("."); err != nil || !os.SameFile(fi, now) {
		r.Close()
		return nil, syscall.ELOOP
	}
	rel := path.Join(d.rel, name)
	return &rootFolder{tree: d.tree, rel: rel, root: r, at: rootID(fi, d.tree.root.Name()+"/"+rel)}, nil
}

func (d *rootFolder) Lstat(name string) (Info, error) {
	fi, err := d.root.Lstat(name)
	if err != nil {
		return Info{}, rootCause(err)
	}
	return InfoOf(fi), nil
}

func (d *rootFolder) Readlink(name string) (string, error) {
	target, err := d.root.Readlink(name)
	return target, rootCause(err)
}

func (d *rootFolder) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	if flag&os.O_CREATE != 0 { // the flag includes O_EXCL, which does not follow a link
		f, err := d.root.OpenFile(name, flag, perm.Perm())
		return f, rootCause(err)
	}
	fi, err := d.root.Lstat(name)
	if err != nil {
		return nil, rootCause(err)
	}
	if err := CheckRegular(fi.Mode()); err != nil && !fi.IsDir() {
		return nil, err
	}
	f, err := d.root.OpenFile(name, flag|nonblock, 0)
	if err != nil {
		return nil, rootCause(err)
	}
	if now, err := f.Stat(); err != nil || !os.SameFile(fi, now) {
		f.Close()
		return nil, syscall.ELOOP
	}
	return f, nil
}

func (d *rootFolder) OpenContent(name string) (File, Info, error) {
	f, info, err := RegularFile(d.OpenFile(name, os.O_RDONLY, 0))
	if err != nil {
		return File{}, Info{}, err
	}
	return File{f, info.Size}, info, nil
}

func (d *rootFolder) CreateUnnamed(fs.FileMode) (*os.File, error) { return nil, errors.ErrUnsupported }
func (d *rootFolder) LinkUnnamed(*os.File, string) error          { return errors.ErrUnsupported }

func (d *rootFolder) CopyFile(name string, to Folder, newName string, times bool) error {
	return copyWith(d, name, to, newName, times)
}

func (d *rootFolder) Mkdir(name string, perm fs.FileMode) error {
	return rootCause(d.root.Mkdir(name, perm.Perm()))
}

func (d *rootFolder) Symlink(target, name string) error {
	return rootCause(d.root.Symlink(target, name))
}

func (d *rootFolder) Remove(name string, dir bool) error {
	info, err := d.Lstat(name)
	switch {
	case err != nil:
		return err
	case info.IsDir() && !dir:
		return syscall.EISDIR
	case !info.IsDir() && dir:
		return syscall.ENOTDIR
	}
	return rootCause(d.root.Remove(name))
}

func (d *rootFolder) Rename(name string, to Folder, newName string, replace bool) error {
	dest, ok := to.(*rootFolder)
	if !ok || dest.tree != d.tree {
		return syscall.EXDEV
	}
	from, onto := path.Join(d.rel, name), path.Join(dest.rel, newName)
	there, err := dest.Lstat(newName)
	if err == nil && !replace {
		return syscall.EEXIST
	}
	if err == nil && from == onto {
		return nil
	}
	if err == nil && there.IsDir() { // os.Root does not replace even an empty folder
		if err := d.giveWay(name, dest, newName, there); err != nil {
			return err
		}
	}
	if d.rel == dest.rel {
		return rootCause(d.root.Rename(name, newName))
	}
	return rootCause(d.tree.root.Rename(from, onto))
}

func (d *rootFolder) Link(name string, to Folder, newName string) error {
	dest, ok := to.(*rootFolder)
	if !ok || dest.tree != d.tree {
		return syscall.EXDEV
	}
	return rootCause(d.tree.root.Link(path.Join(d.rel, name), path.Join(dest.rel, newName)))
}

func (d *rootFolder) Exchange(string, Folder, string) error { return errors.ErrUnsupported }

// giveWay removes the empty folder newName of dest, which the folder name of d will replace. It keeps
// the folder if both are the same folder, spelled in another case.
func (d *rootFolder) giveWay(name string, dest *rootFolder, newName string, there Info) error {
	info, err := d.Lstat(name)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return syscall.EISDIR
	case info.ID == there.ID:
		return nil
	}
	return dest.Remove(newName, true)
}

func (d *rootFolder) CheckWritable(name string) error {
	info, err := d.Lstat(name)
	if err != nil {
		return err
	}
	return mayWrite(info)
}

func (d *rootFolder) Chtimes(name string, info Info) error {
	return rootCause(d.root.Chtimes(name, info.Accessed, info.ModTime))
}

func (d *rootFolder) Chmod(name string, perm fs.FileMode) error {
	info, err := d.Lstat(name)
	if err == nil && info.IsLink() {
		err = syscall.ELOOP
	}
	if err != nil {
		return err
	}
	return rootCause(d.root.Chmod(name, perm&^fs.ModeType))
}

// rootCause is Cause for the errors of os.Root. An error that is not the system's means that somebody
// put a link there that leads out; it becomes ELOOP.
func rootCause(err error) error {
	err = Cause(err)
	var errno syscall.Errno
	if err == nil || errors.As(err, &errno) || errors.Is(err, fs.ErrClosed) {
		return err
	}
	return syscall.ELOOP
}

// copyWith copies a file through package os, which works on all systems.
func copyWith(from Folder, name string, to Folder, newName string, times bool) error {
	src, info, err := RegularFile(from.OpenFile(name, os.O_RDONLY, 0))
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := to.OpenFile(newName, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode)
	if err != nil {
		return err
	}
	err = CopyContent(dst, src, info.Size)
	if err == nil {
		err = dst.Chmod(info.Mode.Perm())
	}
	if cerr := dst.Close(); err == nil {
		err = cerr
	}
	if err == nil && times {
		err = to.Chtimes(newName, info)
	}
	return Cause(err)
}
