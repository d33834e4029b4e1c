package dialect

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"textskill/skill"
)

// missing tells whether an error means, to Python's exists, that nothing is there.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// unlisted is missing for what has to be a directory: one that is something else
// is there, and listing it fails with ENOTDIR too.
func unlisted(err error) bool {
	var pe *fs.PathError
	return errors.Is(err, fs.ErrNotExist) || missing(err) && errors.As(err, &pe) && pe.Op == "stat"
}

// notFound words that nothing is there, for a tool with no other words of its own.
func notFound(_ *Tool, in values, err error) error {
	if unlisted(err) {
		return own("not found: %s", in.str("path"))
	}
	return bare(in.str("path"), err)
}

// bare leaves of a file system error the path that was asked for.
func bare(path string, err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) && !errors.Is(err, syscall.EBUSY) {
		return &fs.PathError{Op: "open", Path: path, Err: errno}
	}
	return err
}

// notThere answers that nothing is there, which is no failure.
func notThere(_ *Tool, _ values, err error) error {
	if missing(err) || errors.Is(err, syscall.ELOOP) {
		return ownWords{"exists: " + pyBool(false), true}
	}
	return err
}

func notFile(_ *Tool, in values, err error) error {
	var special *skill.NotRegularError
	switch {
	case errors.Is(err, syscall.EISDIR), errors.As(err, &special):
		return own("not a file: %s", in.str("path"))
	case missing(err):
		return own("not found: %s", in.str("path"))
	}
	return err
}

func notEdited(_ *Tool, in values, err error) error {
	var miss *skill.NoMatchError
	switch {
	case errors.As(err, &miss) && miss.Hint() != "":
		return own("old_text not found in %s\n%s", in.str("path"), miss.Hint())
	case errors.As(err, &miss):
		return own("old_text not found in %s", in.str("path"))
	case missing(err):
		return own("not found: %s", in.str("path"))
	}
	return err
}

func notDirectory(_ *Tool, in values, err error) error {
	switch {
	case unlisted(err):
		return own("not found: %s", in.str("path"))
	case errors.Is(err, syscall.ENOTDIR):
		return own("not a directory: %s", in.str("path"))
	}
	return err
}

func notMoved(_ *Tool, in values, err error) error {
	var taken *skill.ExistsError
	switch {
	case errors.As(err, &taken):
		return pythonWords("Destination path " + pyRepr(taken.Path) + " already exists")
	case errors.Is(err, syscall.EINVAL):
		return pythonWords("Cannot move a directory " + pyRepr(in.str("src")) + " into itself " + pyRepr(in.str("dst")) + ".")
	}
	return absentSource(in, err)
}

func notCopied(_ *Tool, in values, err error) error {
	var pe *fs.PathError
	var both *os.LinkError
	switch {
	case errors.As(err, &pe) && pe.Op == "mkdir":
		return err
	case errors.Is(err, skill.ErrSameFile) && errors.As(err, &both):
		return pythonWords(pyRepr(both.Old) + " and " + pyRepr(both.New) + " are the same file")
	case errors.Is(err, syscall.EEXIST):
		return bare(in.str("dst"), err)
	}
	return absentSource(in, err)
}

// absentSource words that there is nothing to move or copy. Where the source is
// there, the error is about something on the way.
func absentSource(in values, err error) error {
	var le interface{ Unwrap() error }
	if missing(err) && errors.As(err, &le) {
		var pe *fs.PathError
		if !errors.As(err, &pe) {
			return own("source not found: %s", in.str("src"))
		}
	}
	return err
}

// notPattern words what is wrong with a pattern.
func notPattern(pattern string) error {
	if strings.HasPrefix(pattern, "/") {
		return own("Non-relative patterns are unsupported")
	}
	for part := range strings.SplitSeq(pattern, "/") {
		if part != "**" && strings.Contains(part, "**") {
			return own("Invalid pattern: '**' can only be an entire path component")
		}
	}
	return nil
}

func notSearched(_ *Tool, in values, err error) error {
	switch {
	case unlisted(err):
		return own("not found: %s", in.str("path"))
	case errors.Is(err, syscall.ENOTDIR):
		return ownWords{"(no matches)", true}
	}
	return err
}

// listing words one level of a tree.
func listing(_ *Tool, _ values, r skill.Result) string {
	t := r.(skill.TreeListed)
	if len(t.Tree.Entries) == 0 {
		return "(empty)"
	}
	var lines []string
	for _, e := range t.Tree.Entries {
		lines = append(lines, nodeName(e))
	}
	if t.Cut {
		lines = append(lines, fmt.Sprintf("[more entries; the first %d are shown, a search finds the others]", len(t.Tree.Entries)))
	}
	return strings.Join(lines, "\n")
}

func nodeName(t *skill.Tree) string {
	if t.Folder {
		return t.Name + "/"
	}
	return t.Name
}

// drawTree words a tree with lines.
func drawTree(_ *Tool, _ values, r skill.Result) string {
	t := r.(skill.TreeListed)
	lines := drawBranch([]string{strings.TrimSuffix(t.Path, "/") + "/"}, "", t.Tree)
	if t.Cut {
		lines = append(lines, "[more entries; ask for a directory in it, or a smaller depth]")
	}
	return strings.Join(lines, "\n")
}

func drawBranch(lines []string, indent string, t *skill.Tree) []string {
	if t.Denied {
		return append(lines, indent+"[permission denied]")
	}
	for i, e := range t.Entries {
		mark, below := "├── ", "│   "
		if i == len(t.Entries)-1 {
			mark, below = "└── ", "    "
		}
		lines = drawBranch(append(lines, indent+mark+nodeName(e)), indent+below, e)
	}
	return lines
}

func describe(_ *Tool, _ values, r skill.Result) string {
	d := r.(skill.Described)
	t := d.Info.ModTime
	seconds := float64(t.Unix()) + 1e-9*float64(t.Nanosecond())
	return fmt.Sprintf("path: %s\nis_file: %s\nis_dir: %s\nsize: %d\nmtime: %s", d.Path,
		pyBool(d.Info.Mode.IsRegular()), pyBool(d.Info.IsDir()), d.Info.Size, pyFloat(seconds))
}

func matches(_ *Tool, _ values, r skill.Result) string {
	f := r.(skill.Found)
	if len(f.Matches) == 0 {
		return "(no matches)"
	}
	text := strings.Join(f.Matches, "\n")
	if f.More > 0 {
		text += fmt.Sprintf("\n[%d more; a narrower path or pattern shows them]", f.More)
	}
	return text
}
