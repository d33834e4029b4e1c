// Package tree opens a folder for confined access: no name that is opened, read or
// changed through it leads out of the folder, whatever links other programs put
// there meanwhile.
//
// On Linux a name is opened in one system call, openat2, which refuses ".." and
// every symbolic link. Where the kernel has no openat2, and on other systems, the
// name is walked part by part through [os.Root]. Both report a symbolic link as
// ELOOP; following it, or not, is for the caller to decide.
//
// Errors are the system's, without a path: the caller knows the path under
// which its own caller asked.
package tree

import (
	"io/fs"
	"os"
)

// A Tree is a folder opened for confined access by names relative to it, with
// slashes; "." is the folder itself. A name with a symbolic link in it, the last
// part included, fails with ELOOP. It is safe for concurrent use. Open opens one.
type Tree interface {
	// Open opens a file without waiting for the other end of a pipe. flag is as in
	// [os.OpenFile]; it creates nothing.
	Open(rel string, flag int) (*os.File, error)

	// ReadFile reads a regular file whole. More than limit bytes are EFBIG.
	ReadFile(rel string, limit int64) ([]byte, error)

	// Stat describes a file; a link in the last part itself, without ELOOP.
	Stat(rel string) (Info, error)

	// OpenFolder opens a folder to change what is in it.
	OpenFolder(rel string) (Folder, error)

	// OpenDir opens a folder to read it in blocks.
	OpenDir(rel string) (Dir, error)

	// Close releases the tree. Folders and files opened through it stay open.
	Close() error
}

// A Folder is an open folder in which files are looked at and changed. Names are
// single parts, and no link is followed. It is for one goroutine at a time.
type Folder interface {
	// ID identifies the folder, also after it was renamed.
	ID() FileID

	// FD returns the folder's descriptor, for locks; it is good until Close. It is
	// not ok where the folder may not be read.
	FD() (fd int, ok bool)

	// Entries returns all names in the folder, in no order.
	Entries() ([]Entry, error)

	// OpenFolder opens a folder in this one.
	OpenFolder(name string) (Folder, error)

	// Lstat describes a file, or a link itself.
	Lstat(name string) (Info, error)

	// Readlink returns the target of a symbolic link.
	Readlink(name string) (string, error)

	// OpenFile opens a file as [os.OpenFile] does. It waits for nothing, and
	// creates only with O_EXCL.
	OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error)

	// OpenContent opens a regular file to read it. The error is that of [CheckRegular] if the
	// file is not regular. The caller closes the File.
	OpenContent(name string) (File, Info, error)

	// CreateUnnamed creates a file that has no name yet, so that one which is never
	// finished needs no cleaning up. It is [errors.ErrUnsupported] where the file
	// system or the system has no such files.
	CreateUnnamed(perm fs.FileMode) (*os.File, error)

	// LinkUnnamed gives a file of CreateUnnamed its name: EEXIST if it is taken.
	LinkUnnamed(f *os.File, name string) error

	// Link makes newName, in the folder to, another name of the same file, also of
	// a link itself.
	Link(name string, to Folder, newName string) error

	// CopyFile copies a regular file to a new one of the same permissions, and with
	// times also of the same times.
	CopyFile(name string, to Folder, newName string, times bool) error

	// Mkdir makes a folder.
	Mkdir(name string, perm fs.FileMode) error

	// Symlink makes a symbolic link.
	Symlink(target, name string) error

	// Remove removes a file, or with dir an empty folder.
	Remove(name string, dir bool) error

	// Rename moves a file or folder. Without replace a taken newName is EEXIST.
	Rename(name string, to Folder, newName string, replace bool) error

	// Exchange swaps two files in one step, so that neither name is ever missing.
	// It is [errors.ErrUnsupported] where the file system cannot.
	Exchange(name string, to Folder, newName string) error

	// CheckWritable fails with EACCES where the process may not change the file, or
	// for "." the folder.
	CheckWritable(name string) error

	// Chtimes sets the access and modification times of a file or folder to those
	// of info.
	Chtimes(name string, info Info) error

	// Chmod sets the permissions of a file or folder, also of one that may not be
	// read. A link is ELOOP.
	Chmod(name string, perm fs.FileMode) error

	// Close releases the folder.
	Close() error
}

// Entry is one name in a folder.
type Entry struct {
	Name string
	Type fs.FileMode // the type bits only; of a link itself
}

// A Dir is an open folder that is read in blocks, for walks: it costs fewer system
// calls and allocations than a [Folder]. One goroutine at a time may call Read; the
// other methods are safe beside it.
type Dir interface {
	// OpenDir opens a folder in this one. A link is ELOOP or ENOTDIR.
	OpenDir(name string) (Dir, error)

	// Read adds names to b that were not read before, in no order. more reports
	// whether there may be others.
	Read(b *Block) (more bool, err error)

	// Open opens a regular file. A file that is not regular is a [*NotRegularError],
	// EISDIR or ELOOP.
	Open(name []byte) (File, error)

	// Head fills buf with the beginning of a regular file. If buf is full, rest is the
	// file, to be closed; else buf holds all n bytes of it, and rest is nil. It
	// fails as Open does.
	Head(name, buf []byte) (n int, rest *File, err error)

	// Stat describes a file, or a link itself.
	Stat(name []byte) (Info, error)

	// Close releases the folder. Folders and files opened through it stay open.
	Close() error
}

// A Block is some of the names in a folder. The zero Block is ready for Read, and
// may be used again with any folder.
type Block struct {
	Names []Name
	raw   []byte
	full  bool // the last folder had more names than raw had room for
}

// Name is one name in a folder. Its bytes are good until the block is read into
// again.
type Name struct {
	Bytes []byte
	Type  fs.FileMode // the type bits only; of a link itself
}

func (b *Block) add(name []byte, kind fs.FileMode) { b.Names = append(b.Names, Name{name, kind}) }
