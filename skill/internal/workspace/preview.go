package workspace

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"textskill/skill/internal/workspace/tree"
)

// writeDiff returns the diff of writing data to the file name of d. old describes that file; nil
// means that the file does not exist.
func writeDiff(abs string, d tree.Folder, name string, old *Info, data []byte) (string, error) {
	after := append([]byte{}, data...) // not nil: nil means no file
	if old == nil {
		return Unified(abs, abs, nil, after), nil
	}
	before, err := readBounded(d, name, old.Size)
	if err != nil {
		return "", err
	}
	if before == nil {
		return header(abs, abs) + largeSummary(old.Size, int64(len(data))), nil
	}
	return Unified(abs, abs, before, after), nil
}

// readBounded returns the content of a file of d, nil if it is larger than maxDiff.
func readBounded(d tree.Folder, name string, size int64) ([]byte, error) {
	if size > maxDiff {
		return nil, nil
	}
	return readStart(d, name)
}

// readStart returns at most the first maxDiff+1 bytes of a file of d. Without an error the result is
// not nil.
func readStart(d tree.Folder, name string) ([]byte, error) {
	f, err := d.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxDiff+1))
	return data, tree.Cause(err)
}

// spliceDiff returns the diff of a splice. It reads only the lines around the splice, not the whole
// file.
func spliceDiff(name string, src io.ReaderAt, size int64, s Splice) (string, error) {
	const window = 16 << 10
	from, to := max(0, s.Offset-window), min(size, s.Offset+s.Old+window)
	if to-from > maxDiff || len(s.New) > maxDiff {
		return header(name, name) + largeSummary(size, size-s.Old+int64(len(s.New))), nil
	}
	before := make([]byte, to-from)
	if n, err := src.ReadAt(before, from); n < len(before) {
		return "", err
	}
	at := int(s.Offset - from)
	if bytes.Equal(before[at:at+int(s.Old)], s.New) {
		return "", nil
	}
	first, last, cut := 0, len(before), false // the whole lines in the window
	if from > 0 {
		first = bytes.IndexByte(before[:at], '\n') + 1
		cut = first == 0
	}
	if to < size {
		last = bytes.LastIndexByte(before, '\n') + 1
		cut = cut || last <= at+int(s.Old)
	}
	if cut {
		return header(name, name) + fmt.Sprintf("Long line: %d bytes at %d become %d\n", s.Old, s.Offset,
			len(s.New)), nil
	}
	if isBinary(before) || isBinary(s.New) {
		return header(name, name) + fmt.Sprintf("Binary file: %d bytes at %d become %d\n", s.Old, s.Offset,
			len(s.New)), nil
	}
	passed, err := countLines(io.NewSectionReader(src, 0, from+int64(first)))
	if err != nil {
		return "", err
	}
	after := append(append(append([]byte{}, before[first:at]...), s.New...), before[at+int(s.Old):last]...)
	return unifiedAt(name, name, before[first:last], after, passed), nil
}

func countLines(r io.Reader) (n int, err error) {
	buf := make([]byte, 256<<10)
	for {
		m, err := r.Read(buf)
		n += bytes.Count(buf[:m], []byte{'\n'})
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}
