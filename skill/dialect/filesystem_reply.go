package dialect

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"textskill/skill"
)

// fsMissingFolder is isMissing for what has to be a directory: if something else is
// there, listing it fails with ENOTDIR too.
func fsMissingFolder(err error) bool {
	var pe *fs.PathError
	return errors.Is(err, fs.ErrNotExist) || isMissing(err) && errors.As(err, &pe) && pe.Op == "stat"
}

func fsNotFound(path string, err error) error {
	if fsMissingFolder(err) {
		return failf("not found: %s", path)
	}
	return err
}

// fsPathError replaces the path in a file system error by the one that was asked for.
func fsPathError(path string, err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) && !errors.Is(err, syscall.EBUSY) {
		return &fs.PathError{Op: "open", Path: path, Err: errno}
	}
	return err
}

func fsMoveError(from, to string, err error) error {
	var both *os.LinkError
	switch {
	case errors.Is(err, syscall.EEXIST) && errors.As(err, &both):
		return errors.New("Destination path " + pyRepr(both.New) + " already exists")
	case errors.Is(err, syscall.ENAMETOOLONG):
		return fsOnePath(err)
	case errors.Is(err, syscall.EINVAL):
		return errors.New("Cannot move a directory " + pyRepr(from) + " into itself " + pyRepr(to) + ".")
	}
	return fsSourceError(from, err)
}

func fsCopyError(from, to string, err error) error {
	var pe *fs.PathError
	var both *os.LinkError
	switch {
	case errors.As(err, &pe) && pe.Op == "mkdir":
		return err
	case errors.Is(err, skill.ErrSameFile) && errors.As(err, &both):
		return errors.New(pyRepr(both.Old) + " and " + pyRepr(both.New) + " are the same file")
	case errors.Is(err, syscall.EEXIST):
		return fsPathError(to, err)
	case errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, syscall.EISDIR):
		return fsOnePath(err)
	}
	return fsSourceError(from, err)
}

// fsOnePath names in an error about two paths the one that shutil names: the source if a
// name in it is too long, which it looks at first, else the destination.
func fsOnePath(err error) error {
	both, ok := errors.AsType[*os.LinkError](err)
	if !ok {
		return err
	}
	path := both.New
	if slices.ContainsFunc(strings.Split(both.Old, "/"), func(name string) bool { return len(name) > 255 }) {
		path = both.Old
	}
	return fsPathError(path, err)
}

// fsSourceError says that the source to move or copy does not exist. If it does, the
// error is about something below it.
func fsSourceError(source string, err error) error {
	var le interface{ Unwrap() error }
	if isMissing(err) && errors.As(err, &le) {
		var pe *fs.PathError
		if !errors.As(err, &pe) {
			return failf("source not found: %s", source)
		}
	}
	return err
}

func fsPatternError(pattern string) error {
	if strings.HasPrefix(pattern, "/") {
		return failf("Non-relative patterns are unsupported")
	}
	for part := range strings.SplitSeq(pattern, "/") {
		if part != "**" && strings.Contains(part, "**") {
			return failf("Invalid pattern: '**' can only be an entire path component")
		}
	}
	return nil
}

func fsNodeName(t *skill.Tree) string {
	if t.Folder {
		return t.Name + "/"
	}
	return t.Name
}

func fsBranch(lines []string, indent string, t *skill.Tree) []string {
	if t.Denied {
		return append(lines, indent+"[permission denied]")
	}
	for i, e := range t.Entries {
		mark, below := "├── ", "│   "
		if i == len(t.Entries)-1 {
			mark, below = "└── ", "    "
		}
		lines = fsBranch(append(lines, indent+mark+fsNodeName(e)), indent+below, e)
	}
	return lines
}
