package skill

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"textskill/skill/internal/workspace"
)

// MoveFile renames a file, a directory, or a link itself. A file at the destination is
// replaced. It returns a [Changed].
type MoveFile struct {
	Source, Dest string
	Into         bool // if Dest is a directory, move the source into it under its own name
	NoReplace    bool // Dest must not exist, otherwise EEXIST
	Parents      bool // create the directories above Dest
	If           Condition
}

func (MoveFile) op() {}

func (x *Executor) MoveFile(ctx context.Context, s *Session, a MoveFile) (Changed, error) {
	from, to, err := x.paths(s, a.Source, a.Dest)
	if err != nil {
		return Changed{}, err
	}
	o := workspace.MoveOptions{Parents: a.Parents, NoReplace: a.NoReplace}
	if a.Into && x.isFolder(to) && from != to {
		to, o.NoReplace = filepath.Join(to, filepath.Base(from)), true
	}
	if !o.NoReplace && from != to {
		if _, err := x.checkWhole(ctx, s, to, a.If, verb{"not overwritten", "move"}, false); err != nil {
			return Changed{}, err
		}
	}
	c, err := x.ws.Move(ctx, from, to, o)
	if err == nil && c.Applied {
		x.moved(s, from, to, false)
	}
	if a.Into {
		err = x.intoError(from, to, o, err)
	}
	return Changed{Change: c}, err
}

// intoError replaces an error of a move into a folder by the one that the whole path tells.
func (x *Executor) intoError(from, to string, o workspace.MoveOptions, err error) error {
	below := strings.HasPrefix(to, from+string(filepath.Separator))
	switch {
	case o.NoReplace && errors.Is(err, syscall.EEXIST):
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: syscall.EEXIST}
	case errors.Is(err, syscall.ENOTDIR) && below && x.isFolder(from): // takes precedence over other errors
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: syscall.EINVAL}
	}
	return x.destinationError(from, to, err)
}

// destinationError replaces an ENOTDIR at the destination by the error of creating the
// destination's directory, which a file in its place prevents.
func (x *Executor) destinationError(from, to string, err error) error {
	var both *os.LinkError
	if !errors.Is(err, syscall.ENOTDIR) || !errors.As(err, &both) {
		return err
	}
	if _, serr := x.ws.Stat(from, false); serr != nil {
		return err
	}
	for _, name := range []string{to, filepath.Dir(to)} {
		if _, serr := x.ws.Stat(name, false); serr == nil {
			return &fs.PathError{Op: "mkdir", Path: name, Err: syscall.EEXIST}
		}
	}
	return &fs.PathError{Op: "mkdir", Path: filepath.Dir(to), Err: syscall.ENOTDIR}
}

// isFolder reports whether abs is a directory, or a link to one.
func (x *Executor) isFolder(abs string) bool {
	info, err := x.ws.Stat(abs, true)
	return err == nil && info.IsDir()
}
