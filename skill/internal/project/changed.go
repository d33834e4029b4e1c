package project

import (
	"context"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"textskill/skill/internal/search"
	"textskill/skill/internal/workspace"
)

// A stamp identifies a version of a file.
type stamp struct {
	id   workspace.FileID
	size int64
	time time.Time
}

// maxStamps is the largest number of files among which changed ones are searched for.
const maxStamps = 50000

// stamps returns the stamps of the files at and below the absolute path target, nil if
// there are more than maxStamps. It skips directories of dependencies and build output.
func (x *Tools) stamps(ctx context.Context, target string) map[string]stamp {
	all := map[string]stamp{}
	add := func(name string) {
		if info, err := x.ws.Stat(name, false); err == nil && info.Mode.IsRegular() {
			all[name] = stamp{info.ID, info.Size, info.ModTime}
		}
	}
	if !x.isDir(target) {
		add(target)
		return all
	}
	_, err := search.Walk(ctx, x.ws, target, search.WalkOptions{Workers: 1},
		func(_ int, e *search.Entry) error {
			switch name := string(e.Name); {
			case e.Type.IsDir() && slices.Contains([]string{"node_modules", ".venv", "venv", "target",
				"__pycache__"}, name):
				return fs.SkipDir
			case len(all) == maxStamps:
				all = nil
				return fs.SkipAll
			case e.Type.IsRegular():
				add(filepath.Join(target, filepath.FromSlash(e.Path())))
			}
			return nil
		})
	if err != nil {
		return nil
	}
	return all
}

// isDir reports whether abs is a directory, or a link to one.
func (x *Tools) isDir(abs string) bool {
	info, err := x.ws.Stat(abs, true)
	return err == nil && info.IsDir()
}

// changed returns the paths in after whose stamps are new or differ, sorted.
func changed(before, after map[string]stamp) (names []string) {
	for name, s := range after {
		if old, ok := before[name]; !ok || old != s {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
