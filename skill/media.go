package skill

import (
	"io"
	"net/http"
)

// Media determines the media type of a file from the first bytes of the content, never
// from the name. It returns a [MediaFound].
type Media struct{ Path string }

func (Media) op() {}

// MediaFound is the result of [Media].
type MediaFound struct {
	Path string // absolute
	Type string // such as "image/png" or "application/pdf"
	Size int64  // bytes
}

// Message says which type the file has.
func (m MediaFound) Message() string { return m.Path + " holds " + m.Type }

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
	return MediaFound{abs, http.DetectContentType(head[:n]), info.Size}, nil
}
