package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"textskill/skill/internal/history"
	"textskill/skill/internal/refusal"
)

// State opens a folder of the history for this program's records, and makes it for this user
// alone if it does not exist: [history.Output], whose files operations read, or
// [history.Servers]. The caller closes it. The error is EROFS if the workspace is opened
// read-only or for a dry run.
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

// Runs opens the folder of the history that holds the sums of experts' records. If the
// workspace is opened read-only, the error is fs.ErrNotExist where it does not exist. The caller
// closes it.
func (w *Workspace) Runs() (*os.Root, error) {
	s, err := w.journals[0].open()
	if err != nil {
		return nil, err
	}
	return s.Folder(history.Runs)
}

// OutputDir returns the folder that holds the output of commands, whether it exists or not; ""
// if there is no place for a history. Operations read it like a part of the workspace, and
// do not change it.
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

// outputs returns the folder of the output of commands as a root; nil if that folder does not exist, or if
// it is in the workspace, whose own root confines what commands could have put there.
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

// matchOutput finds a path in the folder of the output of commands by its spelling.
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

// deniedOutput is denied for the output of commands; ok is false if p is elsewhere.
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
