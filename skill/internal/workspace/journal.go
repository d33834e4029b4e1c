package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"textskill/skill/internal/workspace/tree"
)

// A Journal says how many changes are kept so that they can be undone. A limit of 0 is
// the default, and one below 0 is none. The last change is always kept.
type Journal struct {
	Off   bool          // nothing is recorded
	Count int           // of changes; default 1000
	Age   time.Duration // of a change; default 30 days
	Bytes int64         // of what changes took away; default 1 GiB
}

// Names in [StateDir].
const (
	journalName    = "journal"
	imagesName     = "images"
	newJournalName = "journal.new"
	ignoreName     = ".gitignore"
)

// maxCopied is the size in bytes up to which a file is copied to be kept, if it cannot be
// moved or linked.
const maxCopied = 256 << 20

// maxJournal is how many bytes of a journal are read, from its end.
const maxJournal = 256 << 20

// flushDelay is how long a record may wait for others to be flushed with.
const flushDelay = 100 * time.Millisecond

// A journal is the record of changes below one root. Processes share it; they lock its
// folder.
type journal struct {
	root     *root
	limit    Journal
	sync     bool
	readOnly bool

	mu     sync.Mutex  // held while anything below is used
	dir    tree.Folder // nil until the first change
	images *imageStore
	log    *os.File
	id     FileID // of log
	end    int64  // of the last whole record
	last   record // ID and Sum are known
	first  record // ID, Time and Sum are known
	timer  *time.Timer
	dirty  bool
	closed bool

	snapshots snapshots
}

func newJournal(r *root, o Options) *journal {
	j := &journal{root: r, limit: o.Journal, sync: !o.NoSync, readOnly: o.ReadOnly || o.DryRun}
	if j.limit.Count == 0 {
		j.limit.Count = 1000
	}
	if j.limit.Age == 0 {
		j.limit.Age = 30 * 24 * time.Hour
	}
	if j.limit.Bytes == 0 {
		j.limit.Bytes = 1 << 30
	}
	return j
}

// close flushes the journal and closes its files.
func (j *journal) close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
	if j.timer != nil {
		j.timer.Stop()
	}
	if j.dirty {
		tree.Datasync(j.log)
	}
	j.closeFiles()
}

func (j *journal) closeFiles() {
	if j.dir == nil {
		return
	}
	j.log.Close()
	j.images.retire()
	j.dir.Close()
	j.dir, j.images, j.log, j.dirty = nil, nil, nil, false
}

// acquire opens the journal if it is not open, locks it, and finds its end. A journal that
// does not exist is made if make is set, else ENOENT. release ends the lock.
func (j *journal) acquire(ctx context.Context, make bool) error {
	j.mu.Lock()
	err := j.tryAcquire(ctx, make)
	if err != nil {
		j.release()
	}
	return err
}

func (j *journal) release() {
	if j.dir != nil {
		if fd, ok := j.dir.FD(); ok {
			tree.Unlock(fd)
		}
	}
	j.mu.Unlock()
}

func (j *journal) tryAcquire(ctx context.Context, make bool) error {
	for range 100 {
		if j.closed {
			return fs.ErrClosed
		}
		if j.dir == nil {
			if err := j.open(make); err != nil {
				return err
			}
		}
		if err := j.lock(ctx); err != nil {
			return err
		}
		info, err := j.dir.Lstat(journalName)
		if err != nil || info.ID != j.id { // it was removed, or another process has pruned it
			j.closeFiles()
			continue
		}
		if info.Size != j.end {
			return j.findEnd(info.Size)
		}
		return nil
	}
	return errors.New("the journal was replaced again and again")
}

func (j *journal) lock(ctx context.Context) error {
	fd, ok := j.dir.FD()
	if !ok {
		return fs.ErrPermission
	}
	for wait := 20 * time.Microsecond; ; wait = min(wait*3/2, 2*time.Millisecond) {
		if ok, err := tree.TryLock(fd, true); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}

// open opens the folder of records and the files in it. Nothing in it may be a link, as
// another program could have put there.
func (j *journal) open(make bool) (err error) {
	top, err := j.root.tree.OpenFolder(".")
	if err != nil {
		return err
	}
	defer top.Close()
	state, err := subfolder(top, StateDir, make)
	if err != nil {
		return err
	}
	images, err := subfolder(state, imagesName, make)
	if err != nil {
		state.Close()
		return err
	}
	flag := os.O_RDWR
	if j.readOnly {
		flag = os.O_RDONLY
	}
	log, err := openOwn(state, journalName, flag, make)
	if err != nil {
		images.Close()
		state.Close()
		return err
	}
	info, err := tree.StatRegular(log)
	if err == nil && info.Links > 1 {
		err = errors.New("the journal has several links")
	}
	j.dir, j.images, j.log, j.id, j.end = state, &imageStore{folder: images}, log, info.ID, -1
	j.first, j.last = record{}, record{}
	if err != nil {
		j.closeFiles()
		return err
	}
	if make {
		ignoreAll(state)
	}
	return nil
}

// ignoreAll writes a .gitignore that lets git ignore the journal's folder.
func ignoreAll(state tree.Folder) {
	if f, err := state.OpenFile(ignoreName, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644); err == nil {
		f.WriteString("*\n")
		f.Close()
	}
}

func subfolder(d tree.Folder, name string, make bool) (tree.Folder, error) {
	sub, err := d.OpenFolder(name)
	if !make || !errors.Is(err, fs.ErrNotExist) {
		return sub, err
	}
	if err := d.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return d.OpenFolder(name)
}

func openOwn(d tree.Folder, name string, flag int, make bool) (*os.File, error) {
	f, err := d.OpenFile(name, flag, 0)
	if !make || !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	f, err = d.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return d.OpenFile(name, flag, 0)
	}
	return f, err
}

// findEnd finds the last whole record of a journal of that size, and truncates the
// journal after it.
func (j *journal) findEnd(size int64) error {
	j.end = 0
	for window := int64(64 << 10); ; window *= 8 {
		from := max(0, size-window)
		data := make([]byte, size-from)
		if n, err := j.log.ReadAt(data, from); err != nil && err != io.EOF {
			return tree.Cause(err)
		} else if int64(n) < size-from {
			data = data[:n]
		}
		r, end := lastRecord(data)
		if r != nil && j.first.ID == 0 && !j.readOnly {
			j.unlink(data[:end])
		}
		if r != nil {
			j.end = from + int64(end)
			j.last.ID = max(j.last.ID, r.ID, r.Last)
			j.last.Sum = max(j.last.Sum, r.Sum)
			break
		}
		if from == 0 || window > maxJournal {
			break
		}
	}
	if j.end < size && !j.readOnly {
		if err := j.log.Truncate(j.end); err != nil {
			return tree.Cause(err)
		}
	}
	return j.findFirst()
}

// write adds a line. The journal must be acquired.
func (j *journal) write(r *record) error {
	line, err := r.encode()
	if err != nil {
		return err
	}
	if _, err := j.log.WriteAt(line, j.end); err != nil {
		j.log.Truncate(j.end)
		return tree.Cause(err)
	}
	j.end += int64(len(line))
	if j.sync && !j.dirty {
		j.dirty = true
		j.timer = time.AfterFunc(flushDelay, j.flush)
	}
	return nil
}

// flush makes the records durable.
func (j *journal) flush() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.dirty {
		j.dirty = false
		tree.Datasync(j.log)
	}
}

// An imageStore is the folder of the images. It stays open while changes use it, also if
// the journal is closed and opened again meanwhile.
type imageStore struct {
	folder  tree.Folder
	users   int
	retired bool
}

func (s *imageStore) retire() {
	if s.retired = true; s.users == 0 {
		s.folder.Close()
	}
}

// releaseImages ends one use of the images.
func (j *journal) releaseImages(s *imageStore) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if s.users--; s.users == 0 && s.retired {
		s.folder.Close()
	}
}

// begin records a change that is about to be made, and sets its number and the names of
// its images. The caller calls releaseImages.
func (j *journal) begin(ctx context.Context, r *record) (*imageStore, error) {
	if err := j.acquire(ctx, true); err != nil {
		return nil, err
	}
	defer j.release()
	r.ID, r.Time = j.last.ID+1, time.Now().UTC()
	r.Sum = j.last.Sum + r.Bytes
	for i := range r.Steps {
		if s := &r.Steps[i]; s.How != asFolder && s.How != asMode && s.Image == "" && r.Note == "" {
			s.Image = fmt.Sprint(r.ID)
			if len(r.Steps) > 1 {
				s.Image = fmt.Sprintf("%d.%d", r.ID, i)
			}
		}
	}
	if err := j.write(r); err != nil {
		return nil, err
	}
	if j.first.ID == 0 {
		j.first = record{ID: r.ID, Time: r.Time, Sum: j.last.Sum}
	}
	j.last = record{ID: r.ID, Sum: r.Sum}
	if r.Undoes == 0 && j.overLimit(r.Time) { // an undo must not remove the change that is undone next
		if err := j.prune(r); err != nil {
			return nil, err
		}
	}
	j.images.users++
	return j.images, nil
}

// mark records that a change is complete, or was not made.
func (j *journal) mark(id int64, mark string) error {
	if err := j.acquire(context.Background(), true); err != nil {
		return err
	}
	defer j.release()
	return j.write(&record{ID: id, Mark: mark, Last: j.last.ID, Sum: j.last.Sum})
}

// read returns all changes in the journal, the oldest first.
func (j *journal) read(ctx context.Context) ([]*change, error) {
	err := j.acquire(ctx, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer j.release()
	data, err := j.readAll()
	return readRecords(data), err
}

func (j *journal) readAll() ([]byte, error) {
	data := make([]byte, min(j.end, maxJournal))
	n, err := j.log.ReadAt(data, max(0, j.end-maxJournal))
	if err != nil && err != io.EOF {
		return nil, tree.Cause(err)
	}
	return data[:n], nil
}
