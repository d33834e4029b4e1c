package tree

import (
	"io/fs"
	"time"
)

// FileID identifies a file on this machine as long as the file exists.
type FileID struct{ Dev, Ino uint64 }

// Info describes a file.
type Info struct {
	Mode     fs.FileMode
	Size     int64 // bytes
	ModTime  time.Time
	Accessed time.Time
	Changed  time.Time // last change of the inode
	Links    uint64    // number of hard links; 1 if the system does not report it
	UID, GID uint32
	ID       FileID // zero if the system does not report it
}

// IsDir reports whether the file is a folder.
func (i Info) IsDir() bool { return i.Mode.IsDir() }

// IsLink reports whether the file is a symbolic link.
func (i Info) IsLink() bool { return i.Mode.Type() == fs.ModeSymlink }
