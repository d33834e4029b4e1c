package workspace

import (
	"context"
	"io"
	"os"

	"textskill/skill/internal/workspace/tree"
)

// Receive calls produce and makes what it writes the content of the file abs. If
// produce fails, nothing is changed, and its error is returned unchanged. Nothing is
// locked while produce runs. Other errors are as for [Workspace.WriteFile]; those that
// can be known beforehand are returned before produce is called.
func (w *Workspace) Receive(ctx context.Context, abs string, o WriteOptions,
	produce func(dst io.Writer) error) (Change, error) {
	c := Change{Kind: Write, Path: abs}
	noDiff := func(tree.Folder, string, *Info) (string, error) { return "", nil }
	ahead := o
	ahead.DryRun = true
	if err := w.write(ctx, &c, ahead, nil, nil, noDiff); err != nil || o.DryRun || w.opts.DryRun {
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
	spooled := fill{write: func(dst *os.File) error {
		if _, err := spool.file.Seek(0, io.SeekStart); err != nil {
			return err
		}
		_, err := io.Copy(dst, spool.file)
		return err
	}}
	err = w.writeWhole(ctx, &c, o, spooled, noDiff)
	return c, err
}

// An onlyWriter hides the other methods of a file from what writes to it.
type onlyWriter struct{ io.Writer }

// openSpool makes a file for what is received: in the workspace if it can be an unnamed
// one, else in the system's temporary folder.
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

// A spool is a file that no longer exists once it is closed.
type spool struct {
	file  *os.File
	close func()
}
