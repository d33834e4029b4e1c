package history

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"textskill/skill/internal/workspace/tree"
)

// A Listed is an op with its state now.
type Listed struct {
	*Op
	Undone bool    // undone, and not redone since
	Unmade bool    // rolled back, because its process was killed
	Grade  Grade   // of the least certain of the changes
	Doubt  string  // why it is not certain that the op made them; "" if it is
	See    []int64 // other ops that may hold changes of the same command
	Partly bool    // undone in part: some paths of the change stayed
	Origin int64   // of an undo: the change that it undoes or redoes
	IsUndo bool
}

// Ops iterates over the ops with a number above after, the newest first. If name is not "", it
// returns only ops that may be about that path. A damaged op has only its ID.
func (s *Store) Ops(ctx context.Context, after int64, name Name) iter.Seq2[Listed, error] {
	return func(yield func(Listed, error) bool) {
		t, err := s.Lock(ctx)
		if err != nil {
			yield(Listed{}, err)
			return
		}
		lines := slices.Clone(t.log.lines)
		t.End()
		slices.Reverse(lines)
		const atOnce = 16 // ops that are read with the lock
		for some := range slices.Chunk(lines, atOnce) {
			if err := s.enter(ctx); err != nil {
				yield(Listed{}, err)
				return
			}
			var list []Listed
			for _, at := range some {
				if at.id <= after {
					break
				}
				if l, ok := s.listed(at, name); ok {
					list = append(list, l)
				}
			}
			s.leave()
			for _, l := range list {
				if !yield(l, nil) {
					return
				}
			}
			if some[len(some)-1].id <= after {
				return
			}
		}
	}
}

// listed reads an op. ok is false if the op is not about name, or was dropped meanwhile.
func (s *Store) listed(at line, name Name) (l Listed, ok bool) {
	if at, ok = s.log.find(at.id); !ok || !at.owned && !at.mayBeAbout(name) {
		return l, false
	}
	if l = s.asListed(at); len(l.Owners) == 0 && l.IsEnd() {
		return l, false
	}
	if len(l.Owners) > 0 && (l.Kind == KindRun || l.Undoes == 0) {
		if ok = (&Tx{Store: s}).joinParts(&l); !ok {
			return l, false
		}
	}
	if l.Kind != kindDamaged && !l.IsUndo {
		l.Grade, l.Doubt = (&Tx{Store: s}).Doubt(l.Op)
	}
	return l, name == "" || l.IsDamaged() || l.Mentions(name)
}

// joinParts adds to an op the changes of older ops that are parts of the same change. It returns false for an op
// that is not listed by itself: such a part, or the end of a window whose changes are in other ops.
func (t *Tx) joinParts(l *Listed) bool {
	if t.isJoined(l.ID, l.Op) {
		return false
	}
	has := map[Name]bool{}
	for _, d := range l.Deltas {
		has[d.Path] = true
	}
	isEnd := l.IsEnd()
	for _, id := range t.Parts(l.Op)[1:] {
		at, _ := t.log.find(id)
		if t.InForce(id) == l.Undone || id > l.ID {
			continue
		}
		if !t.log.owning(at).isSingle() || !l.isSingle() {
			l.See = append(l.See, id)
			continue
		}
		part := t.log.op(at)
		if part == nil || isEnd {
			continue
		}
		for _, d := range part.Deltas {
			if !has[d.Path] {
				has[d.Path] = true
				l.Deltas = append(l.Deltas, d)
			}
		}
		l.Left = append(l.Left, part.Left...)
	}
	return len(l.Deltas)+len(l.Left)+len(l.See) > 0 || l.Note != ""
}

// isJoined reports whether the list shows the changes of an op together with a later op.
func (t *Tx) isJoined(id int64, op *Op) bool {
	if !op.isSingle() {
		return false
	}
	for at := range t.log.newest() {
		if at.id <= id {
			break
		}
		if !at.owned || t.log.isVoid(at.id) || t.InForce(at.id) != t.InForce(id) {
			continue
		}
		later := t.log.owning(at)
		keys, since := later.partKeys(at.id)
		if since < id && !later.IsEnd() && later.isSingle() && later.takesBack() == op.takesBack() &&
			slices.ContainsFunc(keys, func(o Owner) bool { return op.owns(o.Key) }) && !t.isJoined(at.id, later) {
			return true
		}
	}
	return false
}

// isSingle reports whether the windows of an op count as one owner.
func (op *Op) isSingle() bool {
	return !slices.ContainsFunc(op.Owners, func(o Owner) bool { return o.Far == "" && !o.SameOwner(op.Owners[0]) })
}

// newestAbout returns the newest op that changed a path, and how. It passes over damaged records.
func (t *Tx) newestAbout(name Name) (at line, d Delta, ok bool) {
	for at, op := range t.log.about(name, 0) {
		for _, d := range op.Deltas {
			if d.Path == name {
				return at, d, true
			}
		}
	}
	return line{}, Delta{}, false
}

// LastID returns the number of the newest op.
func (t *Tx) LastID() int64 { return t.log.last() }

func (s *Store) asListed(at line) Listed {
	op := s.log.op(at)
	if op == nil {
		op = &Op{ID: at.id, Kind: kindDamaged}
		if !at.bad && !slices.Contains(s.log.damaged, at.id) {
			s.log.damaged = append(s.log.damaged, at.id)
		}
	}
	op.Unsure = cmp.Or(op.Unsure, s.Strange(op.ID))
	_, inForce := s.log.active(at.id)
	_, partly := (&Tx{Store: s}).partlyUndone(at.id)
	return Listed{
		Partly: partly && !inForce,
		Op:     op, Undone: !inForce, Unmade: s.log.isVoid(at.id), Origin: s.log.origin(at).id,
		IsUndo: s.log.depth[at.id] > 0,
	}
}

// kindDamaged is the kind of an op that cannot be read.
const kindDamaged = "damaged"

// IsDamaged reports whether the op cannot be read.
func (l Listed) IsDamaged() bool { return l.Kind == kindDamaged }

// Find returns the op with an ID.
func (s *Store) Find(ctx context.Context, id int64) (l Listed, ok bool, err error) {
	if err := s.enter(ctx); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return l, false, err
	}
	defer s.leave()
	at, ok := s.log.find(id)
	if !ok {
		return l, false, nil
	}
	return s.asListed(at), true, nil
}

// Last returns the numbers of the oldest kept op and of the newest op.
func (s *Store) Last(ctx context.Context) (first, last int64, err error) {
	if err := s.enter(ctx); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return 0, 0, err
	}
	defer s.leave()
	return s.log.first + 1, s.log.last(), nil
}

// Damaged returns how many lines of the log are damaged or missing.
func (s *Store) Damaged() int {
	if s.enter(context.Background()) != nil {
		return 0
	}
	defer s.leave()
	s.log.lose(s.clean())
	return len(s.log.damaged)
}

// Read calls use with the content of an Entry of a path. found is false if the content is neither
// kept nor still in the workspace.
func (s *Store) Read(name Name, e Entry, use func(size int64, content io.ReaderAt) error) (found bool,
	err error) {
	if err := s.enter(context.Background()); err != nil {
		return false, err
	}
	defer s.leave()
	if c, err := s.contentOf(name, e); err == nil {
		defer c.close()
		return true, use(c.size, c)
	}
	for _, at := range s.placesOf(name, e) {
		if found, err := s.readAt(at, e, use); found || err != nil {
			return found, err
		}
	}
	return false, nil
}

// placesOf returns the paths that may hold a content now: name, and the paths where ops have put the
// content.
func (s *Store) placesOf(name Name, e Entry) []Name {
	list := []Name{name}
	if e.Sum == "" {
		return list
	}
	for at := range s.log.newest() {
		if !s.log.has(at, e.Sum) {
			continue
		}
		if op := s.log.op(at); op != nil {
			for _, d := range op.Deltas {
				if d.After.Same(e) && !slices.Contains(list, d.Path) {
					list = append(list, d.Path)
				}
			}
		}
	}
	return list
}

func (s *Store) readAt(name Name, e Entry, use func(size int64, content io.ReaderAt) error) (found bool,
	err error) {
	d, base, err := s.parent(name)
	if err != nil {
		return false, nil
	}
	defer d.Close()
	if now, err := At(d, base, e); err != nil || now.Kind != File || !now.Same(e) {
		return false, nil
	}
	f, info, err := d.OpenContent(base)
	if err != nil {
		return false, nil
	}
	defer f.Close()
	return true, use(info.Size, f)
}

// Tree calls use with a folder that an op made or removed with everything in it. found is false if
// the folder is neither kept nor still in the workspace.
func (s *Store) Tree(name Name, e Entry, use func(in tree.Folder, base string)) (found bool, err error) {
	if e.Blob != "" && s.blobs.has(e.Blob) {
		use(s.blobs.Folder, e.Blob)
		return true, nil
	}
	d, base, err := s.parent(name)
	if err != nil {
		return false, nil
	}
	defer d.Close()
	if now, err := At(d, base, e); err != nil || now.Kind != Dir || !now.Same(e) {
		return false, nil
	}
	use(d, base)
	return true, nil
}

// A Report describes the state of a history.
type Report struct {
	Place       Place
	First, Last int64    // numbers of ops; 0 if there are none
	Bytes       int64    // of all files of the history
	Damaged     []int64  // ops that cannot be read
	Missing     []int64  // ops in force whose content is missing without a note
	Orphans     []string // blobs that no op names, as paths
	Packs       []string // damaged packs, as paths
	Gone        []string // histories to be deleted, as paths
	Holders     []Holder // processes that hold the lock now
	Running     int      // number of running commands
	Calls       int      // number of other agents' calls without a reported end
	Older       []string // histories of older versions of this program, left alone
	Apart       bool     // the history is on another file system than the root, and cannot link git's objects
}

// A Holder is a process that holds the lock.
type Holder struct {
	PID     int // 0 if the system does not say
	Command string
}

// Inspect reads a history, and changes nothing. If no history exists, the report has only its
// place.
func Inspect(ctx context.Context, o Options) (Report, error) {
	p, err := Find(o)
	if err != nil {
		return Report{}, err
	}
	r := Report{Place: p, Older: olderHistories(p)}
	o.ReadOnly = true
	s, err := Open(o)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	defer s.Close()
	for _, pid := range holders(int(s.lock.Fd())) {
		r.Holders = append(r.Holders, Holder{pid, commandOf(pid)})
	}
	t, err := s.Lock(ctx)
	if err != nil {
		return r, err
	}
	defer t.End()
	t.inspect(&r)
	r.Gone, _ = filepath.Glob(filepath.Join(p.Path, goneName+"*"))
	root, rerr := o.Tree.Stat(".")
	r.Apart = rerr == nil && root.ID.Dev != t.blobs.ID().Dev
	links := filepath.Join(s.Path(), linksName)
	err = filepath.WalkDir(s.Path(), func(at string, d fs.DirEntry, err error) error {
		if at == links { // they need no room while the repositories have the objects
			return filepath.SkipDir
		}
		if err != nil {
			return nil
		}
		if info, ierr := d.Info(); ierr == nil && info.Mode().IsRegular() {
			r.Bytes += info.Size()
		}
		return nil
	})
	return r, err
}

func (t *Tx) inspect(r *Report) {
	if len(t.log.lines) > 0 {
		r.First, r.Last = t.log.lines[0].id, t.log.last()
	}
	for _, at := range t.log.lines {
		op := t.log.op(at)
		if op == nil {
			r.Damaged = append(r.Damaged, at.id)
			continue
		}
		if t.log.undoes[at.id] != 0 || op.Note != "" {
			continue
		}
		moved := map[Name]bool{}
		for _, d := range op.Deltas {
			moved[d.From] = true
		}
		lacks := func(d Delta) bool { return !moved[d.Path] && t.lacks(d) }
		if slices.ContainsFunc(op.Deltas, lacks) {
			r.Missing = append(r.Missing, at.id)
		}
	}
	t.inspectFiles(r)
}

// inspectFiles adds orphaned blobs and the numbers of open calls and commands to the report.
func (t *Tx) inspectFiles(r *Report) {
	for _, name := range t.blobs.packs.damaged() {
		r.Packs = append(r.Packs, filepath.Join(t.Path(), packsName, name))
	}
	needed := t.neededBlobs()
	entries, _ := t.blobs.Entries()
	for _, e := range entries {
		if info, err := t.blobs.Lstat(e.Name); err == nil && !needed[e.Name] &&
			!(isSum(e.Name) && info.Mode.Perm() == 0o600) {
			r.Orphans = append(r.Orphans, t.blobPath(e.Name))
		}
	}
	if d, err := os.Open(filepath.Join(t.Path(), runningName)); err == nil {
		names, _ := d.Readdirnames(-1)
		for _, name := range names {
			switch {
			case isCall(name):
				r.Calls++
			case !strings.HasPrefix(name, openFar):
				r.Running++
			}
		}
		d.Close()
	}
}

// lacks reports whether a content that an undo of d needs is missing.
func (t *Tx) lacks(d Delta) bool {
	switch {
	case d.Added || d.isMode() || d.Before.Kind == absent || d.Before.Kind == Link:
		return false
	case d.Before.Kind == Dir:
		return d.Before.Whole && d.Before.Blob != "" && !t.blobs.has(d.Before.Blob)
	case d.Before.Kind == Other || d.Before.blob() == "":
		return false
	}
	return t.checkContent(d.Path, d.Before) != nil
}

// olderHistories finds histories of the same path that have no log of this version.
func olderHistories(p Place) (list []string) {
	place, err := os.OpenRoot(p.Path)
	if err != nil {
		return nil
	}
	defer place.Close()
	for _, key := range histories(place) {
		var f rootFile
		if readJSON(place, key+"/"+rootName, &f) != nil || f.Path != p.Root {
			continue
		}
		if isOlder(place, key) {
			list = append(list, filepath.Join(p.Path, key))
		}
	}
	return list
}

// isOlder reports whether a history was made by an older version of this program.
func isOlder(place *os.Root, key string) bool {
	f, err := place.Open(key + "/" + logName)
	if err != nil {
		return false
	}
	defer f.Close()
	start := make([]byte, 200)
	n, err := f.ReadAt(start, 0)
	if n == 0 && err != io.EOF { // a folder
		return true
	}
	line, _, _ := bytes.Cut(start[:n], []byte("\n"))
	body, ok := unseal(line)
	var h header
	return ok && json.Unmarshal(body, &h) == nil && h.Version > 0 && h.Version < logVersion
}

// Mentions reports whether the op is about a path, or about a path below it.
func (op *Op) Mentions(name Name) bool {
	in := func(path Name) bool {
		return path == name || name == "." || strings.HasPrefix(string(path), string(name)+"/")
	}
	return slices.ContainsFunc(op.Deltas,
		func(d Delta) bool { return in(d.Path) || d.From != "" && in(d.From) }) ||
		slices.ContainsFunc(op.Left, func(l Left) bool { return in(l.Path) })
}

// Newest iterates over the ops, the newest first. It skips void ops.
func (t *Tx) Newest() iter.Seq[Listed] {
	return func(yield func(Listed) bool) {
		for at := range t.log.newest() {
			if !t.log.isVoid(at.id) && !yield(t.asListed(at)) {
				return
			}
		}
	}
}

// Standing returns the numbers of the ops that are in force, the newest first. A redone change counts from the time
// when it was first made.
func (t *Tx) Standing() (list []int64) {
	for at := range t.log.newest() {
		if t.Stands(at.id) {
			list = append(list, at.id)
		}
	}
	slices.SortStableFunc(list, func(a, b int64) int { return cmp.Compare(t.Origin(b), t.Origin(a)) })
	return list
}

// Find returns the op with an ID.
func (t *Tx) Find(id int64) (Listed, bool) {
	at, ok := t.log.find(id)
	if !ok {
		return Listed{}, false
	}
	return t.asListed(at), true
}

// Origin returns the number of the change that an op makes, undoes or redoes.
func (t *Tx) Origin(id int64) int64 {
	at, _ := t.log.find(id)
	return t.log.origin(at).id
}

// First returns the number of the oldest kept op.
func (t *Tx) First() int64 { return t.log.first + 1 }

// Stands reports whether an undo of the op would take back a change in force: [Tx.Standing] lists these ops.
func (t *Tx) Stands(id int64) bool { return t.log.undoes[id] == 0 && !t.log.reverts(id) }

// Differs reports whether the change that an op makes, undoes or redoes had another state before the
// op n: in force instead of undone, or the reverse. Then an undo of the op restores that state. The op
// must be the last op about that change.
func (t *Tx) Differs(id, n int64) bool {
	if t.log.undoes[id] != 0 {
		return false
	}
	at, ok := t.log.find(id)
	for ok && at.id >= n && at.undoes != 0 {
		at, ok = t.log.find(at.undoes)
	}
	was := ok && at.id < n && !t.log.reverts(at.id)
	return was == t.log.reverts(id)
}

// IsIdle reports whether the op changed nothing that undo takes back.
func (l Listed) IsIdle() bool {
	return l.Note == "" && len(l.Objects) == 0 && !slices.ContainsFunc(l.Deltas,
		func(d Delta) bool { return !d.Before.equal(d.After) })
}
