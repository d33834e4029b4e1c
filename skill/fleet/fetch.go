package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"textskill/skill/fleet/pack"
)

// Fetch restores the files of a run after its last stored step. The directory must be empty
// or missing. Fetch returns the state of the run at that step.
func Fetch(ctx context.Context, p Plane, id, dir string, owner Tenant) (Run, error) {
	r, err := p.Run(ctx, id)
	if err != nil {
		return r, err
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return r, fmt.Errorf("%s is not empty; name an empty or a new directory", dir)
	} else if err != nil && !errors.Is(err, os.ErrNotExist) {
		return r, err
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return r, err
	}
	if err := os.MkdirAll(filepath.Dir(abs), 0o777); err != nil {
		return r, err
	}
	for {
		err := restoreAt(ctx, owner.pack(p.Blobs(r.Workspace), true), r.Manifest, abs)
		if !errors.Is(err, ErrNoBlob) {
			return r, addKeyHint(err, r.Tenant)
		}
		now, again := p.Run(ctx, id) // a later step may have purged the blob
		if again != nil || now.Manifest == r.Manifest {
			return r, explainMissing(ctx, p, r, err)
		}
		r = now
	}
}

// explainMissing returns an error about files of r that are missing in the store. A later run
// of the workspace purges them.
func explainMissing(ctx context.Context, p Plane, r Run, err error) error {
	runs, _ := p.Runs(ctx, r.Tenant)
	last := r
	for _, other := range runs {
		if other.Workspace == r.Workspace && other.Updated.After(last.Updated) {
			last = other
		}
	}
	if last.ID == r.ID {
		return fmt.Errorf("files of run %s are missing in the store: %w", r.ID, err)
	}
	return fmt.Errorf("the files of run %s are gone: run %s has worked in the workspace %s since; "+
		"fetch run %[2]s", r.ID, last.ID, r.Workspace)
}

// restoreAt restores a whole manifest, or nothing. It does not replace an empty directory: a
// shell may be in it, or it may be a mount point or a symbolic link.
func restoreAt(ctx context.Context, o pack.Options, manifest, dir string) error {
	if _, err := os.Stat(dir); err == nil {
		_, err := pack.Restore(ctx, o, manifest, dir)
		return err
	}
	part, err := os.MkdirTemp(filepath.Dir(dir), ".fetch-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(part)
	whole := filepath.Join(part, "workspace")
	if err := os.Mkdir(whole, 0o777); err != nil {
		return err
	}
	if _, err := pack.Restore(ctx, o, manifest, whole); err != nil {
		return err
	}
	return os.Rename(whole, dir)
}
