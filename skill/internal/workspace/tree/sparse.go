package tree

import (
	"io"
	"os"
)

// CopyContent copies the first size bytes of src to the empty file dst, fewer if src was truncated.
// It keeps the holes of a sparse file. A size of 0 means everything, because files of /proc have that
// size.
func CopyContent(dst, src *os.File, size int64) error {
	if size == 0 {
		_, err := io.Copy(dst, src)
		return err
	}
	err := CopyRange(dst, 0, src, 0, size)
	if err == io.EOF {
		return nil
	}
	return err
}

// CopyRange copies the bytes [from, to) of src to the end of dst, which has at bytes. It keeps the
// holes of a sparse file. The error is io.EOF if src is shorter.
func CopyRange(dst *os.File, at int64, src *os.File, from, to int64) error {
	for done := from; done < to; {
		data, end := DataRange(src, done, to)
		if data == to { // the rest is a hole
			return dst.Truncate(at + to - from)
		}
		if _, err := src.Seek(data, io.SeekStart); err != nil {
			return err
		}
		if _, err := dst.Seek(at+data-from, io.SeekStart); err != nil {
			return err
		}
		if _, err := io.CopyN(dst, src, end-data); err != nil {
			return err
		}
		done = end
	}
	return nil
}
