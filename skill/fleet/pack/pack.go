// Package pack keeps the files of a folder in blobs, so that another machine can restore
// them with the same bytes.
package pack

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Blobs is what packs are stored in. They are safe for concurrent use.
type Blobs interface {
	Put(ctx context.Context, sum string, data []byte) error
	Get(ctx context.Context, sum string) ([]byte, error)
}

// Options say where the files of a folder are stored, and which of them.
type Options struct {
	Blobs    Blobs
	Key      []byte   // 32 bytes, with which the blobs are encrypted; nil means that they are not
	Exclude  []string // further patterns, as in .gitignore, of files that stay on the machine
	MaxBytes int64    // of all files; 0 means 2 GiB
	MaxFiles int      // with links and folders; 0 means 200,000
}

// A Folder is a folder whose files are stored in blobs. It is for one goroutine at a time.
type Folder struct {
	o    Options
	dir  string
	sums map[string]bool
}

type file struct {
	Name []byte
	Mode fs.FileMode
	Time time.Time
	Blob string
}

// Open returns a folder of which nothing is stored yet.
func Open(o Options, dir string) (*Folder, error) {
	return &Folder{o: o, dir: dir, sums: map[string]bool{}}, nil
}

// Restore writes the files of a manifest into an empty folder.
func Restore(ctx context.Context, o Options, manifest, dir string) (*Folder, error) {
	f := &Folder{o: o, dir: dir, sums: map[string]bool{manifest: true}}
	data, err := o.Blobs.Get(ctx, manifest)
	if err != nil {
		return nil, err
	}
	var files []file
	if err := json.Unmarshal(data, &files); err != nil {
		return nil, err
	}
	for _, e := range files {
		path := filepath.Join(dir, string(e.Name))
		if e.Mode.IsDir() {
			if err := os.Mkdir(path, e.Mode.Perm()|0o700); err != nil {
				return nil, err
			}
			continue
		}
		if data, err = o.Blobs.Get(ctx, e.Blob); err != nil {
			return nil, err
		}
		f.sums[e.Blob] = true
		if err := os.WriteFile(path, data, e.Mode.Perm()); err != nil {
			return nil, err
		}
		if err := os.Chtimes(path, e.Time, e.Time); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// Snapshot stores what has changed since the last successful one and returns the sum of
// the new manifest. changed are paths relative to the folder, with slashes, of files that
// may have changed; one of a folder stands for all below it. walk makes it look at every
// file.
func (f *Folder) Snapshot(ctx context.Context, changed []string, walk bool) (manifest string, err error) {
	sums := map[string]bool{}
	put := func(data []byte) (string, error) {
		sum := sha256.Sum256(data)
		name := hex.EncodeToString(sum[:])
		sums[name] = true
		return name, f.o.Blobs.Put(ctx, name, data)
	}
	var files []file
	err = filepath.WalkDir(f.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == f.dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(f.dir, path)
		e := file{Name: []byte(filepath.ToSlash(rel)), Mode: info.Mode(), Time: info.ModTime()}
		if err == nil && info.Mode().IsRegular() {
			var data []byte
			if data, err = os.ReadFile(path); err == nil {
				e.Blob, err = put(data)
			}
		}
		if info.Mode().IsRegular() || info.IsDir() {
			files = append(files, e)
		}
		return err
	})
	if err != nil {
		return "", err
	}
	data, err := json.Marshal(files)
	if err != nil {
		return "", err
	}
	if manifest, err = put(data); err != nil {
		return "", err
	}
	f.sums = sums
	return manifest, nil
}

// Sums returns the sums of the blobs that the last manifest needs, itself among them.
func (f *Folder) Sums() map[string]bool { return f.sums }

// A TooLargeError says that a folder has more than may be stored.
type TooLargeError struct {
	Bytes, MaxBytes int64
	Files, MaxFiles int
	Largest         []string // folders
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the folder has %d files of %d bytes; at most %d files of %d bytes move between machines: use --pin", e.Files, e.Bytes, e.MaxFiles, e.MaxBytes)
}

// SharedFilesystem returns the kind of file system that a folder is on, such as "nfs", if
// that is one that machines share; "" if it is local or not known.
func SharedFilesystem(dir string) (kind string, err error) {
	if _, err := os.Stat(dir); err != nil {
		return "", errors.Unwrap(err)
	}
	return "", nil
}
