package workspace

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"textskill/skill/internal/state"
	"textskill/skill/internal/workspace/tree"
)

// maxShown is how many names are printed of a folder that was made or removed as a whole.
const maxShown = 1000

// A folderDiff prints the files of a folder that was made or removed as a whole.
type folderDiff struct {
	gone  bool
	shown int
	out   strings.Builder
}

// folder prints a folder that was made or removed as a whole. ok is false if s is not of a
// folder, or its content is no longer kept.
func (d differ) folder(name state.Name, s state.State, gone bool) (text string, ok bool) {
	if s.Kind != kindFolder {
		return "", false
	}
	f := &folderDiff{gone: gone}
	err := d.find(name, s, func(in tree.Folder, base string) error {
		ok = true
		f.folder(in, base, d.h.path(name))
		return nil
	})
	return f.out.String(), ok && err == nil
}

// folder prints the folder name of d, whose absolute path is abs.
func (f *folderDiff) folder(d tree.Folder, name, abs string) {
	what := "created"
	if f.gone {
		what = "removed"
	}
	fmt.Fprintf(&f.out, "%s directory %s\n", what, abs)
	in, err := d.OpenFolder(name)
	if err != nil {
		return
	}
	defer in.Close()
	entries, err := in.Entries()
	if err != nil {
		return
	}
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	for i, e := range entries {
		if f.shown == maxShown {
			fmt.Fprintf(&f.out, "and %d more in %s\n", len(entries)-i, abs)
			return
		}
		f.shown++
		if e.Type == fs.ModeDir {
			f.folder(in, e.Name, path.Join(abs, e.Name))
		} else {
			f.file(in, e, path.Join(abs, e.Name))
		}
	}
}

func (f *folderDiff) file(in tree.Folder, e Entry, abs string) {
	head, when := header("/dev/null", abs), "is"
	if f.gone {
		head, when = header(abs, "/dev/null"), "was"
	}
	info, err := in.Lstat(e.Name)
	if err != nil {
		return
	}
	if !info.Mode.IsRegular() || f.out.Len()+int(info.Size) > maxDiff {
		s, err := stateAt(in, e.Name, -1)
		if err == nil {
			f.out.WriteString(head + describe(when, s))
		}
		return
	}
	data, err := readStart(in, e.Name)
	switch {
	case err != nil:
	case len(data) == 0:
		f.out.WriteString(head)
	case f.gone:
		f.out.WriteString(Unified(abs, abs, data, nil))
	default:
		f.out.WriteString(Unified(abs, abs, nil, data))
	}
}
