package history

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"
	"unicode/utf8"

	"textskill/skill/internal/workspace/tree"
)

// Kinds of an [Entry].
const (
	File   = "file"
	Link   = "link"
	Dir    = "dir"
	Other  = "other" // a pipe, socket or device
	absent = ""      // the path does not exist
)

// An Entry is the state of a path. The zero Entry means that nothing exists there.
type Entry struct {
	Kind  string `json:"kind,omitempty"`
	Mode  uint32 `json:"mode,omitempty"` // permission bits, as the system numbers them
	Size  int64  `json:"size,omitempty"` // bytes
	MTime int64  `json:"mtime,omitempty"`
	Ino   uint64 `json:"ino,omitempty"`   // inode; 0 for a whole folder, if only its listing is known
	Owner string `json:"owner,omitempty"` // "uid:gid", if it differs from this process
	// hash of a file's content or of a whole folder's listing; "" if it was not computed
	Sum     string `json:"sum,omitempty"`
	Target  Name   `json:"target,omitempty"`  // of a link
	Blob    string `json:"blob,omitempty"`    // name of the blob, if it is not the sum
	Whole   bool   `json:"whole,omitempty"`   // the folder with everything in it
	Derived int64  `json:"derived,omitempty"` // the op whose splice made this content
	Depth   int    `json:"depth,omitempty"`   // number of splices between a blob and this content
	// name of the blob that holds the extended attributes of a folder, or noAttributes; "" if they were not read
	Attributes string `json:"attributes,omitempty"`
}

// A Name is a path relative to the root with slashes, or an absolute path outside the root. In
// JSON, a Name that is not UTF-8 is NUL and base64.
type Name string

// MarshalText implements [encoding.TextMarshaler].
func (n Name) MarshalText() ([]byte, error) {
	if utf8.ValidString(string(n)) {
		return []byte(n), nil
	}
	return base64.StdEncoding.AppendEncode([]byte{0}, []byte(n)), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (n *Name) UnmarshalText(text []byte) (err error) {
	if coded, ok := bytes.CutPrefix(text, []byte{0}); ok {
		text, err = base64.StdEncoding.AppendDecode(nil, coded)
	}
	*n = Name(text)
	return err
}

// maxSum limits the size of a file that is read to compute its hash, in bytes. A larger file is
// compared by its size and modification time.
const maxSum = 1 << 20

// sumLength is how many bytes of a SHA-256 are used.
const sumLength = 20

// SumOf returns the truncated SHA-256 of a content in hexadecimal digits.
func SumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:sumLength])
}

// sumOfReader is SumOf for the first size bytes of r.
func sumOfReader(r io.ReaderAt, size int64) (string, error) {
	const small = 8 << 10
	if size <= small {
		buf := make([]byte, size)
		n, err := r.ReadAt(buf, 0)
		if err == io.EOF {
			err = nil
		}
		return SumOf(buf[:n]), tree.Cause(err)
	}
	h := sha256.New()
	_, err := io.CopyBuffer(onlyWriter{h}, io.NewSectionReader(r, 0, size), make([]byte, min(size, 256<<10)))
	return hex.EncodeToString(h.Sum(nil)[:sumLength]), tree.Cause(err)
}

// An onlyWriter hides the other methods of a writer.
type onlyWriter struct{ io.Writer }

// kindOf returns the kind of a file with the given mode.
func kindOf(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return File
	case m.IsDir():
		return Dir
	case m.Type() == fs.ModeSymlink:
		return Link
	}
	return Other
}

// me returns the user and the group of this process. It asks the system once.
var me = sync.OnceValues(func() (user, group int) { return os.Geteuid(), os.Getegid() })

// EntryOf returns the Entry of a file without reading the file.
func EntryOf(i tree.Info) Entry {
	e := Entry{Kind: kindOf(i.Mode), Mode: bitsOf(i.Mode), Ino: i.ID.Ino}
	if u, g := me(); int(i.UID) != u || int(i.GID) != g {
		e.Owner = fmt.Sprintf("%d:%d", i.UID, i.GID)
	}
	switch e.Kind {
	case File:
		e.Size, e.MTime = i.Size, i.ModTime.UnixNano()
	case Link:
		e.Mode = 0
	}
	return e
}

// Holds returns e with the size and sum of data.
func (e Entry) Holds(data []byte) Entry {
	e.Size, e.Sum = int64(len(data)), SumOf(data)
	return e
}

// describes reports whether an Entry is of the file of i, unchanged. Its content is not compared.
func (e Entry) describes(i tree.Info) bool {
	return e.Kind == File && e.Ino == i.ID.Ino && e.Size == i.Size && e.MTime == i.ModTime.UnixNano()
}

// At returns the Entry of name in d. For a file of more than 1 MiB it finds the sum only if an
// Entry of want has a sum and the same size. A file that may not be read has no sum.
func At(d tree.Folder, name string, want ...Entry) (Entry, error) {
	info, err := d.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return Entry{}, nil
	}
	if err != nil {
		return Entry{}, err
	}
	e := EntryOf(info)
	switch e.Kind {
	case Link:
		target, err := d.Readlink(name)
		e.Target = Name(target)
		return e, err
	case Dir:
		for _, w := range want {
			e.Whole = e.Whole || w.Kind == Dir && w.Whole
			if w.Kind == Dir && w.Sum != "" && e.Sum == "" {
				e.Sum, e.Size, err = listing(d, name)
			}
		}
		return e, err
	case File:
		sameSize := func(w Entry) bool { return w.Sum != "" && w.Size == e.Size }
		if e.Size <= maxSum || slices.ContainsFunc(want, sameSize) {
			return contentAt(d, name, e)
		}
	}
	return e, nil
}

// contentAt returns the Entry of the file at name with its sum. If the file may not be read, it returns e.
func contentAt(d tree.Folder, name string, e Entry) (Entry, error) {
	f, info, err := d.OpenContent(name)
	if errors.Is(err, fs.ErrPermission) {
		return e, nil
	}
	if err != nil {
		return e, err
	}
	defer f.Close()
	e, err = Content(f, info)
	return e.WithAttributes(f), err
}

// WithAttributes returns e, the entry of the open file f with its sum, with a blob for the file's attributes too.
func (e Entry) WithAttributes(f interface{ Fd() uintptr }) Entry {
	if sum := tree.AttributesSum(f); sum != "" && e.Sum != "" {
		e.Blob = e.Sum + sum
	}
	return e
}

// Content returns the Entry of an open file, with the sum of its content. It reads the whole file.
func Content(f io.ReaderAt, info tree.Info) (e Entry, err error) {
	e = EntryOf(info)
	e.Sum, err = sumOfReader(f, e.Size)
	return e, err
}

// Same reports whether two entries have the same content; [sameMode] compares permissions.
func (e Entry) Same(o Entry) bool {
	switch {
	case e.Kind != o.Kind:
		return false
	case e.Kind == absent:
		return true
	case e.Kind == Link:
		return e.Target == o.Target
	case e.Kind == Dir && !(e.Whole && o.Whole):
		return true
	case e.Kind == Dir && e.Ino != 0 && e.Ino == o.Ino:
		return true
	case e.Sum != "" && o.Sum != "":
		return e.Sum == o.Sum
	case e.Kind == Other || e.Kind == Dir:
		return e.Ino == o.Ino
	}
	return e.Size == o.Size && e.MTime == o.MTime
}

// UsualMode means the default permissions of a new folder.
const UsualMode = 1 << 30

// sameMode reports whether two entries have the same permissions. Links have none.
func (e Entry) sameMode(o Entry) bool {
	return e.Mode == o.Mode || e.Kind == Link ||
		e.Kind == absent || e.Kind == Dir &&
		max(e.Mode, o.Mode) == UsualMode
}

// equal is Same with permissions.
func (e Entry) equal(o Entry) bool { return e.Same(o) && e.sameMode(o) }

// attributes returns a name for the entry's extended attributes, "" if they were not read or a file has none.
func (e Entry) attributes() string {
	if e.Kind == File && isSum(e.Blob) {
		return e.Blob[2*sumLength:]
	}
	return e.Attributes
}

// blob returns the name of the entry's blob, "" if it has none.
func (e Entry) blob() string {
	if e.Blob != "" {
		return e.Blob
	}
	if e.Kind == File {
		return e.Sum
	}
	return ""
}

// listing returns a hash of the names, modes and sizes of everything below a folder, and the total size
// of its files. It reads no file. The hash excludes times, because an undo below the folder changes them.
func listing(d tree.Folder, name string) (sum string, size int64, err error) {
	l := &lister{}
	err = l.folder(d, name)
	total := sha256.Sum256(l.text)
	return hex.EncodeToString(total[:sumLength]), l.size, err
}

type lister struct {
	text []byte
	size int64
}

func (l *lister) folder(d tree.Folder, name string) error {
	sub, err := d.OpenFolder(name)
	if errors.Is(err, fs.ErrPermission) {
		l.text = append(l.text, "closed\x00"...)
		return nil
	}
	if err != nil {
		return err
	}
	defer sub.Close()
	entries, err := sortedEntries(sub)
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := sub.Lstat(e.Name)
		if err != nil {
			return err
		}
		l.text = fmt.Appendf(l.text, "%s\x00%o\x00", e.Name, info.Mode)
		switch {
		case info.IsDir():
			if err := l.folder(sub, e.Name); err != nil {
				return err
			}
		case info.IsLink():
			target, err := sub.Readlink(e.Name)
			if err != nil {
				return err
			}
			l.text = append(append(l.text, target...), 0)
		default:
			l.size += info.Size
			l.text = fmt.Appendf(l.text, "%d\x00", info.Size)
		}
		l.text = append(l.text, '/')
	}
	return nil
}
