package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"textskill/skill/internal/workspace/tree"
)

// named makes the path in an error absolute, below dir, and gives the failed call its usual name.
func named(dir string, err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok && !filepath.IsAbs(e.Path) {
		e.Op, e.Path = strings.TrimSuffix(e.Op, "at"), filepath.Join(dir, e.Path)
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok && !filepath.IsAbs(e.Old) {
		e.Op, e.Old, e.New = strings.TrimSuffix(e.Op, "at"), filepath.Join(dir, e.Old),
			filepath.Join(dir, e.New)
	}
	return err
}

// isFull reports whether an error means that a disk or quota is full.
func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// noRoom adds the folder and the purpose to an error of a full disk.
func (s *Store) noRoom(what string, err error) error {
	if !isFull(err) {
		return err
	}
	return fmt.Errorf("no room in %s for %s: %w; make room there, or go without undo with --no-journal",
		s.Path(), what, tree.Cause(err))
}

// namesIn lists a folder of the store.
func namesIn(dir *os.Root, name string) ([]string, error) {
	d, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Readdirnames(-1)
}

// readJSON reads a small file of the store.
func readJSON(dir *os.Root, name string, v any) error {
	data, err := dir.ReadFile(name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// writeJSON replaces a small file of the store.
func writeJSON(dir *os.Root, name string, v any, sync bool) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return writeFile(dir, name, append(data, '\n'), time.Time{}, sync)
}

// writeFile replaces a file of the store atomically. If modified is not zero, it becomes the
// modification time.
func writeFile(dir *os.Root, name string, data []byte, modified time.Time, sync bool) error {
	fresh := fmt.Sprintf("%s.%x", name, rand.Uint64())
	f, err := dir.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && sync {
		err = tree.Datasync(f)
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil && !modified.IsZero() {
		err = dir.Chtimes(fresh, modified, modified)
	}
	if err == nil {
		err = dir.Rename(fresh, name)
	}
	if err != nil {
		dir.Remove(fresh)
		return err
	}
	if sync {
		return syncNames(dir.Open(filepath.Dir(name)))
	}
	return nil
}

// syncNames makes the names in a folder durable.
func syncNames(dir *os.File, err error) error {
	if err != nil {
		return err
	}
	defer dir.Close()
	return fsync(int(dir.Fd()))
}
