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

// Stat describes a file or directory, following links. It returns a [Described].
type Stat struct {
	Path      string
	Birth     bool // also return the time of creation
	MissingOK bool // a missing or inaccessible file is no error: Described.Exists is false
}

func (Stat) op() {}

// Info is the metadata of a file.
type Info = workspace.Info

// Described is the result of [Stat].
type Described struct {
	Path   string // absolute
	Exists bool
	Info   Info      // zero if it does not exist
	Birth  time.Time // time of creation; zero if not requested or unknown
}

// Message says whether the file exists.
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
	if err != nil && a.MissingOK && isMissing(err) {
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

// isMissing reports whether an error means that a file does not exist or is not
// accessible. Errors such as too many open files do not.
func isMissing(err error) bool {
	var errno syscall.Errno
	return errors.Is(err, fs.ErrNotExist) || errors.As(err, &errno) && !isShortage(err)
}

// isShortage reports whether an error is the machine's, which lacks something, and says
// nothing of the file.
func isShortage(err error) bool {
	var errno syscall.Errno
	return errors.As(err, &errno) && slices.Contains([]syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EIO}, errno)
}
