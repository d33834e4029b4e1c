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

// ScanProject lists what a directory contains and which tools it is set up for. It skips
// the contents of .git and node_modules. For a file, the lists are empty. It returns a
// [Project].
type ScanProject struct {
	Path  string
	Limit int // maximum number of files and directories together; 0 means 101
}

func (ScanProject) op() {}

// Project is the result of [ScanProject].
type Project struct {
	Name string // of the directory
	// relative paths, the least deep first; links to directories are among the Dirs
	Files, Dirs              []string
	Total                    int  // number of files and directories
	AtLeast                  bool // there are more than Total
	Unreadable               int  // number of directories that could not be read
	Git, Python, Node, Image bool // whether there is a .git, pyproject.toml, package.json, Dockerfile
}

// Message says how many files and directories there are.
func (p Project) Message() string {
	return p.Name + " holds " + words.Count(p.Total, "file or folder", "files and folders")
}

// maxScanned is how many entries a scan counts at most.
const maxScanned = 100_000

func (x *Executor) ScanProject(ctx context.Context, s *Session, a ScanProject) (Project, error) {
	abs, err := x.path(s, "path", a.Path)
	if err != nil {
		return Project{}, err
	}
	info, err := x.ws.Stat(abs, true)
	if err != nil {
		return Project{}, err
	}
	if !info.IsDir() {
		return Project{Name: filepath.Base(abs), Files: []string{}, Dirs: []string{}}, nil
	}
	entries, unreadable, err := x.scan(ctx, abs)
	if err != nil {
		return Project{}, err
	}
	p := Project{Name: filepath.Base(abs), Files: []string{}, Dirs: []string{}, Total: len(entries),
		AtLeast: len(entries) == maxScanned, Unreadable: unreadable}
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
	p.Git, p.Python, p.Node, p.Image = has(".git"), has("pyproject.toml"), has("package.json"),
		has("Dockerfile")
	return p, nil
}

// projectEntry is a file or directory of a project.
type projectEntry struct {
	path   string // relative
	depth  int
	folder bool
}

// scan lists the entries below abs by depth, then by path.
func (x *Executor) scan(ctx context.Context, abs string) (list []projectEntry, unreadable int, err error) {
	var mu sync.Mutex
	walked, err := search.Walk(ctx, x.ws, abs, search.WalkOptions{Git: true},
		func(_ int, e *search.Entry) error {
			path := e.Path()
			folder := e.Type.IsDir() || e.Type == fs.ModeSymlink && x.isFolder(filepath.Join(abs, path))
			mu.Lock()
			defer mu.Unlock()
			if len(list) == maxScanned {
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
