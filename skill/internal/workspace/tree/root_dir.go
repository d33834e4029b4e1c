package tree

import (
	"io"
	"os"
)

// A rootDir is a Dir of a rootTree.
type rootDir struct {
	folder *rootFolder
	list   *os.File
}

func (t rootTree) OpenDir(rel string) (Dir, error) {
	f, err := t.OpenFolder(rel)
	if err != nil {
		return nil, err
	}
	return newRootDir(f.(*rootFolder))
}

func newRootDir(folder *rootFolder) (Dir, error) {
	list, err := folder.root.Open(".")
	if err != nil {
		folder.Close()
		return nil, rootCause(err)
	}
	return &rootDir{folder, list}, nil
}

// blockNames is the largest number of names in a block.
const blockNames = 1024

func (d *rootDir) Read(b *Block) (more bool, err error) {
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

func (d *rootDir) OpenDir(name string) (Dir, error) {
	f, err := d.folder.OpenFolder(name)
	if err != nil {
		return nil, err
	}
	return newRootDir(f.(*rootFolder))
}

func (d *rootDir) Open(name []byte) (File, error) {
	f, _, err := d.folder.OpenContent(string(name))
	return f, err
}

func (d *rootDir) Head(name, buf []byte) (int, *File, error) { return headOf(d, name, buf) }

func (d *rootDir) Stat(name []byte) (Info, error) { return d.folder.Lstat(string(name)) }

func (d *rootDir) Close() error {
	d.list.Close()
	return d.folder.Close()
}
