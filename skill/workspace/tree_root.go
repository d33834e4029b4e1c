package workspace

import (
	"errors"
	"hash/maphash"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
)

// rootTree confines names through os.Root: the way on systems without openat2.
// os.Root follows links that stay inside, so a link is looked for before each
// call; one that is slipped in between is followed, inside the root.
type rootTree struct{ root *os.Root }

func openRootTree(dir string) (tree, error) {
	r, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return rootTree{r}, nil
}

func (t rootTree) close() error { return t.root.Close() }

// linkFree fails with ELOOP where a part of rel is a symbolic link.
func (t rootTree) linkFree(rel string) error {
	for i := 0; i < len(rel); {
		j := strings.IndexByte(rel[i+1:], '/')
		end := i + 1 + j
		if j < 0 {
			end = len(rel)
		}
		info, err := t.root.Lstat(rel[:end])
		if err != nil {
			return cause(err)
		}
		if info.Mode().Type() == fs.ModeSymlink {
			return syscall.ELOOP
		}
		i = end
	}
	return nil
}

func (t rootTree) open(rel string, flag int) (*os.File, error) {
	if err := t.linkFree(rel); err != nil {
		return nil, err
	}
	f, err := t.root.OpenFile(rel, flag|nonblock, 0)
	return f, cause(err)
}

func (t rootTree) readFile(rel string) ([]byte, error) {
	f, err := t.open(rel, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readRegular(f)
}

func (t rootTree) stat(rel string) (Info, error) {
	if dir := path.Dir(rel); dir != "." {
		if err := t.linkFree(dir); err != nil {
			return Info{}, err
		}
	}
	fi, err := t.root.Lstat(rel)
	if err != nil {
		return Info{}, cause(err)
	}
	return infoOf(fi), nil
}

func (t rootTree) folder(rel string) (folder, error) {
	if err := t.linkFree(rel); err != nil {
		return nil, err
	}
	fi, err := t.root.Stat(rel)
	if err != nil {
		return nil, cause(err)
	}
	if !fi.IsDir() {
		return nil, syscall.ENOTDIR
	}
	r, err := t.root.OpenRoot(rel)
	if err != nil {
		return nil, cause(err)
	}
	d := &rootFolder{tree: t, rel: rel, root: r, at: infoOf(fi).ID}
	if d.at == (FileID{}) {
		d.at.Ino = maphash.String(seed, t.root.Name()+"/"+rel)
	}
	d.file, _ = r.Open(".")
	return d, nil
}

// seed serves to tell folders apart where the system gives them no number.
var seed = maphash.MakeSeed()

// rootFolder is one open directory below a rootTree.
type rootFolder struct {
	tree rootTree
	rel  string
	root *os.Root
	file *os.File // nil where the folder may not be read
	at   FileID
}

func (d *rootFolder) id() FileID       { return d.at }
func (d *rootFolder) handle() *os.File { return d.file }

func (d *rootFolder) close() error {
	if d.file != nil {
		d.file.Close()
	}
	return d.root.Close()
}

func (d *rootFolder) folder(name string) (folder, error) {
	return d.tree.folder(path.Join(d.rel, name))
}

func (d *rootFolder) lstat(name string) (Info, error) {
	fi, err := d.root.Lstat(name)
	if err != nil {
		return Info{}, cause(err)
	}
	return infoOf(fi), nil
}

func (d *rootFolder) readlink(name string) (string, error) {
	target, err := d.root.Readlink(name)
	return target, cause(err)
}

func (d *rootFolder) openFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	f, err := d.root.OpenFile(name, flag|nofollow|nonblock, perm.Perm())
	return f, cause(err)
}

func (d *rootFolder) unnamed(fs.FileMode) (*os.File, error) { return nil, errors.ErrUnsupported }
func (d *rootFolder) link(*os.File, string) error           { return errors.ErrUnsupported }

func (d *rootFolder) mkdir(name string, perm fs.FileMode) error {
	return cause(d.root.Mkdir(name, perm.Perm()))
}

func (d *rootFolder) symlink(target, name string) error {
	return cause(d.root.Symlink(target, name))
}

func (d *rootFolder) remove(name string, dir bool) error {
	info, err := d.lstat(name)
	switch {
	case err != nil:
		return err
	case info.IsDir() && !dir:
		return syscall.EISDIR
	case !info.IsDir() && dir:
		return syscall.ENOTDIR
	}
	return cause(d.root.Remove(name))
}

func (d *rootFolder) rename(name string, to folder, newName string, replace bool) error {
	dest := to.(*rootFolder)
	if dest.tree != d.tree {
		return syscall.EXDEV
	}
	if !replace {
		if _, err := dest.lstat(newName); err == nil {
			return syscall.EEXIST
		}
	}
	return cause(d.tree.root.Rename(path.Join(d.rel, name), path.Join(dest.rel, newName)))
}

func (d *rootFolder) writable(name string) error {
	info, err := d.lstat(name)
	if err != nil {
		return err
	}
	return mayWrite(d.tree.root, path.Join(d.rel, name), info)
}

func (d *rootFolder) chtimes(name string, info Info) error {
	return cause(d.root.Chtimes(name, info.Accessed, info.ModTime))
}

// cause takes package os's wrapping off: whoever asked knows the name.
func cause(err error) error {
	if err == nil {
		return nil
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	var le *os.LinkError
	if errors.As(err, &le) {
		return le.Err
	}
	return err
}
