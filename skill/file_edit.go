package skill

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"textskill/skill/internal/workspace"
)

// EditFile replaces the first occurrence of Old in a file by New, literally. All other
// bytes stay as they are. Line ends need not match: an Old with LF matches CRLF, and New
// gets the line ends of the file. Only an Old that ends with CR must match exactly. A
// file in another encoding than UTF-8 keeps it. It returns a [Changed].
type EditFile struct {
	Path      string
	Old, New  string // Old must not be empty
	DryRun    bool   // describe the change only
	CheckMore bool   // report in Changed.More whether Old occurs again after the replaced text

	Edits []Replacement // made one after the other instead of Old and New: all of them, or none
	Diff  bool          // describe the change in Changed.Diff although it is made
}

// A Replacement is one edit of several. Without All, an Old that occurs more than once is a
// [*ManyMatchesError].
type Replacement struct {
	Old, New string // Old must not be empty
	All      bool   // replace each occurrence
}

// maxEdited is the size in bytes of a file up to which several edits are made in it at once.
const maxEdited = 64 << 20

func (EditFile) op() {}

func (x *Executor) editFile(ctx context.Context, s *Session, a EditFile) (Result, error) {
	abs, err := x.path(s, "path", a.Path)
	if err != nil {
		return nil, err
	}
	edits := a.Edits
	if edits == nil {
		edits = []Replacement{{Old: a.Old}}
	}
	for _, e := range edits {
		if e.Old == "" {
			return nil, &ArgError{Arg: "old text", Reason: "is empty; name the text to replace"}
		}
	}
	r := Changed{}
	var before, after []byte // the text, where the file is in another encoding than UTF-8
	c, err := x.ws.EditFile(ctx, abs, workspace.WriteOptions{DryRun: a.DryRun, Diff: a.Diff}, func(src io.ReaderAt, size int64) (workspace.Splice, error) {
		text, textSize, encoding, err := asText(src, size)
		if err != nil {
			return workspace.Splice{}, err
		}
		if a.Edits != nil {
			sp, err := replaceAll(ctx, abs, text, textSize, a.Edits)
			if encoding != "" && err == nil {
				sp, before, after, err = encodeSplice(encoding, abs, text, textSize, size, sp)
			}
			return sp, err
		}
		sp, ok, err := locate(ctx, text, textSize, a.Old, a.New)
		if err == nil && !ok {
			err = &NoMatchError{Path: abs, Near: nearest(text, textSize, a.Old)}
		}
		r.Bytes = int64(len(sp.New))
		if rest := sp.Offset + sp.Old; ok && err == nil && a.CheckMore {
			_, r.More, err = locate(ctx, io.NewSectionReader(text, rest, textSize-rest), textSize-rest, a.Old, "")
		}
		if encoding != "" && err == nil {
			sp, before, after, err = encodeSplice(encoding, abs, text, textSize, size, sp)
		}
		return sp, err
	})
	if err != nil {
		return nil, err
	}
	if c.Diff != "" && before != nil { // of the text, not of the bytes
		c.Diff = workspace.Unified(c.Path, c.Path, before, after)
	}
	r.Change = c
	return r, nil
}

// Of a file, firstWindow bytes are searched, then twice as many, up to window. An occurrence
// that is near costs little, for there may be one after the other.
const (
	firstWindow = 4 << 10
	window      = 1 << 20
)

// locate finds the first occurrence of old in src and returns its replacement. It needs
// memory for one window and old, whatever the size of the file.
func locate(ctx context.Context, src io.ReaderAt, size int64, old, new string) (workspace.Splice, bool, error) {
	anyLineEnd := strings.Contains(old, "\n") && !strings.HasSuffix(old, "\r")
	want := []byte(old)
	if anyLineEnd {
		want = []byte(lf(old))
	}
	overlap := 2*len(want) + 2 // an occurrence may be twice as long, with CR before each LF
	var buf []byte
	for at, searched := int64(0), firstWindow; ; searched = min(2*searched, window) {
		if long := int(min(size-at, int64(searched+overlap))); long > len(buf) {
			buf = make([]byte, long)
		}
		if err := ctx.Err(); err != nil {
			return workspace.Splice{}, false, err
		}
		n, err := src.ReadAt(buf[:min(int64(len(buf)), size-at)], at)
		if err != nil && err != io.EOF {
			return workspace.Splice{}, false, err
		}
		part := buf[:n]
		from, to := match(part, want, anyLineEnd)
		if from >= 0 && (to <= len(part)-1 || at+int64(n) >= size) {
			found := part[from:to]
			text, err := matchLineEnds(src, size, at+int64(from), found, old, new)
			return workspace.Splice{Offset: at + int64(from), Old: int64(to - from), New: text}, err == nil, err
		}
		if at+int64(n) >= size {
			return workspace.Splice{}, false, nil
		}
		at += int64(max(1, n-overlap))
	}
}

// match returns the range of the first occurrence of want in part, or -1. With anyLineEnd,
// LF in want also matches CRLF.
func match(part, want []byte, anyLineEnd bool) (from, to int) {
	if !anyLineEnd || bytes.IndexByte(part, '\r') < 0 {
		i := bytes.Index(part, want)
		return i, i + len(want)
	}
	plain := make([]byte, 0, len(part))
	var cut []int // offsets in plain before which a CR was left out
	for i, c := range part {
		if c == '\r' && i+1 < len(part) && part[i+1] == '\n' {
			cut = append(cut, len(plain))
			continue
		}
		plain = append(plain, c)
	}
	i := bytes.Index(plain, want)
	if i < 0 {
		return -1, -1
	}
	from, to = i, i+len(want)
	for _, c := range cut {
		if c < i {
			from++
		}
		if c < i+len(want) {
			to++
		}
	}
	return from, to
}

func lf(s string) string   { return strings.ReplaceAll(s, "\r\n", "\n") }
func crlf(s string) string { return strings.ReplaceAll(lf(s), "\n", "\r\n") }

// matchLineEnds returns new with the line ends of the text around it. If found contains
// line breaks and equals old exactly, new stays as it is.
func matchLineEnds(src io.ReaderAt, size, at int64, found []byte, old, new string) ([]byte, error) {
	if !strings.Contains(new, "\n") {
		return []byte(new), nil
	}
	end := bytes.IndexByte(found, '\n')
	switch {
	case end >= 0 && string(found) == old:
		return []byte(new), nil
	case end > 0 && found[end-1] == '\r':
		return []byte(crlf(new)), nil
	case end >= 0:
		return []byte(lf(new)), nil
	}
	isCRLF, err := usesCRLF(src, size, at+int64(len(found)))
	if err != nil || !isCRLF {
		return []byte(new), err
	}
	return []byte(crlf(new)), nil
}

// usesCRLF reports whether the line at the offset at ends with CRLF or, if it is the last
// line, whether the line before it does.
func usesCRLF(src io.ReaderAt, size, at int64) (bool, error) {
	buf := make([]byte, block)
	n, err := src.ReadAt(buf[:min(block, size-at)], at)
	if err != nil && err != io.EOF {
		return false, err
	}
	if i := bytes.IndexByte(buf[:n], '\n'); i >= 0 {
		return i > 0 && buf[i-1] == '\r', nil
	}
	from := max(0, at-block)
	n, err = src.ReadAt(buf[:at-from], from)
	if err != nil && err != io.EOF {
		return false, err
	}
	i := bytes.LastIndexByte(buf[:n], '\n')
	return i > 0 && buf[i-1] == '\r', nil
}

// replaceAll returns what the edits change in a text, as one splice.
func replaceAll(ctx context.Context, abs string, src io.ReaderAt, size int64, edits []Replacement) (workspace.Splice, error) {
	if size > maxEdited {
		return workspace.Splice{}, &TooLargeError{abs, size, maxEdited}
	}
	before, err := readRange(src, 0, size)
	after := before
	for i := 0; i < len(edits) && err == nil; i++ {
		after, err = replaceEach(ctx, abs, after, edits[i])
		if many := len(edits) > 1; many && err != nil {
			err = fmt.Errorf("edit %d of %d: %w", i+1, len(edits), err)
		}
	}
	if err != nil {
		return workspace.Splice{}, err
	}
	from, end := 0, 0 // what both begin and end with
	for shorter := min(len(before), len(after)); from < shorter && before[from] == after[from]; {
		from++
	}
	for shorter := min(len(before), len(after)) - from; end < shorter && before[len(before)-1-end] == after[len(after)-1-end]; {
		end++
	}
	return workspace.Splice{Offset: int64(from), Old: int64(len(before) - end - from), New: after[from : len(after)-end]}, nil
}

// replaceEach makes one of several edits.
func replaceEach(ctx context.Context, abs string, text []byte, e Replacement) (out []byte, err error) {
	var found []int // lines, from 1
	rest, line := text, 1
	for {
		sp, ok, err := locate(ctx, bytes.NewReader(rest), int64(len(rest)), e.Old, e.New)
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		found = append(found, line+bytes.Count(rest[:sp.Offset], []byte("\n")))
		line += bytes.Count(rest[:sp.Offset+sp.Old], []byte("\n"))
		out = append(append(out, rest[:sp.Offset]...), sp.New...)
		rest = rest[sp.Offset+sp.Old:]
	}
	switch {
	case len(found) == 0:
		return nil, &NoMatchError{Path: abs, Near: nearest(bytes.NewReader(text), int64(len(text)), e.Old)}
	case len(found) > 1 && !e.All:
		return nil, &ManyMatchesError{abs, found}
	}
	return append(out, rest...), nil
}
