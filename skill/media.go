package skill

import (
	"fmt"
	"io"
	"net/http"
	"slices"
)

// Media checks that a file has one of the given media types, which it determines from the
// first bytes of the content, never from the name. It returns a [MediaFound].
type Media struct {
	Path    string
	Types   []string // allowed media types, such as "image/png" or "application/pdf"
	MaxSize int64    // bytes; for a larger file the error is a [*TooLargeError]
}

func (Media) op() {}

// MediaFound is the result of [Media].
type MediaFound struct {
	Path string // absolute
	Type string
	Size int64 // bytes
}

// Message says which type the file has.
func (m MediaFound) Message() string { return m.Path + " holds " + m.Type }

// An UnsupportedError reports a file whose media type is not allowed.
type UnsupportedError struct {
	Path string
	Type string // detected media type
	Size int64  // bytes
}

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("%s holds %s, which is not supported", e.Path, e.Type)
}

// sniffLen is how many bytes determine the media type of a file.
const sniffLen = 512

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
	head := make([]byte, sniffLen)
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
