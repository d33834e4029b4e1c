package workspace

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"syscall"

	"textskill/skill/internal/state"
	"textskill/skill/internal/workspace/tree"
)

// A Change describes what an operation does to the workspace. It is complete
// before anything is touched.
type Change struct {
	Kind    Kind
	Path    string // absolute: what is written, made, moved to or removed
	From    string // absolute: the source of a copy or a move
	Diff    string // unified; of a change that was not applied, and where it is asked for
	Applied bool   // false in a dry run

	ID      string // for [Workspace.Undo]; "" if the change is not in a journal
	NotKept string // why the change cannot be undone although there is a journal; "" if it can

	parents *state.Change   // the record of the folders that were made for it, nil if none were
	open    []*state.Change // all of its records; see settle
	folders []tree.Folder   // that were changed on the way
	files   []*os.File      // that were written in place
	later   *Unflushed      // see [RunStep]
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
	Run    Kind = "run"   // what a command changed, see [Snapshot.Record]
	Patch  Kind = "patch" // of several files, see [Workspace.ChangeFiles]
)

// String says what an unapplied change would have done.
func (c Change) String() string {
	if c.From != "" {
		return "would " + string(c.Kind) + " " + c.From + " to " + c.Path
	}
	return "would " + string(c.Kind) + " " + c.Path
}

// commit is the one way to change something: it records planned, calls apply to make the
// change, and completes c. What the last step takes away goes to the keeper, which is nil if
// nothing is to be kept. A record that cannot be written refuses the change. The record and
// the change are made durable by settle, after the locks are released. So are those of a change that
// apply has made a part of, if it returns a halfMade.
func (w *Workspace) commit(ctx context.Context, c *Change, planned plan, apply func(*keeper) error) error {
	by := runOf(ctx)
	c.later = by.Later
	h := w.journal(planned.root)
	if h == nil {
		if err := apply(nil); err != nil {
			return err
		}
		c.Applied = true
		return nil
	}
	s, err := h.open()
	if err != nil {
		return err
	}
	r := &planned.Record
	r.Kind = cmp.Or(r.Kind, string(c.Kind))
	if c.parents != nil {
		r.Steps = append(slices.Clone(c.parents.Steps), r.Steps...)
	}
	r.Dialect, r.Tool = labelOf(ctx)
	r.Run, r.RunStep = by.Run, by.Step
	for i := range r.Steps {
		r.Steps[i].Keep = r.Steps[i].Keep && r.Note == ""
	}
	change, err := s.Add(ctx, r)
	if err != nil {
		return err
	}
	c.open = append(c.open, change)
	var k *keeper
	if r.Note == "" {
		k = &keeper{change, w, h, len(r.Steps) - 1}
	}
	err = apply(k)
	_, half := errors.AsType[halfMade](err)
	if err != nil && !half {
		change.End(context.WithoutCancel(ctx), state.Void)
		return err
	}
	if c.parents != nil { // its steps are those of this record now
		c.parents.End(context.WithoutCancel(ctx), state.Void)
	}
	if planned.end && !half {
		if err := change.End(context.WithoutCancel(ctx), state.Done); err != nil {
			return err
		}
	}
	c.ID = w.changeID(h, r.ID)
	if by.Made != nil && !planned.parents {
		by.Made(c.ID)
	}
	c.Applied, c.NotKept = true, r.Note
	return err
}

// A halfMade is the error of a change of which a part was made and could not be put back. Its record stays, as
// that of a change whose process was killed: an undo brings back what it took.
type halfMade struct{ error }

func (e halfMade) Unwrap() error { return e.error }

// settle makes what commit recorded and changed durable, in that order, with the changes of
// others; or leaves that to the caller, see [RunStep]. It closes the folders of l.
func (w *Workspace) settle(c *Change, l *heldLocks) error {
	if l != nil {
		c.folders, l.folders = append(c.folders, l.folders...), nil
	}
	made := Unflushed{c.open, c.folders, c.files, w.opts.NoSync}
	c.open, c.folders, c.files, c.parents = nil, nil, nil, nil
	switch {
	case !c.Applied:
		made.close()
	case c.later != nil && len(made.open) > 0:
		c.later.add(made)
	default:
		return made.Flush()
	}
	return nil
}

type labelKey struct{}

type label struct{ dialect, tool string }

// WithLabel returns a context under which changes are recorded with the dialect and
// tool that made them.
func WithLabel(ctx context.Context, dialect, tool string) context.Context {
	return context.WithValue(ctx, labelKey{}, label{dialect, tool})
}

func labelOf(ctx context.Context) (dialect, tool string) {
	l, _ := ctx.Value(labelKey{}).(label)
	return l.dialect, l.tool
}

type runKey struct{}

// A RunStep is a step of an expert's run, in which changes are made.
type RunStep struct {
	Run   string
	Step  int
	Made  func(id string) // is called with the ID of each change; nil for nobody
	Later *Unflushed      // collects the recorded changes, which may not survive a power cut until it is flushed; nil flushes each
}

// WithRun returns a context under which changes are recorded as those of a step of a run.
func WithRun(ctx context.Context, s RunStep) context.Context {
	return context.WithValue(ctx, runKey{}, s)
}

func runOf(ctx context.Context) RunStep {
	s, _ := ctx.Value(runKey{}).(RunStep)
	return s
}

// checkWritable fails with EROFS if the workspace is opened read-only.
func (w *Workspace) checkWritable() error {
	if w.opts.ReadOnly {
		return syscall.EROFS
	}
	return nil
}

// A scope is what a change locks besides the folder that it is made in.
type scope struct {
	parents   bool      // make the folders above
	exclusive bool      // lock the roots exclusively: nobody else changes anything meanwhile
	source    *location // lock the root of this one as well; nil for none
}

// inFolder calls do with the folder of p locked. Folders above p are made under
// exclusive locks, so that nobody removes them before do is called; if do fails, they
// are removed.
func (w *Workspace) inFolder(ctx context.Context, c *Change, p location, s scope, do func(d tree.Folder) error) error {
	return w.again(s.parents, s.exclusive, func(alone bool) error {
		s.exclusive = alone
		return w.tryInFolder(ctx, c, p, s, do)
	})
}

// again calls try once more where something else has changed a file meanwhile, and with the
// roots locked alone where folders are to be made.
func (w *Workspace) again(parents, alone bool, try func(alone bool) error) error {
	err := try(alone)
	if parents && !alone && missingFolder(err) {
		alone = true
		err = try(alone)
	}
	for n := 0; err == errChanged && n < 100; n++ {
		err = try(alone)
	}
	return err
}

// missingFolder reports whether an operation failed for want of a folder above, or
// because something else has the place of one.
func missingFolder(err error) bool { return errors.Is(err, fs.ErrNotExist) || err == syscall.ENOTDIR }

func (w *Workspace) tryInFolder(ctx context.Context, c *Change, p location, s scope, do func(d tree.Folder) error) error {
	locked := []location{p}
	if s.source != nil {
		locked = append(locked, *s.source)
	}
	return w.locked(ctx, c, s.parents && s.exclusive, s.exclusive, locked, []location{p}, func(d []tree.Folder) error {
		removeLeftover(d[0])
		return do(d[0])
	})
}

// locked locks the roots of some locations, makes the folder of the last of at with those
// above if parents is set, locks the folders of at, and calls do with them. After that all is
// unlocked and made durable.
func (w *Workspace) locked(ctx context.Context, c *Change, parents, alone bool, roots, at []location, do func(d []tree.Folder) error) error {
	l, err := w.lockRoots(ctx, alone, roots...)
	if err != nil {
		return err
	}
	err = func() error {
		defer l.release()
		removeParents := func() {}
		if parents {
			if removeParents, err = w.makeParents(ctx, c, at[len(at)-1].parent()); err != nil {
				return err
			}
		}
		d, err := l.lockFolders(ctx, w, at...)
		if err == nil {
			err = do(d)
		}
		if err != nil {
			removeParents()
		}
		return err
	}()
	return cmp.Or(err, w.settle(c, l))
}

// makeParents makes p and the folders above it for c, which is recorded next. The
// function that it returns removes them again.
func (w *Workspace) makeParents(ctx context.Context, c *Change, p location) (removeParents func(), err error) {
	var made []location
	part := Change{Kind: Mkdir, Path: p.path()}
	planned := w.planFolders(p)
	planned.parents = true
	err = w.commit(ctx, &part, planned, func(*keeper) error {
		made, err = w.makeFolders(&part, p)
		return err
	})
	c.open, c.folders = append(c.open, part.open...), append(c.folders, part.folders...)
	if err == nil && len(part.open) > 0 {
		c.parents = part.open[0]
	}
	return func() {
		removeFolders(made)
		if c.parents != nil {
			c.parents.End(context.WithoutCancel(ctx), state.Void)
		}
		c.parents = nil
	}, err
}

// removeLeftover removes the temporary file or tree that a killed process left in d,
// which is locked.
func removeLeftover(d tree.Folder) { discard(d, tempName) }

// makeFolders makes p and the folders above it for c, and returns those that did not
// exist, the outermost first. If it fails, it leaves none of them.
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
		return made, nil // somebody else made it at the same time
	case err != nil:
		removeFolders(made)
		return nil, mkdirFailed(err)
	}
	return append(made, p), nil
}

// A mkdirError is an error from making a folder above the file that an operation is
// about: it is reported as one of mkdir.
type mkdirError struct{ error }

// mkdirFailed wraps err, but not ELOOP: that lets [Workspace.withLocation] follow a link.
// An error that names another folder keeps it.
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

// existing takes the results of a Stat and reports whether something exists. A link is
// ELOOP, for [Workspace.withLocation] to follow.
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
