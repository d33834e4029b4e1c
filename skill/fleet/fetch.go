package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"textskill/skill/fleet/pack"
)

// Fetch restores the files of a run, as they were after its last stored step, into a
// directory that is empty or does not exist. It returns the run as it was then.
func Fetch(ctx context.Context, p Plane, id, dir string, owner Tenant) (Run, error) {
	r, err := p.Run(ctx, id)
	if err != nil {
		return r, err
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return r, fmt.Errorf("%s is not empty; nothing in it is replaced, so name another directory", dir)
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
			return r, aboutKey(err, r.Tenant)
		}
		now, again := p.Run(ctx, id) // perhaps a later step needs the blob no more
		if again != nil || now.Manifest == r.Manifest {
			return r, gone(ctx, p, r, err)
		}
		r = now
	}
}

// gone words the error of files that the store has no more: a later run of the workspace leaves
// its own only.
func gone(ctx context.Context, p Plane, r Run, err error) error {
	runs, _ := p.Runs(ctx, r.Tenant)
	last := r
	for _, other := range runs {
		if other.Workspace == r.Workspace && other.Updated.After(last.Updated) {
			last = other
		}
	}
	if last.ID == r.ID {
		return fmt.Errorf("the files of run %s are not all in the store: %w", r.ID, err)
	}
	return fmt.Errorf("the files of run %s are gone: run %s has worked in the workspace %s since; fetch that one", r.ID, last.ID, r.Workspace)
}

// restoreAt restores a manifest whole, or nothing of it. An empty directory stays the same one:
// it may be the current one of a shell, a link to another, or the root of a file system.
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
