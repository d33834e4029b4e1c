package skill

import (
	"bytes"
	"context"
)

// split returns the requested lines of a file whose whole content is data.
func split(abs string, data []byte, a ReadFile) FileRead {
	n := bytes.Count(data, []byte("\n")) + 1
	r := FileRead{Path: abs, Size: int64(len(data)), Lines: n}
	from, to := lineIndex(a.From, n), lineIndex(a.To, n)
	if !a.Lines {
		from, to = 0, n
	}
	r.To = max(from, to)
	if from >= to {
		return r
	}
	end, _ := skipLines(data, from)
	data = data[end:]
	end, _ = skipLines(data, to-from)
	r.Content = data[:end]
	if to < n {
		r.Content = r.Content[:end-1]
	}
	return r
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

// readLargeSplit reads lines of a file that is larger than Config.MaxRead.
func (x *Executor) readLargeSplit(ctx context.Context, abs string, a ReadFile) (Result, error) {
	f, info, err := x.ws.Open(abs)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := FileRead{Path: abs}
	skip, want := a.From, max(0, a.To-a.From)
	buf := make([]byte, block)
	for at := int64(0); at < info.Size && (want > 0 || a.Count); {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n, err := f.ReadAt(buf, at)
		if n == 0 {
			return nil, err
		}
		part := buf[:n]
		at += int64(n)
		r.Lines += bytes.Count(part, []byte("\n"))
		end, left := skipLines(part, skip)
		if skip = left; skip > 0 || want == 0 {
			continue
		}
		part = part[end:]
		end, want = skipLines(part, want)
		r.Content = append(r.Content, part[:end]...)
		if int64(len(r.Content)) > x.cfg.MaxRead {
			if err := x.truncate(&r, a.AllowPartial, info.Size); err != nil {
				return nil, err
			}
			want = 0
		}
	}
	r.To = a.From + bytes.Count(r.Content, []byte("\n"))
	switch {
	case r.Partial || want == 0:
		r.Content = bytes.TrimSuffix(r.Content, []byte("\n"))
	case skip == 0:
		r.To++ // the line after the last LF
	default:
		r.To = a.From - skip + 1
	}
	if r.Lines++; !a.Count {
		r.Lines = 0
	}
	return r, nil
}

// truncate drops the last lines of r if it exceeds Config.MaxRead, or fails unless partial is set.
func (x *Executor) truncate(r *FileRead, partial bool, size int64) error {
	end := bytes.LastIndexByte(r.Content[:x.cfg.MaxRead], '\n')
	if !partial || end < 0 {
		return &TooLargeError{r.Path, size, x.cfg.MaxRead}
	}
	r.Content, r.Partial = r.Content[:end+1], true
	return nil
}
