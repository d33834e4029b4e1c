package skill

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"syscall"

	"textskill/skill/internal/words"
)

// ReadFiles reads several files, or parts of them: text by lines, pictures and PDF documents
// whole. A file that cannot be read does not keep the others from being read. It returns
// [FilesRead].
type ReadFiles struct {
	Files    []FileRange
	MaxBytes int64 // bytes of all texts together; 0 means Config.MaxRead
	MaxMedia int64 // bytes of all pictures and documents together; 0 means none are read
}

// A FileRange is the lines [From, To) of a file, counted from 0; To may be [End].
type FileRange struct {
	Path     string
	From, To int
}

func (ReadFiles) op() {}

// FilesRead is the result of [ReadFiles].
type FilesRead struct{ Files []FilePart }

// A FilePart is what was read of one file.
type FilePart struct {
	FileRead        // its Content is nil of a file that is neither text nor shown, and has the last LF of lines
	From     int    // the line before the first one of Content
	Type     string // media type of a picture or a PDF document, or of what is not text; "" for text
	Err      error  // why it was not read; nil if it was
}

// Message says how many files were read.
func (r FilesRead) Message() string { return "read " + words.Count(len(r.Files), "file", "files") }

// Shown are the media types of the files that [ReadFiles] reads whole.
var Shown = []string{"image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"}

func (x *Executor) readFiles(ctx context.Context, s *Session, a ReadFiles) (Result, error) {
	full, media := cmp.Or(a.MaxBytes, x.cfg.MaxRead), a.MaxMedia
	text := full
	r := FilesRead{Files: make([]FilePart, len(a.Files))}
	for i, f := range a.Files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		part, err := x.readPart(ctx, s, f, text, media)
		if part.LineCut && text < full {
			part, err = FilePart{}, ErrFull // the line may fit into an answer of its own
		}
		if part.Err = err; err != nil {
			part.Path = f.Path
		}
		if r.Files[i] = part; part.Type == "" {
			text -= int64(len(part.Content))
		} else {
			media -= int64(len(part.Content))
		}
	}
	if len(r.Files) == 1 && r.Files[0].Err != nil {
		return nil, r.Files[0].Err
	}
	return r, nil
}

// ErrFull reports that an answer has no room left.
var ErrFull = errors.New("the answer is full; read it with another call")

// readPart reads one file into what is left of an answer.
func (x *Executor) readPart(ctx context.Context, s *Session, f FileRange, text, media int64) (part FilePart, err error) {
	found, err := x.media(s, Media{Path: f.Path})
	if err != nil {
		return part, err
	}
	m := found.(MediaFound)
	if slices.Contains(Shown, m.Type) {
		part.Path, part.Type, part.Size = m.Path, m.Type, m.Size
		if m.Size > media {
			return part, nil
		}
		part.Content, err = x.ws.ReadUpTo(m.Path, media)
		if errors.Is(err, syscall.EFBIG) { // it has grown since
			err = nil
		}
		return part, err
	}
	if text <= 0 {
		return part, ErrFull
	}
	ended := false
	if file, _, err := x.ws.Open(m.Path); err == nil {
		ended = endsLine(file, m.Size)
		file.Close()
	}
	if part.From = f.From; ended && f.From < 0 {
		f.From-- // the empty line after the last line break does not count
	}
	r, err := x.readFile(ctx, s, ReadFile{Path: f.Path, Lines: true, Split: true, AllowPartial: true, From: f.From, To: f.To, MaxBytes: text})
	if err != nil {
		return part, err
	}
	part.FileRead = r.(FileRead)
	part.Size = m.Size
	if part.NotText && bytes.IndexByte(part.Content, 0) >= 0 {
		part.Content, part.Type = nil, m.Type
		return part, nil
	}
	if part.To < part.Lines && part.To > lineIndex(f.From, part.Lines) && !part.LineCut {
		part.Content = append(part.Content, '\n') // that of the last line
	}
	if ended {
		part.Lines--
		part.To = min(part.To, part.Lines)
	}
	return part, nil
}

// endsLine reports whether the last byte of a file is LF.
func endsLine(f io.ReaderAt, size int64) bool {
	var last [1]byte
	n, _ := f.ReadAt(last[:], max(0, size-1))
	return n == 1 && last[0] == '\n'
}
