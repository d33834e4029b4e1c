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
	Changed  time.Time // of the inode
	Links    uint64    // hard links; 1 where the system does not say
	UID, GID uint32
	ID       FileID // zero where the system does not say
}

// IsDir reports whether the file is a folder.
func (i Info) IsDir() bool { return i.Mode.IsDir() }

// IsLink reports whether the file is a symbolic link.
func (i Info) IsLink() bool { return i.Mode.Type() == fs.ModeSymlink }
