package skill

import (
	"fmt"
	"io"
	"net/http"
	"slices"
)

// Media checks that a file holds what can be shown to a model, by its first bytes
// and never by its name.
type Media struct {
	Path    string
	Types   []string // what it may hold: "image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"
	MaxSize int64    // bytes; a larger one is a [*TooLargeError]
}

func (Media) op() {}

// MediaFound is a file that holds one of the types.
type MediaFound struct {
	Path string // absolute
	Type string
	Size int64 // bytes
}

// Message tells what the file holds.
func (m MediaFound) Message() string { return m.Path + " holds " + m.Type }

// An UnsupportedError reports a file that holds something else than was wanted.
type UnsupportedError struct {
	Path string
	Type string // as far as it can be told
	Size int64  // bytes
}

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("%s holds %s, which is not supported", e.Path, e.Type)
}

// sniffed is how many bytes tell what a file holds.
const sniffed = 512

func (x *Executor) media(s *Session, a Media) (Result, error) {
	abs, err := x.path(s, "path", a.Path)
	if err != nil {
		return nil, err
	}
	f, info, err := x.ws.Open(abs)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, sniffed)
	n, err := io.ReadFull(f, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, err
	}
	found := http.DetectContentType(head[:n])
	switch {
	case !slices.Contains(a.Types, found):
		return nil, &UnsupportedError{abs, found, info.Size}
	case info.Size > a.MaxSize:
		return nil, &TooLargeError{abs, info.Size, a.MaxSize}
	}
	return MediaFound{abs, found, info.Size}, nil
}
