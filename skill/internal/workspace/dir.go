package workspace

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"syscall"

	"textskill/skill/internal/workspace/tree"
)

// A Dir is an open folder that is read in blocks: what walks over many folders
// use instead of [Workspace.ReadDir]. One goroutine at a time may call Read; the
// other methods are safe beside it. Close releases it.
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

// Path returns the folder's absolute name without links.
func (d *Dir) Path() string { return d.location.path() }

// Rel returns the folder's name below the workspace's folder or the allowed one
// that it is in, with slashes: "." for that folder itself.
func (d *Dir) Rel() string { return d.location.rel }

// OpenDir opens a folder below d by its name relative to it, with slashes. It
// leads through no link. The errors bear no path.
func (d *Dir) OpenDir(rel string) (*Dir, error) {
	p := location{d.location.root, rel}
	if !d.location.isRoot() {
		p.rel = d.location.rel + "/" + rel
	}
	if err := d.w.denied(location{p.root, rel}, request{abs: rel}); err != nil {
		return nil, err
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

// Read fills b with names that were not read before, in no order, without those
// that are denied. more tells whether there may be others.
func (d *Dir) Read(b *Block) (more bool, err error) {
	b.Names = b.Names[:0]
	more, err = d.d.Read(b)
	b.Names = slices.DeleteFunc(b.Names, func(n Name) bool {
		return n.Bytes[0] == '.' && Hidden(strings.TrimRight(string(n.Bytes), ". "))
	})
	return more, err
}

// Open opens the regular file of that name in the folder. It follows no link and
// waits for nothing; what is no regular file is a [*NotRegularError], EISDIR or
// ELOOP. The caller closes it. The errors bear no path.
func (d *Dir) Open(name []byte) (File, error) {
	if err := d.mayOpen(name); err != nil {
		return File{}, err
	}
	return d.d.Open(name)
}

// Stat describes what has that name in the folder, a link itself. The errors bear no
// path.
func (d *Dir) Stat(name []byte) (Info, error) {
	if err := d.mayOpen(name); err != nil {
		return Info{}, err
	}
	return d.d.Stat(name)
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
	return d.w.deniedName(string(name), request{abs: string(name)})
}

// Close closes the folder. Folders and files that were opened through it stay.
func (d *Dir) Close() error { return d.d.Close() }
