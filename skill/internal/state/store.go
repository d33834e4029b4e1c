package state

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"textskill/skill/internal/workspace/tree"
)

// Options say whose history it is and where it may lie.
type Options struct {
	Root     string        // the folder whose changes are kept
	Roots    []string      // other folders of the same workspace: the store lies in none of them
	Dir      string        // the store's place; "" means that one is found
	User     string        // the user's state folder; "" means $XDG_STATE_HOME/skill, or .local/state/skill in the home folder
	ReadOnly bool          // nothing is made or changed; without a history, Open returns fs.ErrNotExist
	NoSync   bool          // nothing is flushed
	Program  string        // what errors say to type for this program
	Limits   Limits        // how much is kept
	LockWait time.Duration // how long a lock is waited for; 0 means 10 seconds
}

// Limits say how much is kept of changes. Of each, 0 means the default and less than
// 0 no limit.
type Limits struct {
	Count int64         // changes, and as many records of what cannot be undone; the default is 1000
	Age   time.Duration // the default is 30 days
	Bytes int64         // images; the default is 1 GiB
}

// Folders of the store that are not the log's. The store only makes them.
const (
	Output   = "output"
	Servers  = "servers"
	Snapshot = "snapshot"
	Runs     = "runs"
)

const (
	lockName  = "lock"
	locksName = "locks"
	rootName  = "root.json"
	goneName  = "gone-"
)

// A Store holds the history of one root. It is safe for concurrent use, also by
// several processes, each with its own Store.
type Store struct {
	o     Options
	place Place
	locks lockTable
	flush flusher

	busy chan struct{}           // holds one value while what is below is used
	dir  atomic.Pointer[os.Root] // another one once the history was removed
	all  atomic.Pointer[os.Root] // the place; nil if the Store is only read
	lock *os.File                // held while the log is read or written
	cur  *segment                // the last segment; nil until it is needed
	from int64                   // where cur stays nil, the number that comes next
	size sizes
	shut bool

	sweeps  sync.WaitGroup
	closing chan struct{}
}

// rootFile is what root.json holds.
type rootFile struct {
	Path  string    `json:"path"` // the root's, when a Store was last opened for it
	Gone  time.Time `json:"gone,omitzero"`
	Begun time.Time `json:"begun"`
}

// Open opens the history of o.Root, and makes it unless o.ReadOnly is set. A journal
// that an older version left in the root is imported. The caller closes the Store.
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
	s := &Store{o: o, place: p, busy: make(chan struct{}, 1), closing: make(chan struct{}), flush: newFlusher()}
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
	dir := filepath.Join(s.place.Path, s.place.Key)
	if !s.o.ReadOnly {
		if err := s.makeDir(); err != nil {
			return err
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	s.dir.Store(root)
	flag := os.O_RDWR | os.O_CREATE
	if s.o.ReadOnly {
		flag = os.O_RDONLY
	}
	if s.lock, err = s.dir.Load().OpenFile(lockName, flag, 0o600); err != nil {
		return err
	}
	if s.o.ReadOnly {
		return nil
	}
	noted, err := s.noteRoot()
	if err != nil {
		return err
	}
	s.sweeps.Go(func() { s.sweep(noted) })
	return s.importJournal()
}

// makeDir makes the folder of the history and what is in it, for this user alone.
func (s *Store) makeDir() (err error) {
	place, err := s.place.open(!s.o.NoSync)
	if err != nil {
		return err
	}
	if old := s.all.Swap(place); old != nil {
		old.Close()
	}
	defer func() { err = named(s.place.Path, err) }()
	if _, err := place.Lstat(s.place.Key + "/" + rootName); err == nil {
		return nil
	}
	for _, name := range []string{"", logsName, locksName} {
		if err := place.Mkdir(filepath.Join(s.place.Key, name), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	if !s.o.NoSync {
		for _, name := range []string{s.place.Key, "."} {
			if err := syncName(place, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// noteRoot keeps root.json at the path of the root, and its time within a day of the
// last use. It returns how many other histories are to be looked at: one each time it has
// written, but sixteen at once, since the place must be listed for that.
func (s *Store) noteRoot() (others int, err error) {
	var f rootFile
	info, err := s.dir.Load().Lstat(rootName)
	if err == nil {
		err = readJSON(s.dir.Load(), rootName, &f)
	}
	if err == nil && f.Path == s.place.Root && f.Gone.IsZero() && time.Since(info.ModTime()) < 24*time.Hour {
		return 0, nil
	}
	if f.Begun.IsZero() {
		f.Begun = time.Now().UTC()
	}
	f.Path, f.Gone = s.place.Root, time.Time{}
	if rand.IntN(16) == 0 {
		others = 16
	}
	return others, writeJSON(s.dir.Load(), rootName, f, !s.o.NoSync)
}

// Close gives everything back. The caller ends its changes first.
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
	s.locks.close()
	s.release()
	return nil
}

func (s *Store) release() {
	if s.cur != nil {
		s.cur.close()
	}
	if s.lock != nil {
		s.lock.Close()
	}
	for _, dir := range []*os.Root{s.dir.Load(), s.all.Load()} {
		if dir != nil {
			dir.Close()
		}
	}
}

// Place returns where the history lies.
func (s *Store) Place() Place { return s.place }

// Path returns the folder of the history.
func (s *Store) Path() string { return filepath.Join(s.place.Path, s.place.Key) }

// Folder opens a folder of the store that is the caller's own to use: [Output],
// [Servers], [Snapshot], [Runs]. It is made where it is not there, unless the Store is only
// read. The caller closes it.
func (s *Store) Folder(name string) (*os.Root, error) {
	if !s.o.ReadOnly {
		if err := s.dir.Load().Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, named(s.Path(), err)
		}
	}
	dir, err := s.dir.Load().OpenRoot(name)
	return dir, named(s.Path(), err)
}

// enter locks the log against other goroutines and processes, and reads what they have
// added. leave ends the lock, also after an error.
func (s *Store) enter(ctx context.Context) error {
	select {
	case s.busy <- struct{}{}:
	default:
		wait, cancel := context.WithTimeout(ctx, s.o.LockWait)
		defer cancel()
		select {
		case s.busy <- struct{}{}:
		case <-wait.Done():
			return &BusyError{What: "the log of changes", PID: os.Getpid(), err: ctx.Err()}
		}
	}
	err := s.entered(ctx)
	if err != nil {
		s.leave()
	}
	return named(s.Path(), err)
}

func (s *Store) entered(ctx context.Context) error {
	if s.shut {
		return fs.ErrClosed
	}
	for range 10 {
		if err := pollAlone(ctx, "the log of changes", s.lock, s.o.LockWait); err != nil {
			return err
		}
		if !removed(s.lock) {
			return s.follow()
		}
		if s.o.ReadOnly {
			return fs.ErrNotExist
		}
		s.lock.Close() // somebody has removed the history: begin another
		if s.cur != nil {
			s.cur.close()
		}
		s.cur, s.lock = nil, nil
		if err := s.open(); err != nil {
			s.shut = true
			return err
		}
	}
	return errors.New("the history in " + s.Path() + " is removed again and again")
}

func (s *Store) leave() {
	if s.lock != nil {
		tree.Unlock(int(s.lock.Fd()))
	}
	<-s.busy
}

// follow makes cur the last segment and reads what was added to it. It is nil where
// there is none.
func (s *Store) follow() error {
	if s.cur != nil && removed(s.cur.log) {
		s.cur.close()
		s.cur = nil
	}
	if s.cur != nil {
		if err := s.cur.readOn(); err != nil {
			return err
		}
		if _, here := s.cur.next(); here {
			return nil
		}
	}
	list, err := segments(s.dir.Load())
	if err != nil || len(list) == 0 {
		return err
	}
	if last := list[len(list)-1]; s.cur == nil || s.cur.first != last {
		if err := s.turnTo(last); err != nil {
			return err
		}
	}
	if s.cur != nil && len(s.cur.damaged) > 0 && !s.o.ReadOnly {
		s.noteDamage(s.cur.damaged)
	}
	return nil
}

// turnTo makes a segment cur.
func (s *Store) turnTo(first int64) error {
	leaves := int64(0)
	if s.cur != nil {
		leaves = s.cur.leaves
		s.cur.close()
		s.cur = nil
	}
	g, err := openSegment(s.dir.Load(), first, s.o.ReadOnly)
	if errors.Is(err, fs.ErrNotExist) { // its log was removed
		s.from = first + maxRecords
		return nil
	}
	if err != nil {
		return err
	}
	err = g.read(nil)
	if err == nil && g.seal == 0 && !s.o.ReadOnly {
		err = g.countImages(s.dir.Load())
	}
	if err != nil {
		g.close()
		return err
	}
	g.leaves = max(g.leaves, leaves)
	s.cur = g
	return nil
}

// writable makes cur a segment that takes another record. With retain, older segments may
// be dropped for that.
func (s *Store) writable(retain bool) error {
	first := max(s.from, 1)
	if s.cur != nil {
		id, here := s.cur.next()
		if here {
			return nil
		}
		if err := s.cur.finish(id, !s.o.NoSync); err != nil {
			return err
		}
		s.noteSize(s.cur)
		if retain {
			s.retain()
		}
		first = id
	}
	g, err := createSegment(s.dir.Load(), first, !s.o.NoSync)
	if err != nil {
		return err
	}
	if s.cur != nil {
		g.leaves = s.cur.leaves
		s.cur.close()
	}
	s.cur = g
	return nil
}
