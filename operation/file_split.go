package operation

import (
	"bytes"
	"context"
)

// split returns the lines of a whole file that were asked for.
func split(abs string, data []byte, a ReadFile) FileRead {
	n := bytes.Count(data, []byte("\n")) + 1
	r := FileRead{Path: abs, Size: int64(len(data)), Lines: n}
	from, to := within(a.From, n), within(a.To, n)
	if !a.Lines {
		from, to = 0, n
	}
	if from >= to {
		return r
	}
	end, _ := passLines(data, from)
	data = data[end:]
	end, _ = passLines(data, to-from)
	r.Content = data[:end]
	if to < n {
		r.Content = r.Content[:end-1]
	}
	return r
}

// within reads a position among n lines: a negative one counts from the end.
func within(at, n int) int {
	if at < 0 {
		at += n
	}
	return max(0, min(at, n))
}

// passLines returns the offset behind the first n lines of data, and how many more
// there should have been; a line that has no LF is passed but not counted.
func passLines(data []byte, n int) (end, left int) {
	for ; n > 0; n-- {
		i := bytes.IndexByte(data[end:], '\n')
		if i < 0 {
			return len(data), n
		}
		end += i + 1
	}
	return end, 0
}

// readFar reads some lines of a file that is too large to be read whole.
func (x *Executor) readFar(ctx context.Context, abs string, a ReadFile) (Result, error) {
	f, info, err := x.ws.Open(abs)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := FileRead{Path: abs}
	skip, want := a.From, max(0, a.To-a.From)
	for at, buf := int64(0), make([]byte, block); at < info.Size && want > 0; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n, err := f.ReadAt(buf, at)
		if n == 0 {
			return nil, err
		}
		part := buf[:n]
		at += int64(len(part))
		var end int
		end, skip = passLines(part, skip)
		if skip > 0 {
			continue
		}
		part = part[end:]
		end, want = passLines(part, want)
		r.Content = append(r.Content, part[:end]...)
		if int64(len(r.Content)) > x.cfg.MaxRead {
			return nil, &TooLargeError{abs, info.Size, x.cfg.MaxRead}
		}
	}
	if want == 0 {
		r.Content = bytes.TrimSuffix(r.Content, []byte("\n"))
	}
	return r, nil
}
