package history

import (
	"errors"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"textskill/skill/internal/workspace/tree"
)

// A program that has a file open goes on with the old file when an undo replaces or removes it. So the undo leaves
// such a file: rule 20 of the package. The files of a database are one thing.

// A Held is a file that a program has open for writing.
type Held struct {
	Path     Name
	By       string // the program; "" for one that this user cannot see
	database bool   // the file belongs to a database that is open
}

func (h Held) reason() string {
	by := h.By
	if by == "" {
		by = "another program"
	}
	if h.database {
		return "belongs to a database that " + by + " has open"
	}
	return "is open in " + by
}

// An asker finds programs that have files open. It asks about each file once.
type asker struct {
	s       *Store
	held    map[Name]*Held // by the asked path; nil if no program has it open
	holders map[tree.FileID]string
	own     map[uint64]bool // inodes of files that this process has locked
	plain   map[string]bool // folders without a cluster in them or above
	unasked []Name          // files about which the system does not tell
}

func (s *Store) newAsker() *asker {
	return &asker{s: s, held: map[Name]*Held{}, own: ownLocks(), plain: map[string]bool{}}
}

// about returns who has the file at a path open, or another file of the same database; nil if nobody has.
func (a *asker) about(name Name) *Held {
	if h, ok := a.held[name]; ok {
		return h
	}
	h := a.file(name)
	family := a.family(name)
	for _, other := range family {
		if h == nil {
			h = a.file(other)
		}
	}
	if h == nil {
		h = a.cluster(name)
	} else if len(family) > 0 {
		h.database = true
	}
	if h != nil {
		h.Path = name
	}
	a.held[name] = h
	return h
}

// below returns who has a file in a folder open, nil if nobody has.
func (a *asker) below(folder Name) (held *Held) {
	a.walk(folder, func(name Name) bool {
		held = a.about(name)
		return held == nil
	})
	return held
}

// walk calls visit for the regular files below a folder, until visit returns false.
func (a *asker) walk(folder Name, visit func(Name) bool) bool {
	d, err := a.s.o.Tree.OpenFolder(string(folder))
	if err != nil {
		return true
	}
	defer d.Close()
	entries, _ := d.Entries()
	for _, e := range entries {
		name := Name(path.Join(string(folder), e.Name))
		switch {
		case e.Type == fs.ModeDir:
			if !a.walk(name, visit) {
				return false
			}
		case e.Type.IsRegular():
			if !visit(name) {
				return false
			}
		}
	}
	return true
}

// patience is for [tree.HasWriter].
const patience = 128 * time.Millisecond

// file asks about one file.
func (a *asker) file(name Name) *Held {
	d, base, err := a.s.parent(name)
	if err != nil {
		return nil
	}
	defer d.Close()
	info, err := d.Lstat(base)
	if err != nil || !info.Mode.IsRegular() {
		return nil
	}
	if a.own[info.ID.Ino] { // to close it would release the lock
		return &Held{By: "this program itself"}
	}
	wait := patience
	if a.holders != nil { // a program has many files open, and each would be waited for
		wait = 0
	}
	switch yes, err := tree.HasWriter(d, base, wait); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		a.unasked = append(a.unasked, name)
	case yes:
		if a.holders == nil {
			a.holders = holdersOfFiles()
		}
		return &Held{By: a.holders[info.ID]}
	}
	return nil
}

// family returns the other files of the database to which a file may belong.
func (a *asker) family(name Name) (list []Name) {
	d, base, err := a.s.parent(name)
	if err != nil {
		return nil
	}
	defer d.Close()
	dir, _ := path.Split(string(name))
	add := func(names ...string) {
		for _, n := range names {
			if n == base {
				continue
			}
			if _, err := d.Lstat(n); err == nil {
				list = append(list, Name(dir+n))
			}
		}
	}
	main := base
	for _, end := range []string{"-wal", "-shm", "-journal"} { // SQLite
		main = strings.TrimSuffix(main, end)
	}
	add(main, main+"-wal", main+"-shm", main+"-journal")
	switch { // LMDB, and Redis
	case base == "data.mdb", base == "lock.mdb":
		add("data.mdb", "lock.mdb")
	case strings.HasSuffix(base, ".mdb"), strings.HasSuffix(base, ".mdb-lock"):
		main := strings.TrimSuffix(base, "-lock")
		add(main, main+"-lock")
	case strings.Contains(base, ".aof"):
		entries, _ := d.Entries()
		for _, e := range entries {
			if strings.Contains(e.Name, ".aof") {
				add(e.Name)
			}
		}
	}
	return list
}

func (a *asker) isThere(name Name) bool {
	_, err := a.s.statAt(name)
	return err == nil
}

// cluster returns who has the PostgreSQL database of a file open, nil if nobody has.
func (a *asker) cluster(name Name) *Held {
	const mark = "postmaster.pid"
	dir := path.Dir(string(name))
	if a.plain[dir] {
		return nil
	}
	for _, folder := range append(above(string(name)), ".") {
		key := Name(path.Join(folder, mark))
		if h, ok := a.held[key]; ok {
			return h.copied()
		}
		if !a.isThere(key) {
			continue
		}
		var held *Held
		data, _ := a.s.readNow(key, MaxKept)
		first, _, _ := strings.Cut(string(data), "\n")
		if pid, err := strconv.Atoi(strings.TrimSpace(first)); err == nil && strings.Contains(commandOf(pid), "postgres") {
			held = &Held{By: programName(pid)}
		}
		a.walk(Name(folder), func(file Name) bool {
			if held == nil {
				held = a.file(file)
			}
			return held == nil
		})
		if held != nil {
			held.database = true
		}
		a.held[key] = held
		return held.copied()
	}
	a.plain[dir] = true
	return nil
}

func (h *Held) copied() *Held {
	if h == nil {
		return nil
	}
	c := *h
	return &c
}

// keepHeld takes the paths out of the undo that programs have open.
func (p *planner) keepHeld() {
	from := sources(p.Op.Deltas)
	moves := map[int]bool{}
	for to, at := range from { // the file stays the same
		moves[to], moves[at] = true, true
	}
	deltas := p.Op.Deltas[:0:0]
	for i, d := range p.Op.Deltas {
		var held *Held
		switch {
		case moves[i], d.From != "", d.Before.Same(d.After) && !d.Before.Whole:
		case d.Before.Kind == File:
			held = p.ask.about(d.Path)
		case d.Before.Kind == Dir && d.Before.Whole:
			held = p.ask.below(d.Path)
		}
		switch {
		case held == nil:
		case held.database && !p.how.Force:
			p.Kept = append(p.Kept, &ConflictError{ID: p.id(), Path: d.Path, Reason: held.reason() + ": close it first", Force: true})
			continue
		case !held.database && !p.how.Perhaps && !p.how.Force:
			p.Kept = append(p.Kept, &ConflictError{ID: p.id(), Path: d.Path, Reason: held.reason(), Grade: Unproven})
			continue
		default:
			p.Held = append(p.Held, *held)
		}
		deltas = append(deltas, d)
	}
	p.Op.Deltas, p.Unasked = deltas, p.ask.unasked
}
