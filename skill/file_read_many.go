package skill

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"slices"
	"syscall"

	"textskill/skill/internal/merge"
	"textskill/skill/internal/words"
)

// ReadFiles reads several files, or parts of them: text by lines, pictures and PDF documents
// whole. A file that cannot be read does not keep the others from being read. It returns
// [FilesRead].
type ReadFiles struct {
	Files    []FileRange
	MaxBytes int64 // bytes of all texts together; 0 means Config.MaxRead
	MaxMedia int64 // bytes of all pictures and documents together; 0 means none are read
	Letters  bool  // also return the letters of lines, and sums
}

// A FileRange is the lines [From, To) of a file, counted from 0; To may be [End], and From
// negative, counted from the end.
type FileRange struct {
	Path     string
	From, To int
	At       int64 // of a single line: the byte from which it is read; 0 is all of it
}

func (ReadFiles) op() {}

// FilesRead is the result of [ReadFiles].
type FilesRead struct{ Files []FilePart }

// A FilePart is what was read of one file.
type FilePart struct {
	// its Content is nil of a file that is neither text nor shown, and has the last LF of lines
	FileRead
	From             int       // the line before the first one of Content
	Letters          []string  // of each line of Content: two letters of what it holds
	Cuts             []LineCut // lines whose beginning alone is in Content
	LineAt, LineSize int64     // of a single line that is read from a byte: that byte, and how many it has
	Hash             string    // the first 12 digits of the SHA-256 of the file, if that is small
	// media type of a picture or a PDF document, or of what is not text; "" for text
	Type string
	Note string // what was done to a picture, why it is not shown, or what a text looks like; "" for nothing
	Err  error  // why it was not read; nil if it was
}

// Message says how many files were read.
func (r FilesRead) Message() string { return "read " + words.Count(len(r.Files), "file", "files") }

// Shown are the media types of the files that [ReadFiles] reads whole.
var Shown = []string{"image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"}

func (x *Executor) ReadFiles(ctx context.Context, s *Session, a ReadFiles) (FilesRead, error) {
	if k := s.seen(); k != nil && a.Letters {
		k.letters.Store(true)
	}
	full, media := cmp.Or(a.MaxBytes, x.cfg.MaxRead), a.MaxMedia
	text := full
	r := FilesRead{Files: make([]FilePart, len(a.Files))}
	for i, f := range a.Files {
		if err := ctx.Err(); err != nil {
			return FilesRead{}, err
		}
		part, err := x.readPart(ctx, s, f, text, media, a.Letters)
		if part.LineCut && text < full {
			part, err = FilePart{}, errFull // the line may fit into an answer of its own
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
		return FilesRead{}, r.Files[0].Err
	}
	return r, nil
}

// errFull reports that an answer has no room left.
var errFull = errors.New("the answer is full; read it with another call")

// readPart reads one file into what is left of an answer.
func (x *Executor) readPart(ctx context.Context, s *Session, f FileRange, text, media int64,
	letters bool) (part FilePart, err error) {
	m, err := x.Media(ctx, s, Media{Path: f.Path})
	if err != nil {
		return part, err
	}
	switch {
	case slices.Contains(Shown, m.Type):
		return x.readShown(m, media)
	case text <= 0:
		return part, errFull
	}
	return x.readLinesOf(ctx, s, m, f, text, letters)
}

// readShown reads a picture or a PDF document.
func (x *Executor) readShown(m MediaFound, room int64) (part FilePart, err error) {
	part.Path, part.Type, part.Size = m.Path, m.Type, m.Size
	if m.Size > room {
		return part, nil
	}
	data, err := x.ws.ReadUpTo(m.Path, room)
	switch {
	case errors.Is(err, syscall.EFBIG): // it has grown since
		return part, nil
	case err != nil:
		return part, err
	}
	part.Content, part.Note = checkPicture(m.Type, data)
	if part.Content != nil { // a smaller picture may have another type
		part.Type = http.DetectContentType(part.Content)
	}
	return part, nil
}

// readLinesOf reads the lines of a text.
func (x *Executor) readLinesOf(ctx context.Context, s *Session, m MediaFound, f FileRange, room int64,
	letters bool) (part FilePart, err error) {
	file, info, err := x.ws.Open(m.Path)
	if err != nil {
		return part, err
	}
	defer file.Close()
	src, size, encoding, err := asText(file, info.Size)
	if err != nil {
		return part, err
	}
	part.Path, part.Encoding, part.Size = m.Path, encoding, info.Size
	if f.At > 0 {
		err = readLineFrom(ctx, &part, src, size, f, room)
	} else {
		err = readPartLines(ctx, &part, src, size, f, room)
	}
	switch {
	case err != nil:
		return part, err
	case part.NotText && bytes.IndexByte(part.Content, 0) >= 0:
		part.Content, part.Type = nil, m.Type
		return part, nil
	case part.Encoding == "" && looksUTF16(part.Content):
		part.Note = "a NUL stands beside each letter: it looks like UTF-16 without a byte order mark"
	}
	// else its end was not shown
	if part.LineSize == 0 || part.LineAt+int64(len(part.Content)) >= part.LineSize {
		cut := make([]int, len(part.Cuts))
		for i, c := range part.Cuts {
			cut[i] = c.Line
		}
		x.noteRead(s, m.Path, part.From, part.To, cut)
	}
	if letters {
		err = part.letter(file, info.Size)
	}
	return part, err
}

// maxLettered is the size in bytes of a file up to which its lines get letters.
const maxLettered = 16 << 20

// letter adds the letters of the lines, and the sum of the file.
func (part *FilePart) letter(file io.ReaderAt, size int64) error {
	if size > maxLettered {
		return nil
	}
	data, err := readRange(file, 0, size)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	part.Hash = hex.EncodeToString(sum[:6])
	text, _, _ := decode(data)
	lines := merge.Split(text)
	for i := part.From; i < min(part.To, len(lines)); i++ {
		part.Letters = append(part.Letters, letters(lines, i))
	}
	return nil
}

// endsLine reports whether the last byte of a file is LF.
func endsLine(f io.ReaderAt, size int64) bool {
	var last [1]byte
	n, _ := f.ReadAt(last[:], max(0, size-1))
	return n == 1 && last[0] == '\n'
}
