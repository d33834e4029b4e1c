package workspace

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"textskill/skill/internal/state"
	"textskill/skill/internal/workspace/tree"
)

// Unflushed is changes that are made and may not survive a power cut: one wait for the disk
// serves all of them. It holds what they need open, a descriptor for each folder. It is not
// safe for concurrent use.
type Unflushed struct {
	open    []*state.Change // the records
	folders []tree.Folder   // that were changed
	files   []*os.File      // that were written in place
	noSync  bool
}

// Len returns the number of records of changes that are not flushed.
func (u *Unflushed) Len() int { return len(u.open) }

// Open returns the number of descriptors of folders and files that it holds.
func (u *Unflushed) Open() int { return len(u.folders) + len(u.files) }

// add takes over what another one holds.
func (u *Unflushed) add(made Unflushed) {
	u.noSync = made.noSync
	u.open, u.files = append(u.open, made.open...), append(u.files, made.files...)
	for _, d := range made.folders {
		if slices.ContainsFunc(u.folders, func(have tree.Folder) bool { return have.ID() == d.ID() }) {
			d.Close()
		} else {
			u.folders = append(u.folders, d)
		}
	}
}

// Flush returns once the changes are durable.
func (u *Unflushed) Flush() error {
	defer u.close()
	return u.flush()
}

// flush makes the records durable before the folders, and both before the files.
func (u *Unflushed) flush() error {
	if u.noSync {
		return nil
	}
	var logs []*state.Change // one of each
	for _, c := range u.open {
		if !slices.ContainsFunc(logs, func(l *state.Change) bool { return l.Images().ID() == c.Images().ID() }) {
			logs = append(logs, c)
		}
	}
	var errs []error
	for i, c := range logs {
		if i < len(logs)-1 {
			errs = append(errs, c.Flush())
		} else {
			errs = append(errs, c.Flush(u.folders...))
		}
	}
	if len(logs) == 0 {
		errs = append(errs, syncFolders(u.folders))
	}
	for _, f := range u.files {
		errs = append(errs, tree.Datasync(f))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("it is changed, but may not survive a power cut: %w", err)
	}
	return nil
}

// close closes all, and leaves nothing to flush.
func (u *Unflushed) close() {
	for _, f := range u.files {
		f.Close()
	}
	for _, c := range u.open {
		c.Close()
	}
	for _, d := range u.folders {
		d.Close()
	}
	*u = Unflushed{}
}

// syncFolders makes the names in folders durable.
func syncFolders(folders []tree.Folder) error {
	var errs []error
	for _, d := range folders {
		errs = append(errs, state.SyncFolder(d))
	}
	return errors.Join(errs...)
}
