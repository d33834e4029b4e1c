package workspace

import (
	"io/fs"
	"os"
)

// tree is access below one folder, by names relative to it. A name with a
// symbolic link in it, the last part included, fails with ELOOP.
type tree interface {
	open(rel string, flag int) (*os.File, error)
	readFile(rel string, limit int64) ([]byte, error) // EFBIG for more bytes than the limit
	stat(rel string) (Info, error)                    // of a link itself, where the last part is one
	folder(rel string) (folder, error)
	reader(rel string) (dir, error)
	close() error
}

// folder is one open directory; names are single parts and never followed.
type folder interface {
	id() FileID
	descriptor() (fd int, ok bool) // for locks, until it closes; not ok where the folder could not be read
	entries() ([]Entry, error)     // all of them, in no order
	folder(name string) (folder, error)
	lstat(name string) (Info, error)
	readlink(name string) (string, error)
	openFile(name string, flag int, perm fs.FileMode) (*os.File, error)
	unnamed(perm fs.FileMode) (*os.File, error)                        // a file without a name, where there is such a thing
	link(f *os.File, name string) error                                // gives an unnamed file its name; EEXIST if taken
	again(name string, to folder, newName string) error                // gives a file another name; never through a link
	copyFile(name string, to folder, newName string, times bool) error // makes a new file of the same permissions
	mkdir(name string, perm fs.FileMode) error
	symlink(target, name string) error
	remove(name string, dir bool) error
	rename(name string, to folder, newName string, replace bool) error
	exchange(name string, to folder, newName string) error // swaps two names; errors.ErrUnsupported where the system cannot
	writable(name string) error                            // EACCES where name, or the folder itself for ".", may not be changed
	chtimes(name string, info Info) error
	chmod(name string, perm fs.FileMode) error // of a file or folder, also one that may not be read; ELOOP for a link
	close() error
}
