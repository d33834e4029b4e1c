package pack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// ErrTooLarge says that a folder exceeds MaxBytes or MaxFiles. Nothing was stored.
var ErrTooLarge = errors.New("the folder is too large")

// exceeds returns an ErrTooLarge with the numbers and with descriptions of the largest folders.
func (f *Folder) exceeds(files int, bytes int64, largest []string) error {
	var over []string
	if bytes > f.maxBytes {
		over = append(over, fmt.Sprintf("%s, %s more than the %s that move between machines", sizeText(bytes),
			sizeText(bytes-f.maxBytes), sizeText(f.maxBytes)))
	}
	if files > f.maxFiles {
		over = append(over, fmt.Sprintf("%d files, %d more than the %d that move between machines", files,
			files-f.maxFiles, f.maxFiles))
	}
	text := strings.Join(over, ", and ")
	if len(largest) > 0 {
		text += "; the largest folders are " + strings.Join(largest, ", ")
	}
	return fmt.Errorf("%w: it has %s; remove or exclude files, or submit it with --pin WORKER, "+
		"which allows 8 GiB and any number of files", ErrTooLarge, text)
}

// sizeText returns a size like "1.5 MiB".
func sizeText(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}

// sizeAfter returns the number of nodes, and the bytes of their files, after changes.
func (f *Folder) sizeAfter(changes []*change) (count int, bytes int64) {
	count, bytes = f.count, f.bytes
	for _, c := range changes {
		if c.meta {
			continue
		}
		if c.old != nil {
			n, b := c.old.measure()
			count, bytes = count-n, bytes-b
		}
		if c.now != nil { // the files of a new folder have changes of their own
			count, bytes = count+1, bytes+c.now.size
		}
	}
	return count, bytes
}

// checkSize fails if the folder is too large after changes.
func (f *Folder) checkSize(ctx context.Context, changes []*change) error {
	count, bytes := f.sizeAfter(changes)
	if count <= f.maxFiles && bytes <= f.maxBytes {
		return nil
	}
	return f.tooLarge(ctx)
}

// A usage is the number and size of the files below a folder.
type usage struct {
	name  string
	files int
	bytes int64
}

// shownFolders is how many folders an error names.
const shownFolders = 3

// tooLarge measures the folder, and returns an error that names its largest folders.
func (f *Folder) tooLarge(ctx context.Context) error {
	var files int
	var bytes int64
	folders := map[string]*usage{}
	err := filepath.WalkDir(f.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == f.dir {
			return ctx.Err()
		}
		rel, err := filepath.Rel(f.dir, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		parent := rel[:max(0, strings.LastIndexByte(rel, '/'))]
		if f.excluded.match(parent, d.Name(), d.IsDir()) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		var size int64
		if d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				size = info.Size()
			}
		}
		files, bytes = files+1, bytes+size
		for part := range ancestors(rel) {
			u := folders[part]
			if u == nil {
				u = &usage{name: part}
				folders[part] = u
			}
			u.files, u.bytes = u.files+1, u.bytes+size
		}
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	return f.exceeds(files, bytes, f.largest(folders))
}

// ancestors returns the first two folders of a path.
func ancestors(rel string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		from := 0
		for range 2 {
			i := strings.IndexByte(rel[from:], '/')
			if i < 0 || !yield(rel[:from+i]) {
				return
			}
			from += i + 1
		}
	}
}

// largest describes the folders with the largest share of a limit. A subfolder replaces its
// parent if it has more than 70 % of the parent's share.
func (f *Folder) largest(folders map[string]*usage) (texts []string) {
	weight := func(u *usage) float64 {
		return max(float64(u.bytes)/float64(f.maxBytes), float64(u.files)/float64(f.maxFiles))
	}
	list := make([]*usage, 0, len(folders))
	for _, u := range folders {
		list = append(list, u)
	}
	slices.SortFunc(list, func(a, b *usage) int {
		return cmp.Or(cmp.Compare(weight(b), weight(a)), strings.Compare(a.name, b.name))
	})
	var shown []*usage
	for _, u := range list {
		parent, _, below := strings.Cut(u.name, "/")
		i := slices.IndexFunc(shown, func(o *usage) bool { return o.name == parent })
		switch {
		case below && i >= 0 && weight(u) > weight(shown[i])*0.7:
			shown[i] = u
		case len(shown) < shownFolders && !(below && i >= 0):
			shown = append(shown, u)
		}
	}
	for _, u := range shown {
		texts = append(texts, fmt.Sprintf("%s (%s, %d files)", u.name, sizeText(u.bytes), u.files))
	}
	return texts
}
