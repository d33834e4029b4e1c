// Package workspace reads and changes files in a workspace folder, and nowhere else. It
// is the only code of this program that changes files.
//
// It makes a path absolute and clean without reading the disk, matches it against the
// roots, and opens it through package tree, which refuses every symbolic link. Only if the
// path contains a link, it resolves the path part by part inside the roots, and opens the
// result in the same way.
//
// Every change goes through [Workspace.commit], in change.go. With the folder locked, it
// records a description of the change in the journal, and then makes the change. Dry runs,
// diffs, undo and history use the same description.
package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"textskill/skill/internal/history"
	"textskill/skill/internal/workspace/tree"
)

// Options say which folders a Workspace opens and how.
// The zero Options open the current folder for reading and writing.
type Options struct {
	Dir      string   // the workspace; "" means the current folder
	Allow    []string // further folders that count as inside
	ReadOnly bool     // every change fails with EROFS
	DryRun   bool     // describe changes without making them
	// allow changes of .git, perstack.toml, .mcp.json and other files that can make programs run code
	AllowConfig bool
	NoSync      bool    // do not flush changes and their records to disk
	State       string  // folder for the history; "" means that package history chooses
	Journal     Journal // how much is kept for undo
	Portable    bool    // use os.Root also on Linux, as on other systems
}

// A Workspace is a folder with further allowed folders, opened for confined access. It is
// safe for concurrent use. Close releases it.
type Workspace struct {
	opts  Options
	roots []*root     // the workspace first, then the allowed folders
	solo  *sync.Mutex // replaces the lock of a history that cannot be opened

	journals []*journal // of the roots
	borrowed bool       // the journals belong to another Workspace, which closes them

	author  Author // of changes
	records string // the user's state folder, if it is in a root or a root is in it; else ""
}

// A root is a folder whose content counts as inside.
type root struct {
	dir   string // absolute, without symbolic links
	given string // absolute, as the caller spelled it; may lead through links
	info  fs.FileInfo
	id    FileID
	tree  tree.Tree

	isOutput bool // the folder of the output of commands, which is read-only

	once    sync.Once
	unnamed bool // see makesUnnamed
}

// The types in which package tree describes files.
type (
	Info            = tree.Info
	FileID          = tree.FileID
	Entry           = tree.Entry
	File            = tree.File
	Block           = tree.Block
	Name            = tree.Name
	NotRegularError = tree.NotRegularError
)

// Open opens the workspace. The folders must exist.
func Open(opts Options) (*Workspace, error) {
	w := &Workspace{opts: opts, solo: new(sync.Mutex)}
	role := "workspace"
	for _, dir := range append([]string{opts.Dir}, opts.Allow...) {
		r, err := openRoot(dir, opts.Portable)
		if err != nil {
			w.Close()
			return nil, fmt.Errorf("%s %w", role, err)
		}
		role = "allowed folder"
		w.roots = append(w.roots, r)
	}
	var dirs []string
	for _, r := range w.roots {
		dirs = append(dirs, r.dir)
	}
	if records := history.UserDir(); records != "" {
		for _, r := range w.roots {
			_, holds := below(r.dir, records)
			_, inside := below(records, r.dir)
			if holds || inside {
				w.records = records
			}
		}
	}
	for _, r := range w.roots {
		w.journals = append(w.journals, w.newJournal(r, dirs))
	}
	return w, nil
}

// Narrow opens a Workspace for the folder dir inside w, with further folders allow inside
// w. It shares the journals of w. Close it before w.
func (w *Workspace) Narrow(dir string, allow ...string) (*Workspace, error) {
	opts := w.opts
	opts.Dir, opts.Allow = dir, allow
	n, err := Open(opts)
	if err != nil {
		return nil, err
	}
	n.journals, n.borrowed = w.journals, true
	return n, nil
}

// Close releases the folders. Operations that are still running may fail.
func (w *Workspace) Close() error {
	var errs []error
	if !w.borrowed {
		for _, j := range w.journals {
			j.close()
		}
	}
	for _, r := range w.roots {
		errs = append(errs, r.tree.Close())
	}
	return errors.Join(errs...)
}

// Dir returns the workspace's absolute path without symbolic links.
func (w *Workspace) Dir() string { return w.roots[0].dir }

// A Root is a folder that counts as inside.
type Root struct {
	Dir   string // absolute, without symbolic links
	Given string // absolute, as the caller spelled it; may lead through links
	ID    FileID
}

// Roots returns the workspace's folders, its own first.
func (w *Workspace) Roots() []Root {
	list := make([]Root, len(w.roots))
	for i, r := range w.roots {
		list[i] = Root{r.dir, r.given, r.id}
	}
	return list
}

// Options returns the options that the workspace was opened with.
func (w *Workspace) Options() Options { return w.opts }

func openRoot(dir string, portable bool) (*root, error) {
	given, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(given)
	if err != nil {
		if pe, ok := errors.AsType[*fs.PathError](err); ok {
			err = pe.Err
		}
		return nil, fmt.Errorf("%s: %w", given, err)
	}
	info, err := os.Stat(real)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is %w", given, syscall.ENOTDIR)
	}
	t, err := tree.Open(real, portable)
	if err != nil {
		return nil, err
	}
	top, err := t.OpenFolder(".")
	if err != nil {
		t.Close()
		return nil, err
	}
	defer top.Close()
	return &root{dir: real, given: given, info: info, id: top.ID(), tree: t}, nil
}

// ErrReplaced reports that another folder now has the path of a root.
var ErrReplaced = errors.New("was replaced by another folder")

// CheckReplaced fails if a root of w was removed, or with [ErrReplaced] if another file has
// its path. It succeeds for a renamed root whose old path does not exist, because it still works.
func (w *Workspace) CheckReplaced() error {
	for _, r := range w.roots {
		id, err := tree.IDAt(r.dir)
		switch {
		case err == nil && id != r.id:
			return fmt.Errorf("the workspace %s %w; start skill again to use that", r.dir, ErrReplaced)
		case errors.Is(err, fs.ErrNotExist):
			if info, err := r.tree.Stat("."); err == nil && info.Links == 0 {
				return fmt.Errorf("the workspace %s was removed; make the folder again, or start skill with -C for another", r.dir)
			}
		}
	}
	return nil
}
