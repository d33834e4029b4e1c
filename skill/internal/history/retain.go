package history

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"textskill/skill/internal/workspace/tree"
)

// slack is how many ops beyond the limits are kept, so that the log is rarely rewritten.
const slack = 256

// keptAlways is how many of the newest changes are kept whatever their size.
const keptAlways = 20

// retain drops the oldest ops beyond the limits, and the blobs that only these name. Once a day it also looks for
// blobs that killed processes left. If a blob cannot be deleted now, a later sweep deletes it.
func (t *Tx) retain() {
	if t.log.last()%slack != slack-1 {
		return
	}
	if gone := t.surplus(); len(gone) > 0 {
		var first int64
		for id := range gone {
			if gone[id] {
				first = max(first, id)
			}
		}
		all, names := map[int64]bool{}, map[string]bool{}
		for id := range gone {
			all[id] = true
			if at, ok := t.log.find(id); ok {
				for _, name := range t.log.facts(at).names {
					names[name] = true
				}
			}
		}
		if t.keepDerived(all) == nil && t.log.drop(all, first) == nil {
			t.dropBlobs(names)
		}
	}
	dir := t.dir.Load()
	switch info, err := dir.Lstat(sweptName); {
	case err != nil:
		dir.WriteFile(sweptName, nil, 0o600)
	case time.Since(info.ModTime()) > sweepEach:
		now := time.Now()
		dir.Chtimes(sweptName, now, now)
		t.sweepBlobs()
	}
}

const (
	sweptName = "swept" // a file of the history whose time is that of the last sweep
	sweepEach = 24 * time.Hour
)

// opFacts are what retain asks of an op. They are kept while the log is open, so that each op is decoded once.
type opFacts struct {
	time    time.Time
	changes bool       // it has deltas
	kept    []keptBlob // what was there before it
	names   []string   // blobs that it names
	derived []Delta    // path and Before of each delta whose content before is derived from a later op
}

type keptBlob struct {
	name string
	size int64
}

// facts returns the facts of an op, nil for a damaged line.
func (l *logFile) facts(at line) *opFacts {
	if f, ok := l.known[at.id]; ok {
		return f
	}
	op := l.op(at)
	if op == nil {
		return nil
	}
	l.known[at.id] = op.facts()
	return l.known[at.id]
}

func (op *Op) facts() *opFacts {
	f := &opFacts{time: op.Time, changes: len(op.Deltas) > 0}
	seen := map[string]bool{"": true}
	add := func(name string) {
		if !seen[name] {
			seen[name] = true
			f.names = append(f.names, name)
		}
	}
	for _, d := range op.Deltas {
		if name := d.Before.blob(); name != "" && d.Before.Derived == 0 {
			f.kept = append(f.kept, keptBlob{name, d.Before.Size})
		}
		if d.Before.Derived != 0 {
			f.derived = append(f.derived, Delta{Path: d.Path, Before: d.Before}) // without the text of its splice
		}
		for _, e := range []Entry{d.Before, d.After} {
			add(e.blob())
			add(e.Attributes)
		}
	}
	for _, lost := range op.Objects {
		add(lost.Blob)
	}
	return f
}

// surplus returns the ops beyond the limits. The value is true for a change, and false for an op without
// deltas, which only says why undo is impossible. Limits.Count applies to both kinds separately.
func (t *Tx) surplus() map[int64]bool {
	gone := map[int64]bool{}
	var sum int64
	changes, notes, full := int64(0), int64(0), false
	counted, l := map[string]bool{}, t.o.Limits
	for _, at := range slices.Backward(t.log.lines) {
		op := t.log.facts(at)
		if op == nil {
			if full {
				gone[at.id] = true
			}
			continue
		}
		for _, b := range op.kept {
			if !counted[b.name] {
				counted[b.name] = true
				sum += b.size
			}
		}
		old := l.Age > 0 && time.Since(op.time) > l.Age
		full = full || old || l.exceeded(changes, sum)
		switch {
		case op.changes && full:
			gone[at.id] = true
		case op.changes:
			changes++
		case full && old, l.Count > 0 && notes >= l.Count:
			gone[at.id] = false
		default:
			notes++
		}
	}
	return gone
}

// exceeded reports whether the given number of newer changes and their bytes exceed the limits.
func (l Limits) exceeded(changes, bytes int64) bool {
	tooMany := l.Count > 0 && changes >= l.Count
	tooLarge := l.Bytes > 0 && bytes > l.Bytes && changes >= keptAlways
	return tooMany || tooLarge
}

// keepDerived saves blobs for the contents that are derived from splices of the ops in gone.
func (t *Tx) keepDerived(gone map[int64]bool) error {
	kept := false
	for _, at := range t.log.lines {
		op := t.log.facts(at)
		if gone[at.id] || op == nil {
			continue
		}
		for _, d := range op.derived {
			e := d.Before
			if !gone[e.Derived] || e.Sum == "" || t.blobs.has(e.Sum) {
				continue
			}
			c, err := t.contentOf(d.Path, e)
			if err != nil {
				continue // the content is lost already
			}
			err = t.blobs.keepContent(e.Sum, io.NewSectionReader(c, 0, c.size), nil)
			c.close()
			if err != nil {
				return err
			}
			kept = true
		}
	}
	if kept && !t.o.NoSync {
		return tree.Syncfs(t.blobs.Folder)
	}
	return nil
}

// dropBlobs deletes blobs of dropped ops that nothing else names. A command that begins now may rely on any of them.
func (t *Tx) dropBlobs(names map[string]bool) {
	begins, err := t.dir.Load().OpenFile(beginName, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return
	}
	defer begins.Close()
	if ok, err := tree.TryLock(int(begins.Fd()), true); !ok || err != nil {
		return
	}
	for _, at := range t.log.lines {
		op := t.log.facts(at)
		if op == nil {
			return // it is not known what a damaged op names
		}
		for _, name := range op.names {
			delete(names, name)
		}
	}
	if len(names) == 0 {
		return
	}
	t.freshIndex()
	const digits = 4
	var maybe [1 << 16]bool // by the first digits of a name: most digests of the index need no look into names
	key := func(name string) (n uint16) {
		for i := range min(digits, len(name)) {
			n = n<<4 | uint16(name[i]&15)
		}
		return n
	}
	for name := range names {
		maybe[key(name)] = true
	}
	for e := range t.index.all() {
		if maybe[key(e.digest)] {
			delete(names, e.digest)
		}
	}
	if t.index.lost && t.commands {
		return
	}
	t.blobs.drop(names)
	t.tidyPacks()
}

// tidyPacks frees the room of dropped contents in packs, while others use the history.
func (t *Tx) tidyPacks() {
	s := t.Store
	s.sweeps.Go(func() {
		s.swap.RLock()
		defer s.swap.RUnlock()
		s.blobs.packs.tidy(!s.o.NoSync)
	})
}

// orphanAge is how long an orphaned blob is kept. A power cut can leave a blob whose op is not in the
// log.
const orphanAge = 30 * 24 * time.Hour

// sweepBlobs deletes blobs that no op and no index needs. A copy made for an index goes after an hour.
// A file that was moved to the blobs may be the only copy, and stays for a month.
func (t *Tx) sweepBlobs() {
	if t.commands {
		return // a running command needs the blobs that it saved
	}
	needed := t.neededBlobs()
	entries, err := t.blobs.Entries()
	if err != nil {
		return
	}
	for _, e := range entries {
		if needed[e.Name] {
			continue
		}
		info, err := t.blobs.Lstat(e.Name)
		if err != nil {
			continue
		}
		copied := info.Mode.IsRegular() && isSum(e.Name) && info.Mode.Perm() == 0o600
		if copied && time.Since(info.Changed) > time.Hour || time.Since(info.Changed) > orphanAge {
			Discard(t.blobs.Folder, e.Name)
		}
	}
	t.blobs.packs.sweep(needed)
	t.tidyPacks()
}

// dropCopies deletes the copies that were made for an index since begin, if the disk is full now: the command does
// not start, and nothing else needs them.
func (s *Store) dropCopies(x *index, begin int64, cause error) {
	if !isFull(cause) {
		return
	}
	t, err := s.Lock(context.Background())
	if err != nil {
		return
	}
	defer t.End()
	needed := t.neededBlobs()
	for i := range x.list {
		name := x.list[i].digest
		if needed[name] || !isSum(name) {
			continue
		}
		if info, err := t.blobs.Lstat(name); err == nil && info.Changed.UnixNano() >= begin-int64(timeGrain) {
			Discard(t.blobs.Folder, name)
		}
	}
}

// neededBlobs returns the names of the blobs that ops and the index name.
func (t *Tx) neededBlobs() map[string]bool {
	needed := map[string]bool{}
	for _, at := range t.log.lines {
		if op := t.log.facts(at); op != nil {
			for _, name := range op.names {
				needed[name] = true
			}
		}
	}
	t.freshIndex() // and no more: to replay ops may save contents
	for e := range t.index.all() {
		needed[e.digest] = true
	}
	return needed
}

// sweep checks a number of other histories, and deletes the dropped ones. It stops when the Store is
// closed; a later Store continues.
func (s *Store) sweep(others int) {
	if others == 0 {
		return
	}
	place, err := os.OpenRoot(s.place.Path)
	if err != nil {
		return
	}
	defer place.Close()
	s.sweepHistories(place, others)
	names, _ := namesIn(place, ".")
	for _, name := range names {
		if strings.HasPrefix(name, goneName) {
			s.discardOld(place, name)
		}
	}
}

// discardOld deletes a history. It stops when the Store is closed.
func (s *Store) discardOld(dir *os.Root, name string) {
	select {
	case <-s.closing:
		return
	default:
	}
	err := dir.Remove(name)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return
	}
	sub, err := dir.OpenRoot(name)
	if errors.Is(err, fs.ErrPermission) && dir.Chmod(name, 0o700) == nil {
		sub, err = dir.OpenRoot(name)
	}
	if err != nil {
		return
	}
	defer sub.Close()
	sub.Chmod(".", 0o700)
	names, _ := namesIn(sub, ".")
	for _, child := range names {
		s.discardOld(sub, child)
	}
	dir.Remove(name)
}

// noteRoot updates root.json if the root's path has changed or the file is older than a day. It
// returns how many other histories to check: 16 after every 16th update on average, because listing
// the place has a cost of its own.
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
	s.reserveMissed()
	f.Path, f.Gone = s.place.Root, time.Time{}
	if rand.IntN(16) == 0 {
		others = 16
	}
	return others, writeJSON(s.dir.Load(), rootName, f, !s.o.NoSync)
}

// goneFor is how long a root must be missing and its history unused before the history is deleted.
const goneFor = 30 * 24 * time.Hour

// sweepHistories checks n other histories of the place, and drops those whose root is missing.
func (s *Store) sweepHistories(place *os.Root, n int) {
	list := slices.DeleteFunc(histories(place), func(key string) bool { return key == s.place.Key })
	rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	for _, key := range list[:min(len(list), n)] {
		if s.forgotten(place, key) {
			place.Rename(key, goneName+key)
		}
	}
}

// forgotten reports whether the root of a history has been missing for goneFor. The first check that
// finds the root missing records the time in root.json.
func (s *Store) forgotten(place *os.Root, key string) bool {
	if isOlder(place, key) {
		return false
	}
	name := key + "/" + rootName
	info, err := place.Lstat(name)
	var f rootFile
	if err != nil || readJSON(place, name, &f) != nil || f.Path == "" {
		return false
	}
	at, err := identify(f.Path)
	gone := err != nil || !slices.Contains(keysOf(f.Path, at), key)
	if gone == f.Gone.IsZero() {
		if f.Gone = (time.Time{}); gone {
			f.Gone = time.Now().UTC()
		}
		writeJSON(place, name, f, false)
		return false
	}
	return gone && time.Since(f.Gone) > goneFor && time.Since(info.ModTime()) > goneFor
}

// histories lists the keys of the histories in a place.
func histories(place *os.Root) (keys []string) {
	names, _ := namesIn(place, ".")
	for _, name := range names {
		if len(name) == 32 && strings.Trim(name, "0123456789abcdef") == "" {
			keys = append(keys, name)
		}
	}
	slices.Sort(keys)
	return keys
}
