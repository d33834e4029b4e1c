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

// stamp is what of a file changes when it is written.
type stamp struct {
	id   workspace.FileID
	size int64
	time time.Time
}

// maxStamps is how many files are looked at to find those that a program changed.
const maxStamps = 50000

// stamps returns those of the files at and below the absolute name target, nil
// where there are too many. Folders with what others made are left out.
func (x *Tools) stamps(ctx context.Context, target string) map[string]stamp {
	all := map[string]stamp{}
	note := func(name string) {
		if info, err := x.ws.Stat(name, false); err == nil && info.Mode.IsRegular() {
			all[name] = stamp{info.ID, info.Size, info.ModTime}
		}
	}
	if !x.isFolder(target) {
		note(target)
		return all
	}
	_, err := search.Walk(ctx, x.ws, target, search.WalkOptions{Workers: 1}, func(_ int, e *search.Entry) error {
		switch name := string(e.Name); {
		case e.Type.IsDir() && slices.Contains([]string{"node_modules", ".venv", "venv", "target", "__pycache__"}, name):
			return fs.SkipDir
		case len(all) == maxStamps:
			all = nil
			return fs.SkipAll
		case e.Type.IsRegular():
			note(filepath.Join(target, filepath.FromSlash(e.Path())))
		}
		return nil
	})
	if err != nil {
		return nil
	}
	return all
}

// isFolder reports whether abs is a folder, or a link to one.
func (x *Tools) isFolder(abs string) bool {
	info, err := x.ws.Stat(abs, true)
	return err == nil && info.IsDir()
}

// changed returns the names whose stamps differ, sorted.
func changed(before, after map[string]stamp) (names []string) {
	for name, s := range after {
		if old, ok := before[name]; !ok || old != s {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
