//go:build linux || darwin

package tree

import (
	"io/fs"
	"syscall"
)

// InfoOf converts the description of a file from package os.
func InfoOf(fi fs.FileInfo) Info {
	st := fi.Sys().(*syscall.Stat_t)
	accessed, changed := times(st)
	return Info{
		Mode: fi.Mode(), Size: fi.Size(), ModTime: fi.ModTime(), Accessed: accessed, Changed: changed,
		Links: uint64(st.Nlink), UID: st.Uid, GID: st.Gid,
		ID: FileID{uint64(st.Dev), uint64(st.Ino)},
	}
}

// IDAt returns the ID of the file at abs. It does not follow a link.
func IDAt(abs string) (FileID, error) {
	var st syscall.Stat_t
	if err := syscall.Lstat(abs, &st); err != nil {
		return FileID{}, err
	}
	return FileID{uint64(st.Dev), uint64(st.Ino)}, nil
}
