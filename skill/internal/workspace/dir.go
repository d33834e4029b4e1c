package workspace

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// A Dir is an open folder that is read in blocks: what walks over many folders
// use instead of [Workspace.ReadDir]. One goroutine at a time may call Read; the
// other methods are safe beside it. Close releases it.
type Dir struct {
	w  *Workspace
	at place
	d  dir
}

// dir is the folder of a Dir, in one kind of tree.
type dir interface {
	enter(name string) (dir, error) // follows no link
	read(b *Block) (more bool, err error)
	open(name []byte) (file, int64, error)
	stat(name []byte) (Info, error)
	close() error
}

// A Block is some of the names in a folder. The zero Block is ready for Read, and
// may be used again with any folder.
type Block struct {
	Names []Name
	raw   []byte
}

// Name is one name in a folder. Its bytes are good until the block is read into
// again.
type Name struct {
	Bytes []byte
	Type  fs.FileMode // the type bits only; of a link itself
}

// OpenDir opens the folder abs. Errors are *fs.PathError with Op "scandir", or the
// workspace's own.
func (w *Workspace) OpenDir(abs string) (d *Dir, err error) {
	err = w.at(wanted{abs, true, toRead}, func(p place) error {
		h, err := p.root.tree.reader(p.rel)
		d = &Dir{w, p, h}
		return err
	})
	if err != nil {
		return nil, wrap("scandir", abs, err)
	}
	return d, nil
}

// Path returns the folder's absolute name without links.
func (d *Dir) Path() string { return d.at.path() }

// Rel returns the folder's name below the workspace's folder or the allowed one
// that it is in, with slashes: "." for that folder itself.
func (d *Dir) Rel() string { return d.at.rel }

// OpenDir opens a folder below d by its name relative to it, with slashes. It
// leads through no link. The errors bear no path.
func (d *Dir) OpenDir(rel string) (*Dir, error) {
	p := place{d.at.root, rel}
	if !d.at.isRoot() {
		p.rel = d.at.rel + "/" + rel
	}
	if err := d.w.denied(place{p.root, rel}, wanted{abs: rel}); err != nil {
		return nil, err
	}
	var h dir
	var err error
	if strings.Contains(rel, "/") {
		h, err = p.root.tree.reader(p.rel)
	} else {
		h, err = d.d.enter(rel)
	}
	if err != nil {
		return nil, err
	}
	return &Dir{d.w, p, h}, nil
}

// Read fills b with names that were not read before, in no order, without those
// that are denied. more tells whether there may be others.
func (d *Dir) Read(b *Block) (more bool, err error) {
	b.Names = b.Names[:0]
	return d.d.read(b)
}

// Open opens the regular file of that name in the folder. It follows no link and
// waits for nothing; what is no regular file is a [*NotRegularError], EISDIR or
// ELOOP. The caller closes it. The errors bear no path.
func (d *Dir) Open(name []byte) (File, error) {
	if err := d.mayOpen(name); err != nil {
		return File{}, err
	}
	f, size, err := d.d.open(name)
	if err != nil {
		return File{}, err
	}
	return File{f, size}, nil
}

// Stat describes what has that name in the folder, a link itself. The errors bear no
// path.
func (d *Dir) Stat(name []byte) (Info, error) {
	if err := d.mayOpen(name); err != nil {
		return Info{}, err
	}
	return d.d.stat(name)
}

// mayOpen fails for what is not one name, or a denied one. Those begin with a dot.
func (d *Dir) mayOpen(name []byte) error {
	switch {
	case len(name) == 0 || bytes.ContainsAny(name, "/\x00") || os.PathSeparator != '/' && bytes.IndexByte(name, os.PathSeparator) >= 0:
		return syscall.EINVAL
	case name[0] != '.':
		return nil
	case string(name) == "." || string(name) == "..":
		return syscall.EISDIR
	}
	return d.w.deniedName(string(name), wanted{abs: string(name)})
}

// Close closes the folder. Folders and files that were opened through it stay.
func (d *Dir) Close() error { return d.d.close() }

// add puts a name into the block unless it is denied.
func (b *Block) add(name []byte, kind fs.FileMode) {
	if name[0] == '.' && Hidden(strings.TrimRight(string(name), ". ")) {
		return
	}
	b.Names = append(b.Names, Name{name, kind})
}

// A File is an open regular file.
type File struct {
	f    file
	size int64
}

// file is what a File reads from.
type file interface {
	Read(p []byte) (int, error)
	ReadAt(p []byte, off int64) (int, error)
	Fd() uintptr
	Close() error
}

// Size returns how many bytes the file had when it was opened. Files of the
// system that are made when they are read say 0.
func (f File) Size() int64 { return f.size }

// Read reads what one system call returns; the end is [io.EOF].
func (f File) Read(p []byte) (int, error) { return f.f.Read(p) }

// ReadAt reads as [io.ReaderAt] does, from several goroutines if need be.
func (f File) ReadAt(p []byte, off int64) (int, error) { return f.f.ReadAt(p, off) }

// Fd returns the file's descriptor, which is good until Close.
func (f File) Fd() uintptr { return f.f.Fd() }

// Close closes the file.
func (f File) Close() error { return f.f.Close() }

// ReadAll reads the file whole. One of more than limit bytes fails with EFBIG.
func (f File) ReadAll(limit int64) ([]byte, error) {
	if f.size > limit {
		return nil, syscall.EFBIG
	}
	return readSized(f.size, limit, f.Read)
}

// rootDir is a dir of a rootTree.
type rootDir struct {
	folder *rootFolder
	list   *os.File
}

func (t rootTree) reader(rel string) (dir, error) {
	f, err := t.folder(rel)
	if err != nil {
		return nil, err
	}
	return newRootDir(f.(*rootFolder))
}

func newRootDir(folder *rootFolder) (dir, error) {
	list, err := folder.root.Open(".")
	if err != nil {
		folder.close()
		return nil, rootCause(err)
	}
	return &rootDir{folder, list}, nil
}

// blockNames is how many names a block has at the most where the system gives no
// blocks of its own.
const blockNames = 1024

func (d *rootDir) read(b *Block) (more bool, err error) {
	entries, err := d.list.ReadDir(blockNames)
	for _, e := range entries {
		b.add([]byte(e.Name()), e.Type())
	}
	if len(entries) > 0 {
		return len(entries) == blockNames, nil
	}
	if err == io.EOF {
		return false, nil
	}
	return false, rootCause(err)
}

func (d *rootDir) enter(name string) (dir, error) {
	f, err := d.folder.folder(name)
	if err != nil {
		return nil, err
	}
	return newRootDir(f.(*rootFolder))
}

func (d *rootDir) open(name []byte) (file, int64, error) {
	f, info, err := regularFile(d.folder.openFile(string(name), os.O_RDONLY, 0))
	if err != nil {
		return nil, 0, err
	}
	return f, info.Size, nil
}

func (d *rootDir) stat(name []byte) (Info, error) { return d.folder.lstat(string(name)) }

func (d *rootDir) close() error {
	d.list.Close()
	return d.folder.close()
}
