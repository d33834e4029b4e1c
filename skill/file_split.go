package skill

import (
	"bytes"
	"context"
	"io"
	"os"
	"slices"

	"textskill/skill/internal/workspace/tree"
)

// split leaves of r, which holds a whole file, the requested lines.
func split(r *FileRead, a ReadFile) {
	data := r.Content
	r.Lines = bytes.Count(data, []byte("\n")) + 1
	from, to := lineIndex(a.From, r.Lines), lineIndex(a.To, r.Lines)
	r.To, r.Content = max(from, to), nil
	if from >= to {
		return
	}
	end, _ := skipLines(data, from)
	data = data[end:]
	end, _ = skipLines(data, to-from)
	r.Content = data[:end]
	if to < r.Lines {
		r.Content = r.Content[:end-1]
	}
}

// lineIndex returns at limited to 0 through n; a negative at counts from the end.
func lineIndex(at, n int) int {
	if at < 0 {
		at += n
	}
	return max(0, min(at, n))
}

// skipLines returns the offset after the first n lines of data, and how many of the n are
// missing. A last line without LF is skipped but counts as missing.
func skipLines(data []byte, n int) (end, left int) {
	for ; n > 0; n-- {
		i := bytes.IndexByte(data[end:], '\n')
		if i < 0 {
			return len(data), n
		}
		end += i + 1
	}
	return end, 0
}

// readSplit reads lines of a file that does not fit in one answer, and counts the lines
// of the whole file. It needs memory for the answer only.
func readSplit(ctx context.Context, r *FileRead, src io.ReaderAt, size int64, a ReadFile) error {
	if a.From < 0 || a.To < 0 {
		lines, err := countLines(ctx, src, size)
		if err != nil {
			return err
		}
		a.From, a.To = lineIndex(a.From, lines), lineIndex(a.To, lines)
	}
	skip, want := a.From, max(0, a.To-a.From)
	err := eachBlock(ctx, src, size, func(part []byte) (zeros bool) {
		r.Lines += bytes.Count(part, []byte("\n"))
		end, left := skipLines(part, skip)
		if skip = left; skip > 0 || want == 0 {
			return false
		}
		part = part[end:]
		end, want = skipLines(part, want)
		if len(r.Content) > 0 && cap(r.Content) < len(r.Content)+end { // a long answer grows once
			r.Content = slices.Grow(r.Content, int(a.MaxBytes)+block-len(r.Content))
		}
		r.Content = append(r.Content, part[:end]...)
		if int64(len(r.Content)) > a.MaxBytes {
			r.Partial, want = true, 0
		}
		return want > 0
	})
	r.Lines++
	switch {
	case err != nil:
		return err
	case r.Partial && !a.AllowPartial:
		return &TooLargeError{r.Path, size, a.MaxBytes}
	case r.Partial:
		cut(r, a)
	case want == 0:
		r.Content = bytes.TrimSuffix(r.Content, []byte("\n"))
		r.To = max(a.From, min(a.To, r.Lines))
	default:
		r.To = r.Lines
	}
	return nil
}

// cut drops what does not fit from the end of r: the last lines or, if only one line is
// left, the rest of that.
func cut(r *FileRead, a ReadFile) {
	if end := bytes.LastIndexByte(r.Content[:a.MaxBytes+1], '\n'); end >= 0 {
		r.To = a.From + bytes.Count(r.Content[:end+1], []byte("\n"))
		r.Content = r.Content[:end]
		return
	}
	r.Content, r.To, r.LineCut = wholeRunes(r.Content[:a.MaxBytes]), a.From+1, true
}

func countLines(ctx context.Context, src io.ReaderAt, size int64) (int, error) {
	n := 1
	err := eachBlock(ctx, src, size, func(part []byte) (zeros bool) {
		n += bytes.Count(part, []byte("\n"))
		return false
	})
	return n, err
}

// eachBlock calls use for each block of a file, in order, and leaves out the holes of a
// sparse file, which hold no line end, unless use has asked for zeros.
func eachBlock(ctx context.Context, src io.ReaderAt, size int64, use func(part []byte) (zeros bool)) error {
	f, isFile := src.(*os.File)
	buf := make([]byte, block)
	for at := int64(0); at < size; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := src.ReadAt(buf[:min(block, size-at)], at)
		if n == 0 {
			if err == io.EOF {
				err = nil
			}
			return err
		}
		at += int64(n)
		if zeros := use(buf[:n]); !zeros && isFile && at < size {
			at, _ = tree.DataRange(f, at, size)
		}
	}
	return nil
}
