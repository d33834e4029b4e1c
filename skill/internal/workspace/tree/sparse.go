package tree

import (
	"io"
	"os"
)

// CopyContent copies the first size bytes of src to the empty file dst, fewer if src has
// been truncated. The holes of a sparse file stay holes. A size of 0 means all: files
// of /proc give none.
func CopyContent(dst, src *os.File, size int64) error {
	if size == 0 {
		_, err := io.Copy(dst, src)
		return err
	}
	for at := int64(0); at < size; {
		from, to := DataRange(src, at, size)
		if from == size {
			break
		}
		if _, err := src.Seek(from, io.SeekStart); err != nil {
			return err
		}
		if _, err := dst.Seek(from, io.SeekStart); err != nil {
			return err
		}
		if _, err := io.CopyN(dst, src, to-from); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		at = to
	}
	return dst.Truncate(size)
}
