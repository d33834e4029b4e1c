package skill

import (
	"errors"
	"io/fs"
	"slices"
	"syscall"
	"time"

	"textskill/skill/internal/workspace"
	"textskill/skill/internal/workspace/tree"
)

// Stat describes a file or folder; links are followed.
type Stat struct {
	Path      string
	Birth     bool // tell when it was made, too
	MissingOK bool // what is not there, or cannot be seen, is an answer: Described.Exists is false
}

func (Stat) op() {}

// Info is what the system knows of a file.
type Info = workspace.Info

// Described is a file as it is, if it is.
type Described struct {
	Path   string // absolute
	Exists bool
	Info   Info      // zero if it does not exist
	Birth  time.Time // when it was made; zero unless asked for, or where the system does not say
}

// Message tells whether there is such a file.
func (d Described) Message() string {
	if d.Exists {
		return d.Path + " exists"
	}
	return d.Path + " does not exist"
}

func (x *Executor) stat(s *Session, a Stat) (Result, error) {
	abs, err := x.path(s, "path", a.Path)
	if err != nil && a.MissingOK {
		return Described{Path: x.ws.Abs(s.Dir, a.Path)}, nil
	}
	if err != nil {
		return nil, err
	}
	info, err := x.ws.Stat(abs, true)
	if err != nil && a.MissingOK && unseen(err) {
		return Described{Path: abs}, nil
	}
	if err != nil {
		return nil, err
	}
	d := Described{Path: abs, Exists: true, Info: info}
	if a.Birth {
		if real, err := x.ws.Real("", abs, true); err == nil {
			d.Birth = tree.Birth(real, info.ID)
		}
	}
	return d, nil
}

// unseen tells whether an error says of a file that it is not there or may not be
// seen. One of this process, which has no room for another open file, says nothing.
func unseen(err error) bool {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return errors.Is(err, fs.ErrNotExist)
	}
	return !slices.Contains([]syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EIO}, errno)
}
