package skill

import (
	"cmp"
	"context"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"textskill/skill/internal/search"
	"textskill/skill/internal/words"
)

// ScanProject looks over a folder: what is in it, and which tools it is made for. What
// is in .git and node_modules is left out. A file holds nothing.
type ScanProject struct {
	Path  string
	Limit int // files and folders at the most, together; 0 means 101
}

func (ScanProject) op() {}

// Project is what ScanProject saw.
type Project struct {
	Name                     string   // of the folder
	Files, Dirs              []string // relative to it, those in few folders first; links to folders are among the Dirs
	Total                    int      // how many files and folders there are
	Least                    bool     // there are more than Total, which were not counted
	Unreadable               int      // folders that could not be read
	Git, Python, Node, Image bool     // there is a .git, pyproject.toml, package.json, Dockerfile
}

// Message counts what is there.
func (p Project) Message() string {
	return p.Name + " holds " + words.Count(p.Total, "file or folder", "files and folders")
}

// scanned is how many names a scan looks at.
const scanned = 100_000

func (x *Executor) scanProject(ctx context.Context, s *Session, a ScanProject) (Result, error) {
	abs, err := x.path(s, "path", a.Path)
	if err != nil {
		return nil, err
	}
	info, err := x.ws.Stat(abs, true)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return Project{Name: filepath.Base(abs), Files: []string{}, Dirs: []string{}}, nil
	}
	entries, unreadable, err := x.scan(ctx, abs)
	if err != nil {
		return nil, err
	}
	p := Project{Name: filepath.Base(abs), Files: []string{}, Dirs: []string{}, Total: len(entries), Least: len(entries) == scanned, Unreadable: unreadable}
	limit := cmp.Or(a.Limit, 101)
	for _, e := range entries[:min(limit, len(entries))] {
		if e.folder {
			p.Dirs = append(p.Dirs, e.path)
		} else {
			p.Files = append(p.Files, e.path)
		}
	}
	has := func(name string) bool {
		_, err := x.ws.Stat(filepath.Join(abs, name), true)
		return err == nil
	}
	p.Git, p.Python, p.Node, p.Image = has(".git"), has("pyproject.toml"), has("package.json"), has("Dockerfile")
	return p, nil
}

// projectEntry is one name of a project.
type projectEntry struct {
	path   string // relative
	depth  int
	folder bool
}

// scan lists what is below abs, the highest first, then by name.
func (x *Executor) scan(ctx context.Context, abs string) (list []projectEntry, unreadable int, err error) {
	var mu sync.Mutex
	walked, err := search.Walk(ctx, x.ws, abs, search.WalkOptions{Git: true}, func(_ int, e *search.Entry) error {
		path := e.Path()
		folder := e.Type.IsDir() || e.Type == fs.ModeSymlink && x.isFolder(filepath.Join(abs, path))
		mu.Lock()
		defer mu.Unlock()
		if len(list) == scanned {
			return fs.SkipAll
		}
		list = append(list, projectEntry{path, e.Depth, folder})
		if name := string(e.Name); folder && (name == ".git" || name == "node_modules") {
			return fs.SkipDir
		}
		return nil
	})
	slices.SortFunc(list, func(a, b projectEntry) int {
		return cmp.Or(cmp.Compare(a.depth, b.depth), strings.Compare(a.path, b.path))
	})
	return list, walked.Unreadable, err
}
