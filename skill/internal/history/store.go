package history

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"textskill/skill/internal/workspace/tree"
)

// Options name the folder of a history, its place, and how much to keep.
type Options struct {
	Root  string   // the folder whose changes are kept
	Roots []string // all folders of the workspace; the history must be outside of them
	Dir   string   // the place of the history; "" means that Find chooses it
	// the user's state folder; "" means $XDG_STATE_HOME/skill, or .local/state/skill in the home folder
	User     string
	ReadOnly bool          // change nothing; without a history, Open returns fs.ErrNotExist
	NoSync   bool          // flush nothing
	Limits   Limits        // how much is kept
	LockWait time.Duration // how long to wait for the lock; 0 means 10 seconds

	Tree tree.Tree // of Root; the caller closes it
	// opens an absolute path in another folder of the workspace
	Outside  func(abs string) (t tree.Tree, rel string, ok bool)
	Forbids  func(rel string) string // why a tool's undo may not write a path; "" if it may
	Portable bool                    // files cannot be renamed between the root and the history
}

// Limits say how many changes are kept. For each limit, 0 means the default and less than 0 means
// no limit.
type Limits struct {
	Count int64         // ops; the default is 1000
	Age   time.Duration // the default is 30 days
	Bytes int64         // contents; the default is 1 GiB
}

// Folders of the history for other packages. This package only makes them.
const (
	Output  = "output"
	Servers = "servers"
	Runs    = "runs"
)

const (
	lockName  = "lock"
	blobsName = "blobs"
	packsName = "packs"
	rootName  = "root.json"
	goneName  = "gone-"
)

// A Store is the history of one folder. It is safe for concurrent use. Several processes may each
// open a Store of the same history.
type Store struct {
	o     Options
	place Place
	flush flusher

	busy  chan struct{}           // holds one value while a goroutine has the lock
	dir   atomic.Pointer[os.Root] // replaced if somebody removes the history
	lock  *os.File
	blobs *blobFolder
	log   *logFile
	shut  bool

	index      *index // nil until it is needed; guarded by the lock
	indexStamp indexStamp
	running    tree.Folder
	near       atomic.Pointer[nearby] // while a plan is made

	mountChecked bool  // by checkMount; guarded by the lock
	strange      int64 // ops up to this one may be about another disk's folder

	swap    sync.RWMutex // locked while log and blobs are replaced, and read-locked during a flush
	sweeps  sync.WaitGroup
	closing chan struct{}
	crash   func(step string) // tests set this to end the goroutine or the process before a step
}

// rootFile is the content of root.json.
type rootFile struct {
	Path  string    `json:"path"`          // of the root, when a Store was last opened for it
	Gone  time.Time `json:"gone,omitzero"` // when the root was first found missing
	Begun time.Time `json:"begun"`         // when the history was made

	Seen    seen  `json:"seen,omitzero"`
	Strange int64 `json:"strange,omitempty"` // ops up to this one may be about another disk's folder
}

// Open opens the history of o.Root. It makes a missing history unless o.ReadOnly is set. Errors are
// [*VersionError], fs.ErrNotExist or the system's. The caller closes the Store.
func Open(o Options) (*Store, error) {
	if o.LockWait == 0 {
		o.LockWait = 10 * time.Second
	}
	o.Limits.Count = withDefault(o.Limits.Count, 1000)
	o.Limits.Age = withDefault(o.Limits.Age, 30*24*time.Hour)
	o.Limits.Bytes = withDefault(o.Limits.Bytes, 1<<30)
	p, err := Find(o)
	if err != nil {
		return nil, err
	}
	o.Root = p.Root
	s := &Store{
		o: o, place: p, busy: make(chan struct{}, 1), closing: make(chan struct{}),
		flush: flusher{lead: make(chan struct{}, 1), next: newBatch()}, crash: func(string) {},
	}
	if err := s.open(); err != nil {
		s.release()
		return nil, named(s.Path(), err)
	}
	return s, nil
}

func withDefault[T int64 | time.Duration](n, def T) T {
	switch {
	case n == 0:
		return def
	case n < 0:
		return 0
	}
	return n
}

// open opens the folder of the history.
func (s *Store) open() (err error) {
	var fresh bool
	if !s.o.ReadOnly {
		if fresh, err = s.makeDir(); err != nil {
			return err
		}
	}
	root, err := os.OpenRoot(s.Path())
	if err != nil {
		return err
	}
	if old := s.dir.Swap(root); old != nil {
		old.Close()
	}
	flag := os.O_RDWR | os.O_CREATE
	if s.o.ReadOnly {
		flag = os.O_RDONLY
	}
	if s.lock, err = root.OpenFile(lockName, flag, 0o600); err != nil {
		return err
	}
	if s.log, err = openLog(root, s.o.ReadOnly, s.o.NoSync); err != nil {
		return err
	}
	if s.blobs, err = openBlobs(s); err != nil || s.o.ReadOnly {
		return err
	}
	if fresh && !s.o.NoSync {
		syncNames(root.Open("."))
		syncNames(os.Open(s.place.Path))
	}
	others, err := s.noteRoot()
	if err == nil {
		s.sweeps.Go(func() { s.sweep(others) })
	}
	return err
}

// makeDir makes the folder of the history and its subfolders, with access for this user only.
func (s *Store) makeDir() (fresh bool, err error) {
	place, err := s.place.open(!s.o.NoSync)
	if err != nil {
		return false, err
	}
	defer place.Close()
	if _, err := place.Lstat(s.place.Key + "/" + rootName); err == nil {
		return false, nil
	}
	for _, name := range []string{"", blobsName, packsName, runningName} {
		if err := place.Mkdir(filepath.Join(s.place.Key, name), 0o700); err != nil &&
			!errors.Is(err, fs.ErrExist) {
			return false, named(s.place.Path, err)
		}
	}
	return true, nil
}

// Close closes the history. The caller must end its changes first.
func (s *Store) Close() error {
	s.busy <- struct{}{}
	if s.shut {
		<-s.busy
		return nil
	}
	s.shut = true
	close(s.closing)
	<-s.busy
	s.sweeps.Wait()
	s.release()
	return nil
}

func (s *Store) release() {
	if s.log != nil {
		s.log.close()
	}
	if s.lock != nil {
		s.lock.Close()
	}
	if s.blobs != nil {
		s.blobs.close()
	}
	if s.running != nil {
		s.running.Close()
	}
	if dir := s.dir.Load(); dir != nil {
		dir.Close()
	}
}

// Place returns the place of the history.
func (s *Store) Place() Place { return s.place }

// Path returns the folder of the history.
func (s *Store) Path() string { return filepath.Join(s.place.Path, s.place.Key) }

// Folder opens a folder of the history for the caller's own files: [Output], [Servers] or [Runs].
// It makes a missing folder unless the Store is read-only. The caller closes the folder.
func (s *Store) Folder(name string) (*os.Root, error) {
	if !s.o.ReadOnly {
		if err := s.dir.Load().Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, named(s.Path(), err)
		}
	}
	dir, err := s.dir.Load().OpenRoot(name)
	return dir, named(s.Path(), err)
}

// A Tx holds the lock of a history. End releases it.
type Tx struct {
	*Store
	commands bool // some command is running
	failed   bool // the last op is not complete: the next Tx completes it
	op       *Op  // that this Tx added last
	asks     bool // an undo asks again whether programs have its files open
}

// Lock waits for the lock of the history. It then reads the new ops of other processes, and
// completes the work of killed processes. Errors are [*BusyError], which wraps an error of ctx, or
// the system's.
func (s *Store) Lock(ctx context.Context) (*Tx, error) {
	if err := s.enter(ctx); err != nil {
		return nil, named(s.Path(), err)
	}
	t := &Tx{Store: s}
	if s.o.ReadOnly {
		return t, nil
	}
	err := t.recover()
	if err == nil {
		err = t.closeKilled(ctx)
	}
	if err != nil {
		t.failed = true
		t.End()
		return nil, err
	}
	return t, nil
}

// End releases the lock.
func (t *Tx) End() {
	if !t.failed && !t.o.ReadOnly {
		t.setClean(t.log.last())
		t.log.mark()
	}
	t.leave()
}

// parent opens the folder that holds a path, and returns the last part of the path.
func (s *Store) parent(name Name) (tree.Folder, string, error) {
	return s.parentBy(s.near.Load(), name)
}

// parentBy is parent, by a nearby if it is not nil.
func (s *Store) parentBy(near *nearby, name Name) (tree.Folder, string, error) {
	t, rel := s.o.Tree, string(name)
	if filepath.IsAbs(rel) {
		var ok bool
		if s.o.Outside != nil {
			t, rel, ok = s.o.Outside(rel)
		}
		if !ok {
			return nil, "", fs.ErrPermission
		}
	}
	if near != nil {
		d, err := near.open(t, path.Dir(rel))
		return d, path.Base(rel), err
	}
	d, err := t.OpenFolder(path.Dir(rel))
	return d, path.Base(rel), err
}

// at returns the current Entry of a path. See [At] for want.
func (s *Store) at(name Name, want ...Entry) (Entry, error) {
	d, base, err := s.parent(name)
	if noFolder(err) {
		return Entry{}, nil
	}
	if err != nil {
		return Entry{}, err
	}
	defer d.Close()
	return At(d, base, want...)
}

// noFolder reports whether an error means that the folder of a path does not exist.
func noFolder(err error) bool {
	cause := tree.Cause(err)
	return errors.Is(err, fs.ErrNotExist) || errors.Is(cause, syscall.ENOTDIR) || errors.Is(cause, syscall.ELOOP)
}

// PathOf returns the absolute path of a recorded name.
func (s *Store) PathOf(name Name) string {
	if filepath.IsAbs(string(name)) {
		return string(name)
	}
	return filepath.Join(s.o.Root, filepath.FromSlash(string(name)))
}
