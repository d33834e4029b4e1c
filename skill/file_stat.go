package skill

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"textskill/skill/internal/patch"
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

func (x *Executor) Stat(_ context.Context, s *Session, a Stat) (Described, error) {
	abs, err := x.path(s, "path", a.Path)
	if err != nil && a.MissingOK {
		return Described{Path: x.ws.Abs(s.Dir, a.Path)}, nil
	}
	if err != nil {
		return Described{}, err
	}
	info, err := x.ws.Stat(abs, true)
	if err != nil && a.MissingOK && isMissing(err) {
		return Described{Path: abs}, nil
	}
	if err != nil {
		return Described{}, err
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
	return errors.As(err, &errno) &&
		slices.Contains([]syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EIO}, errno)
}

// LocalName returns the path that a client means: of file:///tmp/a, that is /tmp/a. It refuses a
// path below ~ or $HOME, because nobody means a folder that is called so.
func LocalName(name string) (string, error) {
	if first, _, _ := strings.Cut(name, "/"); first == "~" || first == "$HOME" || first == "${HOME}" {
		return "", fmt.Errorf("%s is relative to a home folder, which is outside the workspace; a folder named %s is ./%[2]s", name, first)
	}
	if !strings.HasPrefix(name, "file://") {
		return name, nil
	}
	u, err := url.Parse(name)
	switch {
	case err != nil:
		return "", fmt.Errorf("%s is not a URL: %w", name, errors.Unwrap(err))
	case u.Host != "" && u.Host != "localhost" || u.Path == "":
		return "", fmt.Errorf("%s names no file of this machine; a path does, or file:///path", name)
	}
	return u.Path, nil
}

// Alike returns the name of a file that looks like abs, which does not exist: it differs in
// kinds of blanks, quotes or dashes, in case, or in how letters are composed. "" means that no
// file does, or several do.
func (x *Executor) Alike(abs string) string {
	dir, name := filepath.Split(filepath.Clean(abs))
	if _, err := x.ws.Stat(dir, true); errors.Is(err, fs.ErrNotExist) {
		if dir = x.Alike(dir); dir == "" {
			return ""
		}
		if both := filepath.Join(dir, name); x.exists(both) {
			return both
		}
	}
	entries, err := x.ws.ReadDir(dir)
	if err != nil {
		return ""
	}
	found, looks := "", look(name)
	for _, e := range entries {
		if e.Name == name || look(e.Name) != looks {
			continue
		}
		if found != "" {
			return ""
		}
		found = filepath.Join(dir, e.Name)
	}
	return found
}

func (x *Executor) exists(abs string) bool {
	_, err := x.ws.Stat(abs, false)
	return err == nil
}

// look is the same for names that look alike.
func look(name string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		switch {
		case r == '\u200b' || r == '\u200c' || r == '\u200d' || r == '\ufeff':
			return -1
		case r > utf8.RuneSelf && unicode.Is(unicode.Zs, r):
			return ' '
		}
		return patch.Straight(r)
	}, patch.Compose(name)))
}
