package workspace

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"syscall"

	"textskill/skill/internal/refusal"
	"textskill/skill/internal/workspace/tree"
)

// A Dir is an open folder that is read in blocks. For a walk over many folders it is
// faster than [Workspace.ReadDir]. One goroutine at a time may call Read; others may call
// the other methods meanwhile.
type Dir struct {
	w        *Workspace
	location location
	d        tree.Dir
}

// OpenDir opens the folder abs. Errors are *fs.PathError with Op "scandir", or the
// workspace's own.
func (w *Workspace) OpenDir(abs string) (d *Dir, err error) {
	err = w.withLocation(request{abs, true, toRead}, func(p location) error {
		h, err := p.root.tree.OpenDir(p.rel)
		d = &Dir{w, p, h}
		return err
	})
	if err != nil {
		return nil, wrap("scandir", abs, err)
	}
	return d, nil
}

// Path returns the folder's absolute path, free of symbolic links.
func (d *Dir) Path() string { return d.location.path() }

// Rel returns the folder's path relative to its root, with slashes; "." is the root
// itself.
func (d *Dir) Rel() string { return d.location.rel }

// OpenDir opens a folder below d. rel is relative to d, with slashes and without symbolic
// links. Errors have no path.
func (d *Dir) OpenDir(rel string) (*Dir, error) {
	p := location{d.location.root, rel}
	if !d.location.isRoot() {
		p.rel = d.location.rel + "/" + rel
	}
	if err := d.w.denied(location{p.root, rel}, request{abs: rel}); err != nil {
		return nil, err
	}
	if d.w.isRecords(p, toRead) {
		return nil, refusal.Denied(rel, ownRecords)
	}
	var h tree.Dir
	var err error
	if strings.Contains(rel, "/") {
		h, err = p.root.tree.OpenDir(p.rel)
	} else {
		h, err = d.d.OpenDir(rel)
	}
	if err != nil {
		return nil, err
	}
	return &Dir{d.w, p, h}, nil
}

// Read fills b with the next names, in no particular order, without [Hidden] names. more
// reports whether further names may follow.
func (d *Dir) Read(b *Block) (more bool, err error) {
	b.Names = b.Names[:0]
	more, err = d.d.Read(b)
	b.Names = slices.DeleteFunc(b.Names, func(n Name) bool {
		return n.Bytes[0] == '.' && Hidden(strings.TrimRight(string(n.Bytes), ". "))
	})
	return more, err
}

// Open opens a regular file in the folder. Another kind of file is a
// [*NotRegularError], EISDIR or ELOOP. The caller closes it. Errors have no path.
func (d *Dir) Open(name []byte) (File, error) {
	if err := d.mayOpen(name); err != nil {
		return File{}, err
	}
	return d.d.Open(name)
}

// Head fills buf with the beginning of a regular file in the folder. If buf is full, rest
// is the file, which the caller closes. Else buf holds the whole file of n bytes, and
// rest is nil. Head fails like Open.
func (d *Dir) Head(name, buf []byte) (n int, rest *File, err error) {
	if err := d.mayOpen(name); err != nil {
		return 0, nil, err
	}
	return d.d.Head(name, buf)
}

// Stat describes a file in the folder. It does not follow a link. Errors have no path.
func (d *Dir) Stat(name []byte) (Info, error) {
	if err := d.mayOpen(name); err != nil {
		return Info{}, err
	}
	return d.d.Stat(name)
}

// mayOpen fails for a name that is not a single part of a path, or that is denied. It
// checks only names that begin with a dot, because all denied names do.
func (d *Dir) mayOpen(name []byte) error {
	switch {
	case len(name) == 0 || bytes.ContainsAny(name, "/\x00") || os.PathSeparator != '/' &&
		bytes.IndexByte(name, os.PathSeparator) >= 0:
		return syscall.EINVAL
	case name[0] != '.':
		return nil
	case string(name) == "." || string(name) == "..":
		return syscall.EISDIR
	}
	return d.w.deniedName("", string(name), request{abs: string(name)})
}

// Close closes the folder. Folders and files that were opened through it stay open.
func (d *Dir) Close() error { return d.d.Close() }
