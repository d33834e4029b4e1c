package workspace

import (
	"errors"
	"fmt"
	"slices"

	"textskill/skill/internal/history"
	"textskill/skill/internal/workspace/tree"
)

// Unflushed collects changes that are not flushed to disk yet, and flushes them together. Until then a
// power cut may lose them. It keeps a descriptor of each changed folder open. It is not safe for
// concurrent use.
type Unflushed struct {
	count   int              // number of ops
	stores  []*history.Store // the histories of the ops
	folders []tree.Folder    // the changed folders
	noSync  bool
}

// Len returns the number of changes that are not flushed.
func (u *Unflushed) Len() int { return u.count }

// Open returns the number of open folders.
func (u *Unflushed) Open() int { return len(u.folders) }

// add takes over the changes of made.
func (u *Unflushed) add(made Unflushed) {
	u.noSync = made.noSync
	u.count += made.count
	for _, s := range made.stores {
		if !slices.Contains(u.stores, s) {
			u.stores = append(u.stores, s)
		}
	}
	for _, d := range made.folders {
		if slices.ContainsFunc(u.folders, func(have tree.Folder) bool { return have.ID() == d.ID() }) {
			d.Close()
		} else {
			u.folders = append(u.folders, d)
		}
	}
}

// Flush makes the changes durable.
func (u *Unflushed) Flush() error {
	defer u.close()
	return u.flush()
}

// flush makes the ops durable before the folders.
func (u *Unflushed) flush() error {
	if u.noSync {
		return nil
	}
	var errs []error
	for _, s := range u.stores[min(1, len(u.stores)):] {
		errs = append(errs, s.Flush())
	}
	for _, s := range u.stores { // and the names of its blobs
		errs = append(errs, s.Flush(u.folders...))
	}
	if len(u.stores) == 0 {
		errs = append(errs, syncFolders(u.folders))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("it is changed, but may not survive a power cut: %w", err)
	}
	return nil
}

// close closes the folders and empties u.
func (u *Unflushed) close() {
	for _, d := range u.folders {
		d.Close()
	}
	*u = Unflushed{}
}

// syncFolders makes the names in folders durable.
func syncFolders(folders []tree.Folder) error {
	var errs []error
	for _, d := range folders {
		errs = append(errs, history.SyncFolder(d))
	}
	return errors.Join(errs...)
}
