package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"textskill/skill/internal/history"
	"textskill/skill/internal/refusal"
)

// State opens the folder [history.Output] or [history.Servers] in the history. If the folder does not
// exist, State makes it, with access for this user only. The caller closes it. The error is EROFS if
// the workspace is opened read-only or for a dry run.
func (w *Workspace) State(name string) (*os.Root, error) {
	if w.opts.ReadOnly || w.opts.DryRun {
		return nil, wrap("mkdir", filepath.Join(w.Dir(), name), syscall.EROFS)
	}
	s, err := w.journals[0].open()
	if err != nil {
		return nil, err
	}
	return s.Folder(name)
}

// Runs opens the folder in the history that holds the hashes of experts' records. The caller closes
// it. In a read-only workspace the error is fs.ErrNotExist if the folder does not exist.
func (w *Workspace) Runs() (*os.Root, error) {
	s, err := w.journals[0].open()
	if err != nil {
		return nil, err
	}
	return s.Folder(history.Runs)
}

// OutputDir returns the path of the folder with the output of commands, which may not exist. It returns
// "" if there is no place for a history. Operations may read the folder like a part of the workspace,
// and may not change it.
func (w *Workspace) OutputDir() string {
	j := w.journals[0]
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.outputDir()
}

func (j *journal) outputDir() string {
	if j.store != nil {
		return filepath.Join(j.store.Path(), history.Output)
	}
	p, err := history.Find(j.options)
	if err != nil {
		return ""
	}
	return filepath.Join(p.Path, p.Key, history.Output)
}

// outputs returns the folder of the output of commands as a root, nil if the folder does not exist. It
// also returns nil for a folder in the workspace: there the workspace's root confines access, since
// commands may have changed the folder.
func (j *journal) outputs() *root {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.output != nil || j.closed {
		return j.output
	}
	dir := j.outputDir()
	if _, inside := below(j.root.dir, dir); inside || dir == "" {
		return nil
	}
	if r, err := openRoot(dir, j.options.Portable); err == nil {
		r.isOutput = true
		j.output = r
	}
	return j.output
}

// matchOutput is matchRoot for the folder of the output of commands.
func (w *Workspace) matchOutput(abs string) (location, bool) {
	if !strings.Contains(abs, string(filepath.Separator)+history.Output) {
		return location{}, false
	}
	r := w.journals[0].outputs()
	if r == nil {
		return location{}, false
	}
	rel, ok := below(r.dir, abs)
	return location{r, rel}, ok
}

// deniedOutput is denied for the output of commands. ok is false if p is not in that folder.
func (w *Workspace) deniedOutput(p location, q request) (err error, ok bool) {
	switch {
	case p.root.isOutput:
	case strings.HasPrefix(p.rel, StateDir+"/"):
		if _, ok := below(w.OutputDir(), p.path()); !ok {
			return nil, false
		}
	default:
		return nil, false
	}
	if q.access == toRead {
		return nil, true
	}
	return refusal.Denied(q.abs, ownRecords), true
}
