package workspace

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"slices"

	"textskill/skill/internal/workspace/tree"
)

// maxDigested is how many bytes of a file are read to tell its content from others.
const maxDigested = 16 << 20

// sampleSize is the size in bytes of each part that is read of a larger file.
const sampleSize = 64 << 10

// fileDigest returns a digest of a content: of all of it, or of a large file of 257 parts,
// among them the beginning and the end. A change needs two digests, and SHA-256 takes
// 0.6 s for 1 GB, about as long as the change.
func fileDigest(f io.ReaderAt, size int64) (string, error) {
	h := sha256.New()
	buf := make([]byte, min(max(size, 1), sampleSize))
	if size <= maxDigested {
		if err := hashRange(h, f, 0, size, buf); err != nil {
			return "", err
		}
		return hex.EncodeToString(h.Sum(nil)[:16]), nil
	}
	const parts = maxDigested / sampleSize
	for i := range int64(parts) {
		if err := hashRange(h, f, (size-sampleSize)/(parts-1)*i, sampleSize, buf); err != nil {
			return "", err
		}
	}
	if err := hashRange(h, f, size-sampleSize, sampleSize, buf); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s/%d", hex.EncodeToString(h.Sum(nil)[:16]), size), nil
}

func hashRange(h hash.Hash, f io.ReaderAt, from, n int64, buf []byte) error {
	for end := from + n; from < end; {
		m, err := f.ReadAt(buf[:min(int64(len(buf)), end-from)], from)
		h.Write(buf[:m])
		from += int64(m)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// digest is fileDigest of data.
func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}

// stateOf returns the state of an open file.
func stateOf(f *os.File) (fileState, error) {
	info, err := tree.StatRegular(f)
	if err != nil {
		return fileState{}, err
	}
	print, err := fileDigest(f, info.Size)
	return fileState{Type: "file", Digest: print, Mode: uint32(info.Mode.Perm()), Size: info.Size, Time: info.ModTime.UnixNano()}, tree.Cause(err)
}

// stateAt returns the state of what is at name in d; the zero state if nothing is.
func stateAt(d tree.Folder, name string) (fileState, error) {
	info, err := d.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return fileState{}, nil
	}
	if err != nil {
		return fileState{}, err
	}
	mode := uint32(info.Mode.Perm())
	switch {
	case info.Mode.IsRegular():
		f, err := d.OpenFile(name, os.O_RDONLY, 0)
		if errors.Is(err, fs.ErrPermission) { // it may not be read, but it can be moved away
			return fileState{Type: "file", Digest: statDigest(info), Mode: mode, Size: info.Size, Time: info.ModTime.UnixNano()}, nil
		}
		if err != nil {
			return fileState{}, err
		}
		defer f.Close()
		return stateOf(f)
	case info.IsLink():
		target, err := d.Readlink(name)
		return fileState{Type: "link", Digest: target}, err
	case info.IsDir():
		print, size, err := treeDigest(d, name)
		return fileState{Type: "folder", Digest: print, Mode: mode, Size: size}, err
	}
	return fileState{Type: "other", Digest: statDigest(info), Mode: mode}, nil
}

// statDigest is a digest of a file that may not be read.
func statDigest(info Info) string {
	return fmt.Sprintf("%o %d %d", info.Mode, info.Size, info.ModTime.UnixNano())
}

// emptyTreeDigest is the treeDigest of an empty folder.
var emptyTreeDigest = digest(nil)

// treeDigest returns a digest of the names, types, sizes, permissions and times of
// everything in a folder, and the size of its files in bytes.
func treeDigest(d tree.Folder, name string) (print string, size int64, err error) {
	h := sha256.New()
	err = hashTree(h, d, name, &size)
	return hex.EncodeToString(h.Sum(nil)[:16]), size, err
}

func hashTree(h hash.Hash, d tree.Folder, name string, size *int64) error {
	sub, err := d.OpenFolder(name)
	if errors.Is(err, fs.ErrPermission) {
		fmt.Fprintf(h, "shut\x00")
		return nil
	}
	if err != nil {
		return err
	}
	defer sub.Close()
	entries, err := sub.Entries()
	if errors.Is(err, fs.ErrPermission) {
		fmt.Fprintf(h, "shut\x00")
		return nil
	}
	if err != nil {
		return err
	}
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	for _, e := range entries {
		info, err := sub.Lstat(e.Name)
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%s\x00%o\x00", e.Name, info.Mode)
		switch {
		case info.IsDir():
			err = hashTree(h, sub, e.Name, size)
			fmt.Fprintf(h, "/\x00")
		case info.IsLink():
			var target string
			target, err = sub.Readlink(e.Name)
			fmt.Fprintf(h, "%s\x00", target)
		default:
			*size += info.Size
			fmt.Fprintf(h, "%d\x00%d\x00", info.Size, info.ModTime.UnixNano())
		}
		if err != nil {
			return err
		}
	}
	return nil
}
