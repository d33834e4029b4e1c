package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// OutputDir is the folder, at the root of a workspace, that holds the output of
// commands. It is the only part of [StateDir] that operations read; none changes it.
const OutputDir = StateDir + "/output"

// State opens a folder in [StateDir], for this program's own records, and creates it
// for this user alone if it does not exist. The caller closes it. The error is EROFS if
// the workspace is opened read-only or for a dry run.
func (w *Workspace) State(name string) (*os.Root, error) {
	if w.opts.ReadOnly || w.opts.DryRun {
		return nil, wrap("mkdir", w.Abs("", StateDir), syscall.EROFS)
	}
	top, err := os.OpenRoot(w.Dir())
	if err != nil {
		return nil, err
	}
	defer top.Close()
	own, made, err := enterState(top, StateDir)
	if err != nil {
		return nil, err
	}
	defer own.Close()
	if made {
		if err := own.WriteFile(".gitignore", []byte("*\n"), 0o600); err != nil {
			return nil, err
		}
	}
	dir, _, err := enterState(own, name)
	return dir, err
}

// enterState opens the folder name of in, which must not be a link, and creates it if
// it does not exist.
func enterState(in *os.Root, name string) (dir *os.Root, made bool, err error) {
	err = in.Mkdir(name, 0o700)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, false, err
	}
	made = err == nil
	info, err := in.Lstat(name)
	switch {
	case err != nil:
		return nil, false, err
	case !info.IsDir():
		return nil, false, fmt.Errorf("%s/%s is not a directory; this program keeps its own records there", in.Name(), name)
	}
	dir, err = in.OpenRoot(name)
	return dir, made, err
}
