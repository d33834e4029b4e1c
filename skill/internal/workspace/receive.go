package workspace

import (
	"context"
	"io"
	"os"

	"textskill/skill/internal/workspace/tree"
)

// Receive calls produce, and writes its output to the file abs. If produce fails, Receive changes
// nothing and returns that error unchanged. It holds no lock while produce runs. Other errors are as
// for [Workspace.WriteFile]; Receive returns them before it calls produce, as far as possible.
func (w *Workspace) Receive(ctx context.Context, abs string, o WriteOptions,
	produce func(dst io.Writer) error) (Change, error) {
	c := Change{Kind: Write, Path: abs}
	noDiff := func(tree.Folder, string, *Info) (string, error) { return "", nil }
	dry := o
	dry.DryRun = true
	if err := w.write(ctx, &c, dry, writing{preview: noDiff}); err != nil || o.DryRun || w.opts.DryRun {
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

// An onlyWriter hides the other methods of a file from its writer.
type onlyWriter struct{ io.Writer }

// openSpool creates a file for the output of produce: an unnamed file in the workspace if possible,
// else a file in the system's temporary folder.
func openSpool(top tree.Folder) (*spool, error) {
	if f, err := top.CreateUnnamed(0o600); err == nil {
		return &spool{f, func() { f.Close() }}, nil
	}
	f, err := tree.CreateTemp()
	if err != nil {
		return nil, err
	}
	return &spool{f, func() { f.Close(); os.Remove(f.Name()) }}, nil
}

// A spool is a file that disappears when it is closed.
type spool struct {
	file  *os.File
	close func()
}
