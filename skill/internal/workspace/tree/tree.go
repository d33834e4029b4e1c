// Package tree opens a folder for confined access: no name that it opens, reads or
// changes leads out of the folder, whatever links other programs put there meanwhile.
//
// On Linux it opens a name with the system call openat2, which refuses ".." and
// every symbolic link. On kernels without openat2 and on other systems it walks the
// name part by part through [os.Root]. Both report a symbolic link as ELOOP; the
// caller decides whether to follow the link.
//
// Errors are the system's, without a path. The caller adds the path that the user gave.
package tree

import (
	"io/fs"
	"os"
)

// A Tree is a folder opened for confined access. Names are relative to the folder, with
// slashes; "." is the folder itself. A name with a symbolic link in any part fails with
// ELOOP. A Tree is safe for concurrent use.
type Tree interface {
	// Open opens an existing file. It does not wait for the other end of a pipe. flag is
	// as in [os.OpenFile].
	Open(rel string, flag int) (*os.File, error)

	// ReadFile reads a whole regular file. More than limit bytes are EFBIG.
	ReadFile(rel string, limit int64) ([]byte, error)

	// Stat describes a file. A link in the last part is described itself.
	Stat(rel string) (Info, error)

	// OpenFolder opens a folder to change its entries.
	OpenFolder(rel string) (Folder, error)

	// OpenDir opens a folder to read it in blocks.
	OpenDir(rel string) (Dir, error)

	// Close releases the tree. Folders and files opened through it stay open.
	Close() error
}

// A Folder is an open folder whose files are read and changed. Names are single parts of
// a path. No method follows a link. Only one goroutine at a time may use a Folder.
type Folder interface {
	// ID identifies the folder. A rename does not change it.
	ID() FileID

	// FD returns the folder's descriptor, for locks. It is valid until Close. ok is
	// false if the folder may not be read.
	FD() (fd int, ok bool)

	// Entries returns all names in the folder, in no particular order.
	Entries() ([]Entry, error)

	// OpenFolder opens a folder in this one.
	OpenFolder(name string) (Folder, error)

	// Lstat describes a file. It does not follow a link.
	Lstat(name string) (Info, error)

	// Readlink returns the target of a symbolic link.
	Readlink(name string) (string, error)

	// OpenFile is [os.OpenFile], without waiting for the other end of a pipe. O_CREATE
	// needs O_EXCL.
	OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error)

	// OpenContent opens a regular file for reading. For another file it returns the
	// error of [CheckRegular]. The caller closes the File.
	OpenContent(name string) (File, Info, error)

	// CreateUnnamed creates a file without a name. A killed process then leaves no
	// file behind. It is [errors.ErrUnsupported] if the file system or the operating
	// system lacks such files.
	CreateUnnamed(perm fs.FileMode) (*os.File, error)

	// LinkUnnamed gives a file of CreateUnnamed its name. A taken name is EEXIST.
	LinkUnnamed(f *os.File, name string) error

	// Link makes newName in the folder to a hard link to the file. It does not follow
	// a symbolic link.
	Link(name string, to Folder, newName string) error

	// CopyFile copies a regular file with its permissions to a new file. With times it
	// also copies the times.
	CopyFile(name string, to Folder, newName string, times bool) error

	// Mkdir makes a folder.
	Mkdir(name string, perm fs.FileMode) error

	// Symlink makes a symbolic link.
	Symlink(target, name string) error

	// Remove removes a file; with dir, an empty folder.
	Remove(name string, dir bool) error

	// Rename moves a file or folder. Without replace a taken newName is EEXIST.
	Rename(name string, to Folder, newName string, replace bool) error

	// Exchange swaps two files atomically. It is [errors.ErrUnsupported] if the file
	// system cannot.
	Exchange(name string, to Folder, newName string) error

	// CheckWritable fails with EACCES if the process may not change the file. The name
	// "." is the folder.
	CheckWritable(name string) error

	// Chtimes sets the access and modification times of a file or folder from info.
	Chtimes(name string, info Info) error

	// Chmod sets the permissions of a file or folder, even if it may not be read, with
	// the set-user-ID, set-group-ID and sticky bits. A link is ELOOP.
	Chmod(name string, perm fs.FileMode) error

	// Close releases the folder.
	Close() error
}

// Entry is one name in a folder.
type Entry struct {
	Name string
	Type fs.FileMode // only the type bits; a link is not followed
}

// A Dir is an open folder that is read in blocks, for walks. It needs fewer system calls
// and allocations than a [Folder]. One goroutine at a time may call Read; others may call
// the other methods meanwhile.
type Dir interface {
	// OpenDir opens a folder in this one. A link is ELOOP or ENOTDIR.
	OpenDir(name string) (Dir, error)

	// Read adds the next names to b, in no particular order. more reports whether
	// further names may follow.
	Read(b *Block) (more bool, err error)

	// Open opens a regular file. A file that is not regular is a [*NotRegularError],
	// EISDIR or ELOOP.
	Open(name []byte) (File, error)

	// Head fills buf with the beginning of a regular file. If buf is full, rest is the
	// file, which the caller closes. Else buf holds the whole file of n bytes, and rest
	// is nil. Head fails like Open.
	Head(name, buf []byte) (n int, rest *File, err error)

	// Stat describes a file. It does not follow a link.
	Stat(name []byte) (Info, error)

	// Close releases the folder. Folders and files opened through it stay open.
	Close() error
}

// A Block holds some of the names in a folder. The zero Block is ready for Read, and may
// be used again for any folder.
type Block struct {
	Names []Name
	raw   []byte
	full  bool // the last folder had more names than fit into raw
}

// Name is one name in a folder. Its bytes are valid until the next Read into the block.
type Name struct {
	Bytes []byte
	Type  fs.FileMode // the type bits only; of a link itself
}

func (b *Block) add(name []byte, kind fs.FileMode) { b.Names = append(b.Names, Name{name, kind}) }
