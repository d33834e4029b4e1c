package dialect

import (
	"errors"
	"fmt"
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

func fsNotFoundError(in *call, err error) error {
	if fsMissingFolder(err) {
		return failf("not found: %s", in.at("path"))
	}
	return fsPathError(in.at("path"), err)
}

// fsPathError replaces the path in a file system error by the one that was asked for.
func fsPathError(path string, err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) && !errors.Is(err, syscall.EBUSY) {
		return &fs.PathError{Op: "open", Path: path, Err: errno}
	}
	return err
}

func fsReadError(in *call, err error) error {
	if _, unresolved := in.followed("path"); unresolved != nil {
		return unresolved
	}
	var special *skill.NotRegularError
	large, isLarge := errors.AsType[*skill.TooLargeError](err)
	switch {
	case isLarge && large.Size > 0:
		return failf("%s holds %d bytes, more than the %d of one answer; read its first or last lines with head or tail", in.at("path"), large.Size, large.Limit)
	case isLarge:
		return failf("the lines asked for of %s hold more than the %d bytes of one answer; ask for fewer with head or tail", in.at("path"), large.Limit)
	case errors.Is(err, syscall.EISDIR), errors.As(err, &special):
		return failf("not a file: %s", in.at("path"))
	case isMissing(err):
		return failf("not found: %s", in.at("path"))
	}
	return err
}

func fsEditError(in *call, err error) error {
	switch {
	case errors.As(err, new(*skill.NoMatchError)):
		return failf("old_text not found in %s", in.at("path"))
	case isMissing(err):
		return failf("not found: %s", in.at("path"))
	}
	return err
}

func fsListError(in *call, err error) error {
	switch {
	case fsMissingFolder(err):
		return failf("not found: %s", in.at("path"))
	case errors.Is(err, syscall.ENOTDIR):
		return failf("not a directory: %s", in.at("path"))
	}
	return err
}

func fsMoveError(in *call, err error) error {
	var both *os.LinkError
	switch {
	case errors.Is(err, syscall.EEXIST) && errors.As(err, &both):
		return errors.New("Destination path " + pyRepr(both.New) + " already exists")
	case errors.Is(err, syscall.ENAMETOOLONG):
		return fsOnePath(err)
	case errors.Is(err, syscall.EINVAL):
		return errors.New("Cannot move a directory " + pyRepr(in.at("src")) + " into itself " +
			pyRepr(in.at("dst")) + ".")
	}
	return fsSourceError(in, err)
}

func fsCopyError(in *call, err error) error {
	var pe *fs.PathError
	var both *os.LinkError
	switch {
	case errors.As(err, &pe) && pe.Op == "mkdir":
		return err
	case errors.Is(err, skill.ErrSameFile) && errors.As(err, &both):
		return errors.New(pyRepr(both.Old) + " and " + pyRepr(both.New) + " are the same file")
	case errors.Is(err, syscall.EEXIST):
		return fsPathError(in.at("dst"), err)
	case errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, syscall.EISDIR):
		return fsOnePath(err)
	}
	return fsSourceError(in, err)
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
func fsSourceError(in *call, err error) error {
	var le interface{ Unwrap() error }
	if isMissing(err) && errors.As(err, &le) {
		var pe *fs.PathError
		if !errors.As(err, &pe) {
			return failf("source not found: %s", in.at("src"))
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

func fsSearchError(in *call, err error) error {
	if fsMissingFolder(err) {
		return failf("not found: %s", in.at("path"))
	}
	return err
}

func fsChangeReply(in *call, c skill.Changed) string {
	switch {
	case !c.Applied:
		return dryRun(in.tool.Name+" DRY_RUN: "+c.Message(), c)
	case c.From != "":
		return in.tool.Name + " OK: " + in.at("src") + " -> " + in.at("dst")
	}
	return in.tool.Name + " OK: " + in.at("path")
}

func fsEditReply(in *call, c skill.Changed) string {
	if !c.Applied {
		return dryRun(in.tool.Name+" DRY_RUN: would replace in "+c.Path, c)
	}
	return in.tool.Name + " OK: " + in.at("path")
}

func fsListReply(_ *call, t skill.TreeListed) string {
	if len(t.Tree.Entries) == 0 {
		return "(empty)"
	}
	var lines []string
	for _, e := range t.Tree.Entries {
		lines = append(lines, fsNodeName(e))
	}
	if t.Cut {
		lines = append(lines, fmt.Sprintf("[more entries; the first %d are shown, a search finds the others]",
			len(t.Tree.Entries)))
	}
	return strings.Join(lines, "\n")
}

func fsNodeName(t *skill.Tree) string {
	if t.Folder {
		return t.Name + "/"
	}
	return t.Name
}

func fsTreeReply(_ *call, t skill.TreeListed) string {
	lines := fsBranch([]string{strings.TrimSuffix(t.Path, "/") + "/"}, "", t.Tree)
	if t.Cut {
		lines = append(lines, "[more entries; ask for a directory in it, or a smaller depth]")
	}
	return strings.Join(lines, "\n")
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

func fsInfoReply(_ *call, d skill.Described) string {
	t := d.Info.ModTime
	seconds := float64(t.Unix()) + 1e-9*float64(t.Nanosecond())
	return fmt.Sprintf("path: %s\nis_file: %s\nis_dir: %s\nsize: %d\nmtime: %s", d.Path,
		pyBool(d.Info.Mode.IsRegular()), pyBool(d.Info.IsDir()), d.Info.Size, pyFloat(seconds))
}

const fsNoMatches = "(no matches)"

func fsSearchReply(_ *call, f skill.Found) string {
	if len(f.Matches) == 0 {
		return fsNoMatches
	}
	text := strings.Join(f.Matches, "\n")
	if f.More > 0 {
		text += fmt.Sprintf("\n[%d more; a narrower path or pattern shows them]", f.More)
	}
	return text
}
