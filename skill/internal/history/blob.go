package history

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"textskill/skill/internal/workspace/tree"
)

// MaxCopied is how many bytes one change may copy into the history, if files can be neither moved
// nor cloned.
const MaxCopied = 256 << 20

// ErrChanged means that another program changed a file after this one read it.
var ErrChanged = errors.New("something else changed it at the same time")

// A blobFolder holds the blobs: old contents of changed files, and contents of files before a command.
type blobFolder struct {
	tree.Folder
	tree   tree.Tree
	packs  *packFolder
	noSync bool
}

func openBlobs(s *Store) (*blobFolder, error) {
	t, err := tree.Open(s.Path(), false)
	if err != nil {
		return nil, err
	}
	d, err := t.OpenFolder(blobsName)
	if err != nil {
		t.Close()
		return nil, err
	}
	packs, err := t.OpenFolder(packsName)
	if err != nil {
		d.Close()
		t.Close()
		return nil, err
	}
	for _, d := range []tree.Folder{d, packs} {
		d.FD() // some folders open their descriptor on the first call
	}
	return &blobFolder{d, t, &packFolder{Folder: packs}, s.o.NoSync}, nil
}

func (b *blobFolder) close() {
	b.Folder.Close()
	b.packs.close()
	b.tree.Close()
}

// sync makes the names of blobs durable.
func (b *blobFolder) sync() error {
	if b.noSync {
		return nil
	}
	return SyncFolder(b.Folder)
}

// has reports whether a blob exists.
func (b *blobFolder) has(name string) bool {
	if name == "" {
		return false
	}
	if _, err := b.Lstat(name); err == nil {
		return true
	}
	data, _ := b.packs.find(name)
	return data != nil
}

// open opens the content with the name of a blob, in a file of its own or in a pack, and checks its hash. The error is
// [errWritten] if the file has another content, as a power cut may leave it.
func (b *blobFolder) open(name string) (*content, error) {
	c, err := b.unchecked(name)
	if err == nil && isSum(name) {
		if sum, serr := sumOfReader(c, c.size); serr != nil || sum != name[:2*sumLength] {
			c.close()
			err = errWritten
		}
	}
	if err == nil {
		return c, nil
	}
	if data, _ := b.packs.find(name); data != nil {
		return contentIn(data), nil
	}
	return nil, err
}

// unchecked opens a content in a file of its own. The error is [errGone].
func (b *blobFolder) unchecked(name string) (*content, error) {
	c, err := fileContent(b.Folder, name)
	if err != nil {
		return nil, errGone
	}
	c.name = name
	return c, nil
}

// drop deletes blobs.
func (b *blobFolder) drop(names map[string]bool) {
	for name := range names {
		Discard(b.Folder, name)
	}
	b.packs.drop(names)
}

// isSum reports whether a blob's name is the hash of its content, perhaps followed by the hash of its
// attributes.
func isSum(name string) bool { return len(name) >= 2*sumLength && !strings.Contains(name, ".") }

// verified reports whether a blob exists with the right content. It removes a blob with a wrong content.
func (b *blobFolder) verified(name string) bool {
	c, err := b.open(name)
	if err == nil {
		c.close()
	} else if isSum(name) {
		b.Remove(name, false)
	}
	return err == nil
}

// flushBlob makes the content of a blob durable, and the name of its pack.
func (b *blobFolder) flushBlob(name string) error {
	if b.noSync || name == "" {
		return nil
	}
	return errors.Join(flushFile(b.Folder, name), b.packs.flush(name))
}

// A Keeper saves the content that one delta of an op replaces or removes as a blob.
type Keeper struct {
	t     *Tx
	op    *Op
	Delta int // which delta of the op
}

// delta returns the keeper's delta.
func (k *Keeper) delta() *Delta { return &k.op.Deltas[k.Delta] }

// needs returns the name of the blob to make. It returns "" if the op needs no blob for the old content.
func (k *Keeper) needs() string {
	before := k.delta().Before
	if before.Derived != 0 || k.delta().Added {
		return ""
	}
	return before.blob()
}

// Exchange gives the new file n its name in dir, and the old file becomes the blob. If the system cannot
// do that, done is false: Exchange has then saved the content, and the caller replaces the file by a
// rename. Exchange copies a file with hard links, because programs may write to it under its other
// names. The error is [ErrChanged] if the file in dir is not old.
func (k *Keeper) Exchange(n *os.File, dir tree.Folder, name string, old tree.Info) (done bool, err error) {
	b, blob := k.t.blobs, k.needs()
	if blob == "" && k.op.Undoes == 0 || k.t.o.Portable || old.Links > 1 {
		return false, k.Save(dir, name)
	}
	out := k.aside()
	Discard(b.Folder, out)
	err = b.LinkUnnamed(n, out)
	if errors.Is(err, syscall.EXDEV) || errors.Is(err, errors.ErrUnsupported) {
		return false, k.Save(dir, name)
	}
	if err != nil {
		return true, err
	}
	return k.swap(n, out, dir, name, old)
}

// swap exchanges the file n, which is called out among the blobs, for the file called name in dir, which
// becomes the blob. See [Keeper.Exchange].
func (k *Keeper) swap(n *os.File, out string, dir tree.Folder, name string, old tree.Info) (done bool,
	err error) {
	b, blob := k.t.blobs, k.needs()
	k.t.crash("linked")
	err = b.Exchange(out, dir, name)
	if err == nil {
		k.t.crash("exchanged")
		switch err = k.checkExchange(n, out, dir, name, old); {
		case err != nil:
		case blob == "":
			err = b.Remove(out, false)
		default:
			err = b.Rename(out, b.Folder, blob, true)
		}
		return true, err
	}
	if rerr := b.Remove(out, false); rerr != nil || !errors.Is(err, errors.ErrUnsupported) {
		return true, errors.Join(err, rerr)
	}
	return false, k.Save(dir, name)
}

// checkExchange reverses an exchange if the blob is not the file that old describes.
func (k *Keeper) checkExchange(n *os.File, blob string, dir tree.Folder, name string, old tree.Info) error {
	b := k.t.blobs
	info, err := b.Lstat(blob)
	if err == nil && Untouched(info, old) && !k.isOpen(b.Folder, blob) {
		return nil
	}
	fresh, err := tree.StatRegular(n)
	if err != nil {
		return err
	}
	for there := fresh; ; { // another program may replace the file repeatedly
		back, err := b.Lstat(blob)
		if err == nil {
			err = b.Exchange(blob, dir, name)
		}
		var out tree.Info
		if err == nil {
			out, err = b.Lstat(blob)
		}
		switch {
		case err != nil:
			return err
		case Untouched(out, fresh):
			b.Remove(blob, false)
			if info.IsDir() {
				return syscall.EISDIR
			}
			return ErrChanged
		case Untouched(out, there):
			return ErrChanged
		}
		there = back
	}
}

// Untouched reports whether two descriptions are of the same, unchanged file.
func Untouched(now, before tree.Info) bool {
	return now.ID == before.ID && now.Size == before.Size && now.ModTime.Equal(before.ModTime)
}

// Save keeps the content of the file at name before a rename replaces the file. The blob is a hard
// link or a copy. A folder that a rename can replace is empty and needs no blob.
func (k *Keeper) Save(d tree.Folder, name string) error {
	b, blob := k.t.blobs, k.needs()
	if blob == "" {
		return nil
	}
	info, err := d.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode.IsRegular() {
		return nil
	}
	if err != nil {
		return err
	}
	fresh := blob + freshBlob
	Discard(b.Folder, fresh)
	if info.Links == 1 && !k.t.o.Portable && d.Link(name, b, fresh) == nil {
		return b.Rename(fresh, b.Folder, blob, true)
	}
	return k.Copy(d, name)
}

// Copy copies the file at name into the blob. It makes the blob and the op durable, so that the
// caller can change the file in place.
func (k *Keeper) Copy(d tree.Folder, name string) error {
	if blob := k.needs(); blob != "" {
		if err := k.t.blobs.copyFrom(d, name, blob); err != nil {
			return err
		}
	}
	return k.FlushOp()
}

// FlushOp makes the op and the names of its blobs durable.
func (k *Keeper) FlushOp() error { return k.t.flushOp() }

func (t *Tx) flushOp() error { return errors.Join(t.log.flush(), t.blobs.sync()) }

// freshBlob is the suffix of a blob that is incomplete, or that will replace another blob.
const freshBlob = "~"

// copyFrom copies a file with its attributes to a blob, unless the blob exists, and makes the blob
// durable. The blob gets its name when it is complete.
func (b *blobFolder) copyFrom(d tree.Folder, name, blob string) error {
	if b.verified(blob) {
		return b.flushBlob(blob)
	}
	fresh := blob + freshBlob
	b.Remove(fresh, false)
	err := d.CopyFile(name, b.Folder, fresh, true)
	if err == nil {
		err = b.finish(d, name, fresh, blob)
	}
	if err != nil {
		b.Remove(fresh, false)
	}
	return err
}

// finish copies the metadata of a file to its copy fresh, makes that durable, and renames it to blob.
func (b *blobFolder) finish(d tree.Folder, name, fresh, blob string) error {
	if f, err := b.OpenFile(fresh, os.O_RDONLY, 0); err == nil {
		defer f.Close()
		if info, err := d.Lstat(name); err == nil {
			tree.CopyMetadata(f, d, name, info)
		}
		if !b.noSync {
			if err := tree.Datasync(f); err != nil {
				return tree.Cause(err)
			}
		}
	}
	return b.Rename(fresh, b.Folder, blob, true)
}

// Take moves the file or folder at name in d to the blobs, or removes it if its content is already
// kept. On another file system Take copies and removes a file, and returns EXDEV for a folder.
func (k *Keeper) Take(d tree.Folder, name string) error { return k.take(k.delta().Before, d, name) }

// take is [Keeper.Take] for what is at the path now. The error is [ErrChanged] if somebody has saved it since.
func (k *Keeper) take(e Entry, d tree.Folder, name string) error {
	t, blob := k.t, k.needs()
	if e.Kind == Dir && blob == "" {
		return d.Remove(name, true)
	}
	shared := false // programs may write to the file under its other hard links
	if e.Kind == File {
		info, err := d.Lstat(name)
		if err != nil {
			return err
		}
		shared = info.Links > 1
	}
	if !t.o.Portable && !shared { // the file replaces a blob made before a command, which may not be durable
		if err := k.setAside(e, d, name); !errors.Is(err, syscall.EXDEV) {
			return err
		}
	}
	switch {
	case e.Kind == Dir:
		return k.takeTree(e, d, name)
	case e.Kind == File && blob != "":
		err := t.blobs.copyFrom(d, name, blob)
		if err == nil {
			err = t.flushBefore(d)
		}
		if err != nil {
			return err
		}
	}
	return k.removeHere(e, d, name)
}

// flushBefore makes the op and the names of its blobs durable before the caller removes a file from d on
// another file system. The same file system makes its changes durable in order.
func (t *Tx) flushBefore(d tree.Folder) error {
	if !t.o.Portable && d.ID().Dev == t.blobs.ID().Dev {
		return nil
	}
	return t.flushOp()
}

// takeTree copies a folder to the blobs on another file system, and removes it. If it cannot remove all
// of the folder, it restores the removed part.
func (k *Keeper) takeTree(e Entry, d tree.Folder, name string) error {
	t, b, blob := k.t, k.t.blobs, k.needs()
	fresh := blob + freshBlob
	Discard(b.Folder, fresh)
	err := copyTree(d, name, b.Folder, fresh, false)
	if err == nil && !t.o.NoSync {
		err = tree.Syncfs(b.Folder)
	}
	if err == nil {
		err = b.Rename(fresh, b.Folder, blob, false)
	}
	if err != nil {
		Discard(b.Folder, fresh)
		return err
	}
	if err := t.flushOp(); err != nil {
		return err
	}
	t.crash("copied")
	err = k.removeHere(e, d, name)
	if errors.Is(err, ErrChanged) {
		Discard(b.Folder, blob)
	}
	if err == nil || errors.Is(err, ErrChanged) {
		return err
	}
	if cerr := copyTree(b.Folder, blob, d, name, true); cerr != nil {
		return fmt.Errorf("%w; what of it was removed cannot be put back (%v), and %s holds all of it",
			err, cerr, t.blobPath(blob))
	}
	Discard(b.Folder, blob)
	return err
}

// A content is an open saved content.
type content struct {
	io.ReaderAt
	size  int64
	close func()
	name  string // of the blob, if it is the whole content; else ""
}

func contentIn(data []byte) *content {
	return &content{bytes.NewReader(data), int64(len(data)), func() {}, ""}
}

// fileContent opens the content of a file.
func fileContent(dir tree.Folder, name string) (*content, error) {
	f, info, err := dir.OpenContent(name)
	if err != nil {
		return nil, err
	}
	return &content{f, info.Size, func() { f.Close() }, ""}, nil
}

func (c *content) all() ([]byte, error) {
	data := make([]byte, c.size)
	n, err := c.ReadAt(data, 0)
	if n == len(data) {
		err = nil
	}
	return data, err
}

// errGone reports a content that is no longer kept.
var errGone = errors.New("is not kept any more")

// errWritten reports a blob that a program has written to.
var errWritten = errors.New("was written to since it was saved")

// maxDepth limits the splices between a blob and a content.
const maxDepth = 300

// contentOf opens the saved content of an entry of a path, and checks its hash. The caller closes it.
func (s *Store) contentOf(name Name, e Entry) (*content, error) {
	if e.Kind != File {
		return nil, errGone
	}
	if blob := e.blob(); blob != "" {
		if c, err := s.blobs.open(blob); err != errGone {
			return c, err
		}
	}
	if e.Derived == 0 || e.Depth > maxDepth {
		return nil, errGone
	}
	return s.derive(name, e)
}

// checkContent fails if the content of an entry of a path is not kept.
func (s *Store) checkContent(name Name, e Entry) error {
	c, err := s.contentOf(name, e)
	if err == nil {
		c.close()
	}
	return err
}

// derive computes a content from the content before the op e.Derived, with the op's splice.
func (s *Store) derive(name Name, e Entry) (*content, error) {
	at, _ := s.log.find(e.Derived)
	op := s.log.op(at)
	if op == nil {
		return nil, errGone
	}
	for _, d := range op.Deltas {
		if d.Path != name && d.From != name || d.Splice == nil || !d.After.Same(e) {
			continue
		}
		base, err := s.contentOf(d.Path, d.Before)
		if err != nil {
			return nil, err
		}
		c := &content{spliced{base, *d.Splice}, d.After.Size, base.close, ""}
		if e.Sum != "" {
			data, err := c.all() // else each read would walk the chain of splices
			c.close()
			if err != nil || SumOf(data) != e.Sum {
				return nil, errWritten
			}
			c = contentIn(data)
		}
		return c, nil
	}
	return nil, errGone
}

// spliced is a content with a part of it replaced.
type spliced struct {
	io.ReaderAt
	Splice
}

func (c spliced) ReadAt(p []byte, off int64) (n int, err error) {
	end := c.Offset + int64(len(c.New))
	for n < len(p) && err == nil {
		m, at := 0, off+int64(n)
		switch {
		case at < c.Offset:
			m, err = c.ReaderAt.ReadAt(p[n:min(len(p), n+int(c.Offset-at))], at)
		case at < end:
			m = copy(p[n:], c.New[at-c.Offset:])
		default:
			m, err = c.ReaderAt.ReadAt(p[n:], at-int64(len(c.New))+c.Old)
		}
		n += m
	}
	return n, err
}

// CopyNote returns why size bytes cannot be copied into the history, "" if they can.
func CopyNote(size int64) string {
	if size <= MaxCopied {
		return ""
	}
	return fmt.Sprintf("it held %d bytes, and at most %d are copied to another disk", size, MaxCopied)
}

// keepContent saves a content as the blob name, unless that exists. The caller has computed the name.
func (b *blobFolder) keepContent(name string, src io.Reader, attributes *os.File) error {
	if b.verified(name) {
		return nil
	}
	dst, err := b.CreateUnnamed(0o600)
	draft := ""
	if err != nil {
		draft = name + "." + rand.Text() // another look may save the same content
		dst, err = b.OpenFile(draft, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	}
	if err != nil {
		return err
	}
	defer dst.Close()
	if _, err = io.Copy(dst, src); err == nil && attributes != nil {
		tree.CopyAttributes(dst, attributes)
	}
	switch {
	case err != nil:
	case draft != "":
		err = b.Rename(draft, b.Folder, name, true)
	default:
		if err = b.LinkUnnamed(dst, name); errors.Is(err, fs.ErrExist) { // another process has saved the blob
			err = nil
		}
	}
	if err != nil && draft != "" {
		b.Remove(draft, false)
	}
	return tree.Cause(err)
}

// blobPath returns the absolute path of a blob.
func (s *Store) blobPath(name string) string { return filepath.Join(s.Path(), blobsName, name) }
