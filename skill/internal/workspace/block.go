package workspace

import (
	"io/fs"
)

// dir is the folder of a Dir, in one kind of tree.
type dir interface {
	enter(name string) (dir, error) // follows no link
	read(b *Block) (more bool, err error)
	open(name []byte) (File, error)
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

// Entry is one name in a folder.
type Entry struct {
	Name string
	Type fs.FileMode // the type bits only; of a link itself
}

func (b *Block) add(name []byte, kind fs.FileMode) { b.Names = append(b.Names, Name{name, kind}) }
