package workspace

import (
	"context"
	"io"
	"os"

	"textskill/skill/internal/workspace/tree"
)

// Receive makes what produce writes the content of the file abs, once all of it is
// there: a produce that fails changes nothing, and its error is returned as it is.
// Nothing is locked while it writes. Errors are otherwise those of
// [Workspace.WriteFile]; what can be known of them beforehand comes before produce
// is called.
func (w *Workspace) Receive(ctx context.Context, abs string, o WriteOptions, produce func(dst io.Writer) error) (Change, error) {
	c := Change{Kind: Write, Path: abs}
	noDiff := func(tree.Folder, string, *Info) (string, error) { return "", nil }
	ahead := o
	ahead.DryRun = true
	if err := w.write(ctx, &c, ahead, nil, noDiff); err != nil || o.DryRun || w.opts.DryRun {
		return c, err
	}
	top, err := w.roots[0].tree.OpenFolder(".")
	if err != nil {
		return c, err
	}
	defer top.Close()
	spool, err := openSpool(top)
	if err != nil {
		return c, wrapMkdir("open", abs, w.Dir(), err)
	}
	defer spool.close()
	if err := produce(onlyWriter{spool.file}); err != nil {
		return c, err
	}
	err = w.write(ctx, &c, o, func(p location, d tree.Folder, old *Info) error {
		return w.replace(ctx, &c, p, d, old, func(dst *os.File) error {
			if _, err := spool.file.Seek(0, io.SeekStart); err != nil {
				return err
			}
			_, err := io.Copy(dst, spool.file)
			return err
		})
	}, noDiff)
	return c, err
}

// onlyWriter hides from a producer that it writes to a file.
type onlyWriter struct{ io.Writer }

// openSpool makes a file for what is received: in the workspace where it can be
// one without a name, else in the folder for temporary files.
func openSpool(top tree.Folder) (*spool, error) {
	if f, err := top.CreateUnnamed(0o600); err == nil {
		return &spool{f, func() { f.Close() }}, nil
	}
	f, err := os.CreateTemp("", "skill-*")
	if err != nil {
		return nil, err
	}
	return &spool{f, func() { f.Close(); os.Remove(f.Name()) }}, nil
}

// spool is a file that is gone when it is closed.
type spool struct {
	file  *os.File
	close func()
}
