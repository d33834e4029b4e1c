package history

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"textskill/skill/internal/workspace/tree"
)

// A Walker calls visit for every name below the workspace's folder, and for a folder before its
// contents. It calls visit from several goroutines, numbered from 0 and below [Workers]. It does
// not enter .git folders, ignored folders, and folders for which visit returns [fs.SkipDir].
// Another error ends the walk.
type Walker func(ctx context.Context, visit func(worker int, v Visited) error) error

// A Visited is a name that a Walker visits.
type Visited struct {
	Folder  string // relative to the workspace's folder, with slashes; "" for the folder itself
	Name    []byte
	Ignored bool // by git
	File    interface{ Stat() (tree.Info, error) }
}

const (
	// Workers is the largest number of goroutines of a Walker.
	Workers = 64

	// MaxKept is the largest size in bytes of a file that is copied before a command.
	MaxKept = 16 << 20

	// MaxVisited is the largest number of names in a workspace whose commands can be undone.
	MaxVisited = 200_000

	maxGitIndex   = 32 << 20 // largest git index that is kept, in bytes
	maxIgnored    = 1 << 20  // largest ignored file that is kept, in bytes
	allIgnored    = 64 << 20 // total of ignored files that are kept, in bytes
	ignoredNames  = 20_000   // names that are scanned in ignored folders
	gitNames      = 50_000   // names that are scanned in .git folders
	maxDeepFolder = 200      // levels that are scanned in ignored folders and in .git
)

// ErrTooManyFiles reports a workspace with more names than [MaxVisited].
var ErrTooManyFiles = errors.New("the workspace holds too many files")

// IsCache reports whether a folder of that name is a cache of Python or its tools. Commands'
// changes of caches are not recorded; else the undo after a test would take back the cache, not the
// edit before it.
func IsCache(name string) bool {
	switch name {
	case "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache":
		return true
	}
	return false
}

// rebuilt are names of folders that tools can build again. Their files are not kept if git ignores
// the folder.
var rebuilt = map[string]bool{
	"node_modules": true, ".venv": true, "venv": true, "target": true, "dist": true, "build": true,
	".next": true, ".nuxt": true, ".svelte-kit": true, ".turbo": true, ".parcel-cache": true, ".cache": true,
	".gradle": true, ".tox": true, ".nox": true, ".eggs": true, "bower_components": true, "Pods": true,
	"DerivedData": true, ".terraform": true,
}

// IsRebuilt reports whether a folder of that name is one that tools build again.
func IsRebuilt(name string) bool { return rebuilt[name] || IsCache(name) }

// timeGrain is longer than the resolution of file times. Two changes of a file within it may have
// the same time. Linux uses the timer tick, at most 10 ms.
const timeGrain = 20 * time.Millisecond

// A scan compares the files that a walk visits with an index.
type scan struct {
	s      *Store
	old    *index // folded
	prefix string // of the index paths in the scanned folder
	device uint64 // of the scanned folder; other devices are skipped
	begin  int64  // time of the start in nanoseconds
	clock  int64  // the same by the clock of the file system; 0 if not known
	scope  bool   // enter the folders that the scan for the index entered, and no others that it saw
	seen   []bool // by the number of an item of old: its path is unchanged, or not in the scanned folder
	parts  [Workers]scanPart
	count  atomic.Int64 // number of names
	hidden atomic.Int64 // number of names in ignored folders
	inGit  atomic.Int64 // number of names in .git folders
}

// A scanPart is the result of one worker.
type scanPart struct {
	path  []byte
	names int32     // names that are not in scan.count yet
	fresh []item    // new and changed items
	left  []Left    // paths that were skipped, and why
	shut  []string  // folders that the index knows, and that could not be entered now
	built []string  // folders that tools build again, which were not entered
	git   []string  // see [Command.Repositories]
	_     [128]byte // keeps two workers off the same cache line
}

// countEach is how many names a worker visits before it adds them to scan.count.
const countEach = 64

// scan compares the folder base of the root with an index, which must not change any more. With scope, it enters the
// folders that the scan for the index entered, whatever git ignores now. It returns ErrTooManyFiles above MaxVisited
// names.
func (s *Store) scan(ctx context.Context, old *index, base string, walk Walker, scope bool) (*scan, error) {
	top, err := s.o.Tree.OpenFolder(base)
	if err != nil {
		return nil, err
	}
	defer top.Close()
	c := &scan{s: s, old: old, device: top.ID().Dev, scope: scope && !old.lost, seen: make([]bool, len(old.list)),
		begin: time.Now().UnixNano()}
	if base != "." {
		c.prefix = base + "/"
		for i := range old.list {
			c.seen[i] = !strings.HasPrefix(old.list[i].path, c.prefix)
		}
	}
	if err := walk(ctx, c.visit); err != nil {
		return nil, err
	}
	if c.tooMany() {
		return nil, ErrTooManyFiles
	}
	return c, nil
}

// visit is the function that the Walker calls.
func (c *scan) visit(worker int, v Visited) error {
	info, err := v.File.Stat()
	if err != nil { // just removed, or in a folder that may not be read
		return nil
	}
	part := &c.parts[worker]
	part.path = append(part.path[:0], c.prefix...)
	if v.Folder != "" {
		part.path = append(append(part.path, v.Folder...), '/')
	}
	part.path = append(part.path, v.Name...)
	return c.found(part, info, item{ignored: v.Ignored})
}

// found adds the file at part.path to the scan. It enters the folders that the walk does not enter.
func (c *scan) found(part *scanPart, info tree.Info, e item) error {
	name := part.path[strings.LastIndexByte(string(part.path), '/')+1:]
	if info.IsDir() && info.ID.Dev != c.device {
		if !e.ignored {
			why := "it is on another file system, and what changes there is not recorded"
			part.left = append(part.left, Left{Path: Name(part.path), Why: why})
		}
		return fs.SkipDir
	}
	if info.Size < 1<<10 && HgRunsCode(string(part.path)) && c.isStub(string(part.path), info) {
		return nil
	}
	isGit := string(name) == ".git"
	e.git = e.git || isGit
	if IsOfRepository(string(name)) {
		part.git = append(part.git, string(part.path))
	}
	e.ignored = e.ignored && !isGit || info.IsDir() && IsCache(string(name))
	walked := !e.ignored
	e.ignored = c.ignoredBefore(part, info, e.ignored)
	c.check(part, info, e)
	if part.names++; part.names == countEach {
		part.names = 0
		if c.count.Add(countEach) > MaxVisited {
			return fs.SkipAll
		}
	}
	switch {
	case !info.IsDir() || !isGit && !e.ignored && walked:
		return nil
	case isGit || !e.ignored || !IsRebuilt(string(name)):
		c.enter(part, string(part.path), item{ignored: e.ignored, git: e.git}, 0)
	case !IsCache(string(name)):
		part.built = append(part.built, string(part.path))
	}
	return fs.SkipDir
}

// ignoredBefore returns whether git ignores the file at part.path: as it did in the scan for the index, if
// that has seen the file and the scan keeps its scope.
func (c *scan) ignoredBefore(part *scanPart, info tree.Info, now bool) bool {
	if !c.scope {
		return now
	}
	if i, ok := c.old.number(part.path); ok {
		if was := &c.old.list[i]; (was.kind == aFolder) == info.IsDir() {
			return was.ignored
		}
	}
	return now
}

// check compares the file at part.path with the index, and adds a new or changed item to part.fresh.
func (c *scan) check(part *scanPart, info tree.Info, e item) {
	e.kind, e.stamp = letterOf(kindOf(info.Mode)), stampOf(info)
	i, ok := c.old.number(part.path)
	if ok && c.old.list[i].unchanged(&e) {
		c.seen[i] = true
		return
	}
	e.path = string(part.path)
	part.fresh = append(part.fresh, e)
}

// enter scans a folder that the walk does not enter: an ignored folder, or .git.
func (c *scan) enter(part *scanPart, folder string, like item, deep int) {
	d, err := c.s.o.Tree.OpenFolder(folder)
	if err != nil {
		part.shut = append(part.shut, folder)
		return
	}
	defer d.Close()
	entries, err := d.Entries()
	if err != nil {
		part.shut = append(part.shut, folder)
		return
	}
	counter, most, why := &c.hidden, int64(ignoredNames),
		"git ignores it, it holds too many files, and undo leaves them as they are"
	if like.git {
		counter, most, why = &c.inGit, gitNames,
			"it holds too many files of git's, and undo leaves them as they are"
	}
	if !like.git && !like.ignored {
		counter, most = new(atomic.Int64), MaxVisited
	}
	if counter.Add(int64(len(entries))) > most || deep > maxDeepFolder {
		part.shut = append(part.shut, folder)
		part.left = append(part.left, Left{Path: Name(folder), Why: why})
		return
	}
	for _, e := range entries {
		at := folder + "/" + e.Name
		if !like.git && IsOfRepository(e.Name) {
			part.git = append(part.git, at)
		}
		if skipsBelow(folder, e.Name, like) {
			continue
		}
		info, err := d.Lstat(e.Name)
		if err != nil || info.IsDir() && info.ID.Dev != c.device {
			continue
		}
		if (like.git || HgRunsCode(at)) && isStub(d, e.Name, info) {
			continue
		}
		part.path = append(part.path[:0], at...)
		in := like
		in.git = in.git || e.Name == ".git"
		in.ignored = !in.git && c.ignoredBefore(part, info, like.ignored || info.IsDir() && IsCache(e.Name))
		c.check(part, info, in)
		c.count.Add(1)
		if info.IsDir() && (!in.ignored || !IsRebuilt(e.Name)) {
			c.enter(part, at, in, deep+1)
		}
	}
}

// skipsBelow reports whether the scan skips a name in a folder that the walk does not enter. like
// describes the folder.
func skipsBelow(folder, name string, like item) bool {
	switch {
	case isOwn(name):
		return true
	case like.git:
		return gitSkips(folder, name)
	}
	return name == ".git" && like.ignored
}

// isOwn reports whether a name is of this program's records or temporary files.
func isOwn(name string) bool {
	return name == Inside || name == TempName || strings.HasPrefix(name, Inside+"-")
}

// tooMany reports whether there are more than MaxVisited names.
func (c *scan) tooMany() bool {
	n := c.count.Load()
	for i := range c.parts {
		n += int64(c.parts[i].names)
	}
	return n > MaxVisited
}

// isStub is the function isStub for a path.
func (c *scan) isStub(name string, info tree.Info) bool {
	d, base, err := c.s.parent(Name(name))
	if err != nil {
		return false
	}
	defer d.Close()
	return isStub(d, base, info)
}

// IsOfRepository reports whether each repository of Git or Mercurial holds a file or folder of that name.
func IsOfRepository(name string) bool { return name == ".git" || name == "HEAD" || name == ".hg" }

// repositories returns the paths for [Command.Repositories].
func (c *scan) repositories() (list []string) {
	for i := range c.parts {
		list = append(list, c.parts[i].git...)
	}
	slices.Sort(list)
	return list
}

// fresh returns the items that are new or have changed.
func (c *scan) fresh() (list []item) {
	for i := range c.parts {
		list = append(list, c.parts[i].fresh...)
	}
	return list
}

// left returns the paths that the scan skipped, sorted.
func (c *scan) left() (list []Left) {
	for i := range c.parts {
		list = append(list, c.parts[i].left...)
	}
	slices.SortFunc(list, func(a, b Left) int { return cmp.Compare(a.Path, b.Path) })
	return list
}

// notSeen returns the folders that tools build again and that were not entered, sorted.
func (c *scan) notSeen() (list []Name) {
	for i := range c.parts {
		for _, name := range c.parts[i].built {
			list = append(list, Name(name))
		}
	}
	slices.Sort(list)
	return list[:min(len(list), maxNotSeen)]
}

// maxNotSeen limits the number of folders that an op names as not entered.
const maxNotSeen = 8

// missing returns the items of paths that no longer exist.
func (c *scan) missing(fresh []item) (list []*item) {
	there := make(map[string]bool, len(fresh))
	for i := range fresh {
		there[fresh[i].path] = true
	}
	var shut []string
	for i := range c.parts {
		shut = append(shut, c.parts[i].shut...)
	}
	for i, seen := range c.seen {
		name := c.old.list[i].path
		if !seen && !there[name] &&
			!slices.ContainsFunc(shut, func(folder string) bool { return strings.HasPrefix(name, folder+"/") }) {
			list = append(list, &c.old.list[i])
		}
	}
	return list
}

// updated returns a new index with the scan's results, nil if nothing has changed.
func (c *scan) updated() *index {
	fresh := c.fresh()
	if len(fresh) == 0 && !slices.Contains(c.seen, false) {
		return nil
	}
	n := newIndex(merged(c.old.list, func(i int) bool { return c.seen[i] }, fresh))
	n.upTo = c.old.upTo
	for i, seen := range c.seen {
		if !seen {
			n.unsaved[c.old.list[i].path] = true
		}
	}
	for _, e := range fresh {
		n.unsaved[e.path] = true
	}
	return n
}

// choose chooses the contents that the index keeps: up to limit bytes, the smallest files first. It clears
// the digests of the other files, and returns the items whose content must still be saved. dropped reports whether
// some files do not fit.
func (x *index) choose(limit int64) (todo []*item, dropped bool) {
	var files, ignored []*item
	for i := range x.list {
		e := &x.list[i]
		switch {
		case e.kind == aLink && e.digest == "", e.kind == aFolder && e.kept() && e.digest == "":
			todo = append(todo, e)
		case e.kind != aFile || e.size > maxSize(e):
			if e.kind == aFile {
				e.digest = ""
			}
		case e.ignored:
			ignored = append(ignored, e)
		default:
			files = append(files, e)
		}
	}
	for _, f := range []struct {
		list  []*item
		limit int64
	}{{files, limit}, {ignored, allIgnored}} {
		fits, rest := smallest(f.list, f.limit)
		for _, e := range rest {
			e.digest, dropped = "", true
		}
		for _, e := range fits {
			if e.digest == "" {
				todo = append(todo, e)
			}
		}
	}
	slices.SortFunc(todo, func(a, b *item) int { return byPath(a.path, b.path) })
	return todo, dropped
}

// keeps reports whether a look saves the content or the attributes of an item.
func (e *item) keeps() bool {
	return e.kind == aLink || e.kind == aFolder && e.kept() || e.kind == aFile && e.size <= maxSize(e)
}

// maxSize returns the size limit for keeping the content of an item.
func maxSize(e *item) int64 {
	switch {
	case e.ignored:
		return maxIgnored
	case e.git && path.Base(e.path) == "index":
		return maxGitIndex
	}
	return MaxKept
}

// smallest divides a list into the smallest files that fit into limit bytes, and the rest.
func smallest(list []*item, limit int64) (fit, rest []*item) {
	var sum int64
	for _, e := range list {
		sum += e.diskSize()
	}
	if sum <= limit {
		return list, nil
	}
	slices.SortFunc(list, func(a, b *item) int {
		return cmp.Or(cmp.Compare(a.diskSize(), b.diskSize()), cmp.Compare(a.size, b.size),
			byPath(a.path, b.path))
	})
	n := len(list)
	for ; sum > limit; n-- {
		sum -= list[n-1].diskSize()
	}
	return list[:n], list[n:]
}

// keepAll saves the contents of items, several at a time. It skips a file that no longer exists or may
// not be read. At the deadline of ctx it stops without an error, and whole is false.
func (s *Store) keepAll(ctx context.Context, todo []*item, begin int64) (whole bool, err error) {
	const workers, block = 4, 16
	var packer *packer
	if len(todo) >= packFrom {
		packer = newPacker(s.blobs.packs)
	}
	var next atomic.Int64
	var all sync.WaitGroup
	var errs [workers]error
	for id := range min(workers, (len(todo)+block-1)/block) {
		all.Go(func() {
			for errs[id] == nil {
				from := int(next.Add(block)) - block
				if from >= len(todo) {
					return
				}
				errs[id] = cmp.Or(s.keepSome(todo[from:min(from+block, len(todo))], begin, packer), ctx.Err())
			}
		})
	}
	all.Wait()
	err = errors.Join(errs[:]...)
	whole = err == nil
	if errors.Is(err, context.DeadlineExceeded) {
		err = nil
	}
	if packer != nil {
		err = packer.finish(err, false)
	}
	return whole && err == nil, err
}

// keepSome saves the contents of items. begin is the start of the scan in nanoseconds.
func (s *Store) keepSome(list []*item, begin int64, p *packer) error {
	near := &nearby{}
	defer near.close()
	for _, e := range list {
		d, base, err := s.parentBy(near, Name(e.path))
		if err != nil {
			continue
		}
		err = s.keepIn(d, base, e, begin, p)
		d.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// keepAttributes is keepIn for a folder: its content are its extended attributes.
func (s *Store) keepAttributes(d tree.Folder, base string, e *item) error {
	f, err := d.OpenFile(base, readFlags, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	list := tree.Attributes(f)
	if len(list) == 0 {
		e.digest = noAttributes
		return nil
	}
	data, err := json.Marshal(list)
	if err != nil {
		return err
	}
	e.digest = SumOf(data)
	return s.blobs.keepContent(e.digest, bytes.NewReader(data), nil)
}

// keepIn saves the content of an item, the file base in the folder d. A packer, if there is one, gets small contents.
func (s *Store) keepIn(d tree.Folder, base string, e *item, begin int64, p *packer) error {
	e.racy = e.changed > begin-int64(timeGrain)
	switch e.kind {
	case aLink:
		e.digest, _ = d.Readlink(base)
		return nil
	case aFolder:
		return s.keepAttributes(d, base, e)
	}
	f, info, err := tree.RegularFile(d.OpenFile(base, readFlags, 0))
	if err != nil || info.Size > maxSize(e) {
		if err == nil {
			f.Close()
		}
		return nil
	}
	defer f.Close()
	name, err := s.keepFile(f, info.Size, p)
	if name == "" || err != nil {
		return err
	}
	after, err := tree.StatRegular(f)
	if err != nil {
		return nil
	}
	e.stamp, e.digest = stampOf(info), name
	e.racy = e.changed > begin-int64(timeGrain) || stampOf(after) != e.stamp
	return nil
}

// keepFile saves the content of a file, and returns the name of its blob, "" if it cannot be read.
func (s *Store) keepFile(f *os.File, size int64, p *packer) (name string, err error) {
	attributes := tree.AttributesSum(f)
	if attributes != "" {
		p = nil
	}
	if p == nil || size > maxPacked {
		sum, err := sumOfReader(f, size)
		if err != nil {
			return "", nil
		}
		from := f
		if attributes == "" {
			from = nil
		}
		return sum + attributes, s.blobs.keepContent(sum+attributes, io.NewSectionReader(f, 0, size), from)
	}
	data := make([]byte, size)
	n, err := f.ReadAt(data, 0)
	if err != nil && err != io.EOF {
		return "", nil
	}
	name = SumOf(data[:n])
	if p.takes(name) || s.blobs.verified(name) {
		return name, nil
	}
	return name, p.add(name, data[:n])
}
