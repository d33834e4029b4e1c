package workspace

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"syscall"

	"textskill/skill/internal/history"
	"textskill/skill/internal/workspace/tree"
)

// A Change describes what an operation does to the workspace.
type Change struct {
	Kind    Kind
	Path    string   // absolute: the path that is written, made, moved to or removed
	From    string   // absolute: the source of a copy or a move
	NotSeen []string // of a command: folders that tools build again, where changes are not looked for
	Diff    string   // unified; only in a dry run or with [WriteOptions].Diff
	Applied bool     // false in a dry run

	ID      string   // for [Workspace.Undo]; "" if the change is not in a journal
	NotKept string   // why the journal cannot undo the change; "" if it can
	Git     []string // of a command: changed paths that may make git run programs

	parents *history.Op    // the op that made the missing folders above Path; nil if none were missing
	ops     int            // number of recorded ops; see settle
	store   *history.Store // holds the ops
	op      int64          // number of the last op
	folders []tree.Folder  // changed folders, open until settle
	inPlace bool           // no name in the folders was changed
	later   *Unflushed     // see [RunStep]
}

// Kind is what a Change does. It is printed after "would": "would write P".
type Kind string

// The kinds of change.
const (
	Write  Kind = "write"
	Append Kind = "append to"
	Edit   Kind = "edit"
	Copy   Kind = "copy"
	Move   Kind = "move"
	Delete Kind = "delete"
	Mkdir  Kind = "create directory"
	Undo   Kind = "undo"
	Run    Kind = "run"   // the changes of a command, see [Workspace.Begin]
	Patch  Kind = "patch" // several files, see [Workspace.ChangeFiles]
)

// String says what an unapplied change would have done.
func (c Change) String() string {
	if c.From != "" {
		return "would " + string(c.Kind) + " " + c.From + " to " + c.Path
	}
	return "would " + string(c.Kind) + " " + c.Path
}

// commit makes every change: it records planned, calls apply to change the files, and completes c.
// apply passes the old files to the keeper, which is nil if they are not kept. If commit cannot record
// the op, it changes nothing. If apply fails, commit rolls back. Later, after the locks are released,
// settle makes the op and the change durable.
func (w *Workspace) commit(ctx context.Context, c *Change, l *heldLocks, planned plan,
	apply func(*history.Keeper) error) error {
	by := w.author
	c.later = by.Later
	j := w.recorder(planned.root)
	if j == nil {
		if err := apply(nil); err != nil {
			return err
		}
		c.Applied = true
		return nil
	}
	tx, op := l.tx(j), &planned.Op
	op.Kind = cmp.Or(op.Kind, string(c.Kind))
	if c.parents != nil {
		op.Deltas = append(slices.Clone(c.parents.Deltas), op.Deltas...)
	}
	op.Dialect, op.Tool, op.Run, op.RunStep = by.Dialect, by.Tool, by.Run, by.Step
	if op.Dialect != "" {
		op.Host, op.Agent = by.Host, by.Agent
	}
	for i := range op.Deltas {
		if op.Note != "" {
			op.Deltas[i].Before.Blob = ""
		}
	}
	err := tx.CatchUp(ctx, op.Deltas...)
	switch {
	case err != nil:
	case c.parents != nil:
		err = tx.Replace(op, c.parents)
	default:
		err = tx.Add(op)
	}
	if err != nil {
		return err
	}
	c.ops, c.store, c.op = c.ops+1, tx.Store, op.ID
	var k *history.Keeper
	if op.Note == "" {
		k = tx.Keeper(op, len(op.Deltas)-1)
	}
	if planned.steps > 1 {
		err = tx.FlushLog()
	}
	if err == nil {
		err = apply(k)
	}
	if err != nil {
		return tx.Void(op, err)
	}
	tx.Made()
	tx.Follow(op.Deltas...)
	c.ID = w.changeID(j, op.ID)
	if by.Made != nil && !planned.parents {
		by.Made(c.ID)
	}
	c.Applied, c.NotKept = true, op.Note
	return nil
}

// settle makes the op durable and then the changed files, together with other pending changes. With
// [RunStep].Later it leaves that to the caller. It closes the folders of l.
func (w *Workspace) settle(c *Change, l *heldLocks) error {
	if l != nil {
		c.folders, l.folders = append(c.folders, l.folders...), nil
	}
	if c.inPlace {
		for _, d := range c.folders {
			d.Close()
		}
		c.folders, c.inPlace = nil, false
	}
	made := Unflushed{count: c.ops, folders: c.folders, noSync: w.opts.NoSync}
	if c.store != nil {
		made.stores = []*history.Store{c.store}
	}
	recorded := c.ops > 0
	c.ops, c.store, c.folders, c.parents = 0, nil, nil, nil
	switch {
	case !c.Applied:
		made.close()
	case c.later != nil && recorded:
		c.later.add(made)
	default:
		return made.Flush()
	}
	return nil
}

// A RunStep identifies a step of an expert's run, or the session of another agent.
type RunStep struct {
	Run  string
	Step int
	// the agent's program, and the kind of its sub-agent: see package history; only for changes with a dialect
	Host, Agent string
	Made        func(id string) // called with the ID of each change; may be nil
	// collects changes to flush them together; until then a power cut may lose them; nil flushes each
	Later *Unflushed
	Hide  func(text string) string // takes secrets out of commands that are recorded; may be nil
}

// An Author is who makes changes, as they are recorded.
type Author struct {
	Dialect, Tool string
	RunStep
}

// By returns a Workspace like w whose changes are an author's. It shares everything else with w, and is not
// closed.
func (w *Workspace) By(a Author) *Workspace {
	y := *w
	y.author = a
	return &y
}

// Author returns whose changes are recorded.
func (w *Workspace) Author() Author { return w.author }

// checkWritable fails with EROFS if the workspace is opened read-only.
func (w *Workspace) checkWritable() error {
	if w.opts.ReadOnly {
		return syscall.EROFS
	}
	return nil
}

// A target is a path to change, whose folder is open and locked.
type target struct {
	w *Workspace
	c *Change
	l *heldLocks
	p location
	d tree.Folder // the folder of p
}

// missingFolder reports whether an operation failed because a folder above is missing or is not a
// folder.
func missingFolder(err error) bool { return errors.Is(err, fs.ErrNotExist) || err == syscall.ENOTDIR }

// locked locks the histories of roots, opens the folders of at, and calls do with these as targets. With
// parents it first makes the missing folders above the last location of at, and removes them again if do fails.
// Finally it releases the locks and makes the change durable.
func (w *Workspace) locked(ctx context.Context, c *Change, parents bool, roots, at []location,
	do func(l *heldLocks, s []target) error) (err error) {
	l, err := w.lockRoots(ctx, roots...)
	if err != nil {
		return err
	}
	done := false
	defer func() {
		l.release()
		if done {
			err = cmp.Or(err, w.settle(c, l))
		}
	}()
	removeParents := func() {}
	if parents && w.isMissing(at[len(at)-1].parent()) {
		if removeParents, err = w.makeParents(ctx, c, l, at[len(at)-1].parent()); err != nil {
			done = true
			return err
		}
	}
	folders, err := l.openFolders(at...)
	if err == nil {
		steps := make([]target, len(at))
		for i, p := range at {
			steps[i] = target{w, c, l, p, folders[i]}
			l.removeLeftover(folders[i])
		}
		err = do(l, steps)
	}
	if err != nil {
		removeParents()
	}
	done = true
	return err
}

// isMissing reports whether a folder does not exist.
func (w *Workspace) isMissing(p location) bool {
	info, err := p.root.tree.Stat(p.rel)
	return err != nil || !info.IsDir()
}

// makeParents makes p and the missing folders above it, before commit records c. removeParents removes
// them again.
func (w *Workspace) makeParents(ctx context.Context, c *Change, l *heldLocks,
	p location) (removeParents func(), err error) {
	var made []location
	part := Change{Kind: Mkdir, Path: p.path()}
	planned := w.planFolders(p)
	planned.parents = true
	err = w.commit(ctx, &part, l, planned, func(*history.Keeper) error {
		made, err = w.makeFolders(&part, p)
		return err
	})
	c.ops, c.folders = c.ops+part.ops, append(c.folders, part.folders...)
	c.store = cmp.Or(c.store, part.store)
	if err == nil && part.ID != "" {
		c.parents = &planned.Op
		c.parents.ID = part.op
	}
	return func() {
		removeFolders(made)
		if j := w.recorder(p.root); j != nil && c.parents != nil {
			l.tx(j).Supersede(c.parents)
		}
		c.parents = nil
	}, err
}

// removeLeftover removes the temporary file or tree that a killed process left in d, if d is locked.
func (l *heldLocks) removeLeftover(d tree.Folder) {
	if len(l.unflocked) == 0 {
		history.Discard(d, tempName)
	}
}

// makeFolders makes p and the missing folders above it for c. It returns the new folders, the outermost
// first. If it fails, it removes them.
func (w *Workspace) makeFolders(c *Change, p location) (made []location, err error) {
	info, err := p.root.tree.Stat(p.rel)
	switch {
	case err == nil && info.IsLink():
		return nil, syscall.ELOOP
	case err == nil && info.IsDir():
		return nil, nil
	case err == nil:
		return nil, mkdirError{syscall.EEXIST}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, mkdirFailed(err)
	}
	made, err = w.makeFolders(c, p.parent())
	if err != nil {
		return nil, err
	}
	d, err := p.root.tree.OpenFolder(p.parent().rel)
	if err == nil {
		c.folders = append(c.folders, d)
		err = d.Mkdir(p.base(), 0o777)
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return made, nil // another program made it at the same time
	case err != nil:
		removeFolders(made)
		return nil, mkdirFailed(err)
	}
	return append(made, p), nil
}

// A mkdirError is an error from making a folder above the operation's own path. It becomes a PathError
// with Op "mkdir".
type mkdirError struct{ error }

// mkdirFailed wraps err in a mkdirError. It does not wrap ELOOP, after which [Workspace.withLocation]
// follows a link, nor an error that names a folder.
func mkdirFailed(err error) error {
	if _, named := err.(*fs.PathError); err == nil || err == syscall.ELOOP || named {
		return err
	}
	return mkdirError{err}
}

func removeFolders(made []location) {
	for i := len(made) - 1; i >= 0; i-- {
		if d, err := made[i].root.tree.OpenFolder(path.Dir(made[i].rel)); err == nil {
			d.Remove(made[i].base(), true)
			d.Close()
		}
	}
}

// wrapMkdir is wrap for an operation that makes the folders above abs.
func wrapMkdir(op, abs, dir string, err error) error {
	if me, ok := err.(mkdirError); ok {
		return &fs.PathError{Op: "mkdir", Path: dir, Err: me.error}
	}
	return wrap(op, abs, err)
}

// existing converts the results of a Stat: found is false for a name that does not exist. A link is
// ELOOP, so that [Workspace.withLocation] follows it.
func existing(info Info, err error) (found bool, _ error) {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case info.IsLink():
		return false, syscall.ELOOP
	}
	return true, nil
}
