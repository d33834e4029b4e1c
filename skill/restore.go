package skill

import (
	"context"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"textskill/skill/internal/workspace"
)

// Restore returns what a file held before a recorded change, without undoing that change, or writes
// it to a file. It returns a [Restored], or with Back or To a [Changed].
type Restore struct {
	ID   string // the change
	Path string // the file; "" means the only one that the change is about
	Back bool   // write the content back to the file itself
	To   string // another file to write; "" means none
}

func (Restore) op() {}

// Restored is the result of [Restore].
type Restored struct {
	ID, Path string
	Content  []byte
}

// Message returns the content, if that is text.
func (r Restored) Message() string {
	if !utf8.Valid(r.Content) || strings.IndexByte(string(r.Content), 0) >= 0 {
		return fmt.Sprintf("%s held %d bytes before change %s that are not text; write them to a file",
			r.Path, len(r.Content), r.ID)
	}
	return string(r.Content)
}

func (x *Executor) Restore(ctx context.Context, s *Session, a Restore) (Result, error) {
	defer x.followed(s, "", nil)()
	if a.ID == "" {
		return nil, &ArgError{Arg: "id", Reason: "is required: the change before which the file is wanted"}
	}
	from, to := "", ""
	var err error
	if a.Path != "" {
		if from, err = x.path(s, "path", a.Path); err != nil {
			return nil, err
		}
	}
	if a.Back && a.To != "" {
		return nil, &ArgError{Arg: "to",
			Reason: "is given together with back; one of them says where the content goes"}
	}
	if a.To == "" && !a.Back {
		r := Restored{ID: a.ID}
		err := x.ws.Before(ctx, a.ID, from, func(path string, size int64, content io.Reader) (err error) {
			if r.Path = path; size > x.cfg.MaxRead {
				return &ArgError{Arg: "to",
					Reason: fmt.Sprintf("is required: %d bytes are more than one answer holds", size)}
			}
			r.Content, err = io.ReadAll(content)
			return err
		})
		return r, err
	}
	if a.Back {
		to, err = x.ws.WriteBack(ctx, a.ID, from)
	} else {
		to, err = x.path(s, "to", a.To)
	}
	if err != nil {
		return nil, err
	}
	var n int64
	c, err := x.ws.Receive(ctx, to, workspace.WriteOptions{Parents: true}, func(dst io.Writer) error {
		return x.ws.Before(ctx, a.ID, from, func(_ string, size int64, content io.Reader) error {
			n = size
			_, err := io.Copy(dst, content)
			return err
		})
	})
	return Changed{Change: c, Bytes: n}, err
}
