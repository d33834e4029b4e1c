package pack

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"textskill/skill/internal/workspace/tree"
)

// Restore writes the files of a manifest into an empty folder. It checks the sums of all blobs,
// and writes only inside of the folder, even for a hostile manifest. After an error it empties
// the folder; the error says so if files are left.
func Restore(ctx context.Context, o Options, manifest, dir string) (*Folder, error) {
	f, err := Open(o, dir)
	if err != nil {
		return nil, err
	}
	t, err := tree.Open(dir, false)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	defer t.Close()
	top, err := t.OpenFolder(".")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	defer top.Close()
	switch entries, err := top.Entries(); {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", dir, err)
	case len(entries) > 0:
		return nil, fmt.Errorf("%s is not empty: it has %q; name an empty folder", dir, entries[0].Name)
	}
	if err := f.load(ctx, manifest); err != nil {
		return nil, err
	}
	r := &restorer{Folder: f, tree: t, jobs: map[*pack][]job{}}
	if err := r.write(ctx); err != nil {
		return nil, errors.Join(err, f.empty())
	}
	return f, nil
}

// empty removes the files of a failed Restore.
func (f *Folder) empty() error {
	root, err := os.OpenRoot(f.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for name := range f.root.children.all() {
		if rerr := root.RemoveAll(name); rerr != nil {
			err = fmt.Errorf("%s still has some of the files: %w", f.dir, rerr)
		}
	}
	return err
}

// A restorer writes files.
type restorer struct {
	*Folder
	tree tree.Tree
	jobs map[*pack][]job
	mu   sync.Mutex // guards Folder.pieces
}

// A job is a piece to write to a file.
type job struct {
	rel, name string
	node      *node
	index     int
}

// write writes all files.
func (r *restorer) write(ctx context.Context) error {
	if err := r.make(r.root, ""); err != nil {
		return err
	}
	g, own := errgroup.WithContext(ctx)
	g.SetLimit(maxPuts)
	writers := make(chan struct{}, 2*runtime.GOMAXPROCS(0))
	for p, jobs := range r.jobs {
		g.Go(func() error {
			plain, err := r.get(own, aPack, p.sum, maxManifest)
			if err == nil {
				writers <- struct{}{}
				err = r.unpack(p, plain, jobs)
				<-writers
			}
			return err
		})
	}
	if err := cmp.Or(g.Wait(), context.Cause(ctx)); err != nil {
		return err
	}
	top, err := r.tree.OpenFolder(".")
	if err != nil {
		return err
	}
	defer top.Close()
	if err := finish(top, r.root, ""); err != nil {
		return err
	}
	r.markRacy(r.root, time.Now())
	r.compact()
	return nil
}

// make makes all folders and links below dir, and files that have no content or several pieces.
// Only the owner can open the folders until finish sets their permissions.
func (r *restorer) make(dir *node, rel string) error {
	folder, err := r.tree.OpenFolder(cmp.Or(rel, "."))
	if err != nil {
		return named(rel, err)
	}
	defer folder.Close()
	for name, n := range dir.children.all() {
		path := join(rel, name)
		if !filepath.IsLocal(name) || filepath.Base(name) != name {
			return fmt.Errorf("%q cannot be the name of a file on this system", path)
		}
		for i, p := range n.pieces {
			r.jobs[p.pack] = append(r.jobs[p.pack], job{rel, name, n, i})
		}
		switch {
		case n.children != nil:
			if err = folder.Mkdir(name, 0o700); err == nil {
				if err := r.make(n, path); err != nil {
					return err
				}
			}
		case n.mode&fs.ModeSymlink != 0:
			err = folder.Symlink(n.target, name)
		case len(n.pieces) == 0:
			err = create(folder, name, nil, n.mode)
		case len(n.pieces) > 1: // unpack makes files with one piece
			err = create(folder, name, nil, 0o600)
		}
		if err != nil {
			return named(path, err)
		}
	}
	return nil
}

// create makes a file with a content.
func create(folder tree.Folder, name string, content []byte, mode fs.FileMode) error {
	f, err := folder.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err = f.Write(content); err == nil {
		err = f.Chmod(mode.Perm())
	}
	return cmp.Or(err, f.Close())
}

// unpack writes the pieces of a pack.
func (r *restorer) unpack(p *pack, plain []byte, jobs []job) (err error) {
	var folder tree.Folder
	rel := ""
	defer func() {
		if folder != nil {
			folder.Close()
		}
	}()
	p.size = len(plain)
	for _, j := range jobs {
		if folder == nil || j.rel != rel {
			if folder != nil {
				folder.Close()
			}
			if folder, err = r.tree.OpenFolder(cmp.Or(j.rel, ".")); err != nil {
				folder = nil
				return named(j.rel, err)
			}
			rel = j.rel
		}
		piece := j.node.pieces[j.index]
		end := int(piece.off) + int(piece.len)
		if end > len(plain) {
			return fmt.Errorf("pack %s is damaged: it ends before byte %d of %s", p.sum, end-1,
				join(j.rel, j.name))
		}
		content := plain[piece.off:end]
		if len(j.node.pieces) == 1 {
			err = create(folder, j.name, content, j.node.mode)
		} else {
			err = writeAt(folder, j.name, content, int64(j.index)*pieceSize)
		}
		if err != nil {
			return named(join(j.rel, j.name), err)
		}
		r.remember(piece, content)
	}
	return nil
}

// remember stores the sum of a piece, so that later snapshots find its content.
func (r *restorer) remember(p *piece, content []byte) {
	p.sum = sha256.Sum256(content)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pieces[p.sum] = p
}

// writeAt writes a piece of a larger file.
func writeAt(folder tree.Folder, name string, content []byte, at int64) error {
	f, err := folder.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(content, at)
	return cmp.Or(err, f.Close())
}

// finish sets the permissions and times of all files in a folder, and notes their stamps.
func finish(folder tree.Folder, dir *node, rel string) error {
	now := time.Now()
	for name, n := range dir.children.all() {
		if err := finishOne(folder, name, n, path.Join(rel, name), now); err != nil {
			return err
		}
	}
	return nil
}

func finishOne(folder tree.Folder, name string, n *node, rel string, now time.Time) error {
	if n.children != nil {
		below, err := folder.OpenFolder(name)
		if err != nil {
			return named(rel, err)
		}
		err = finish(below, n, rel)
		if cerr := below.Close(); err == nil {
			err = named(rel, cerr)
		}
		if err != nil {
			return err
		}
	}
	link := n.mode&fs.ModeSymlink != 0
	var err error
	if n.children != nil || len(n.pieces) > 1 {
		err = folder.Chmod(name, n.mode.Perm())
	}
	// On other systems Chtimes follows links.
	if err == nil && (!link || runtime.GOOS == "linux") {
		err = folder.Chtimes(name, tree.Info{Accessed: now, ModTime: time.Unix(0, n.mtime)})
	}
	if err == nil && n.children == nil {
		var info tree.Info
		if info, err = folder.Lstat(name); err == nil {
			n.stamp = stampOf(info)
		}
	}
	return named(rel, err)
}

// markRacy marks the stamps of files that may change without a new time after Restore.
func (r *restorer) markRacy(n *node, now time.Time) {
	if n.children != nil {
		for _, c := range n.children.all() {
			c.stamp = c.stamp.markRacy(now)
			r.markRacy(c, now)
		}
	}
}

// named adds the path of a file to an error.
func named(rel string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("restoring %s: %w", cmp.Or(rel, "."), tree.Cause(err))
}
