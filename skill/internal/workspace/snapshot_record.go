package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"textskill/skill/internal/state"
	"textskill/skill/internal/workspace/tree"
)

// maxSteps is the largest number of files in a change that can be undone.
const maxSteps = 10_000

// maxConfig is how many of recorder.config the history names.
const maxConfig = 8

// lockTime is how long Record waits for changes of others to end.
const lockTime = 10 * time.Second

// Record compares the workspace with the snapshot, and records all differences as one
// change by the program called command, except those that other changes in the journal
// made meanwhile. A Change without an ID means that there were no differences.
func (s *Snapshot) Record(ctx context.Context, command string) (Change, []Untracked, error) {
	c := Change{Kind: Run, Path: s.w.Dir()}
	found, err := s.scan(ctx, s.table, s.table.base)
	if err != nil {
		return c, nil, err
	}
	r := &recorder{Snapshot: s, ctx: ctx}
	for _, name := range found.other() {
		r.note(name, "it is on another file system, and what changes there is not recorded")
	}
	if r.diffs = s.diffs(found); len(r.diffs) == 0 {
		return c, r.untracked, nil
	}
	waiting, cancel := context.WithTimeout(ctx, lockTime)
	defer cancel()
	l, err := s.w.lockAll(waiting)
	if err != nil {
		return c, nil, err
	}
	untracked, err := r.record(ctx, &c, command)
	l.release()
	if serr := s.w.settle(&c, nil); err == nil {
		err = serr
	}
	if len(r.steps) == 0 { // the record only keeps undo from silence
		c.ID, c.NotKept = "", ""
	}
	return c, untracked, err
}

// record does that with the roots locked.
func (r *recorder) record(ctx context.Context, c *Change, command string) ([]Untracked, error) {
	if err := r.findConcurrent(); err != nil {
		return nil, err
	}
	defer r.removeStage()
	if err := r.describe(); err != nil {
		return r.untracked, err
	}
	if len(r.steps) == 0 {
		if r.otherCommand {
			r.untracked = append(r.untracked, Untracked{"", "another command ran at the same time, and what this one changed may be among that one's changes"})
		}
		if len(r.unkept) == 0 {
			return r.untracked, nil
		}
		return r.untracked, r.w.commitUnkept(ctx, c, state.Record{Steps: r.unkept, Command: command, Left: r.left, Note: r.why})
	}
	if alone, err := r.share(nil); err == nil && !(alone && r.alone) || r.otherCommand {
		r.untracked = append(r.untracked, Untracked{"", "another command ran at the same time, and what it changed may be among these changes"})
	}
	c.Path = r.h.path(r.steps[len(r.steps)-1].Path)
	d := plan{root: r.w.roots[0], end: true, Record: state.Record{Steps: r.steps, Bytes: r.bytes, Command: command, Began: r.began, Since: r.since, Left: r.left, Config: r.config[:min(len(r.config), maxConfig)]}}
	if len(r.steps) > maxSteps {
		d.Note = fmt.Sprintf("it changed %d files, and more than %d cannot be undone", len(r.steps), maxSteps)
	}
	return r.untracked, r.w.commit(ctx, c, d, r.installImages)
}

// A diff is one path that has changed.
type diff struct {
	path        string
	before, now *entry // nil for nothing
}

// diffs returns what is different, folders before what is in them.
func (s *Snapshot) diffs(found *scan) (list []diff) {
	fresh := found.fresh()
	for i := range fresh {
		now := &fresh[i]
		list = append(list, diff{now.path, s.table.find(now.path), now})
	}
	for _, e := range found.gone() {
		list = append(list, diff{e.path, e, nil})
	}
	slices.SortFunc(list, func(a, b diff) int { return byPath(a.path, b.path) })
	return list
}

// is returns the kind of an entry, 0 for nothing.
func (e *entry) is() kind {
	if e == nil {
		return 0
	}
	return e.kind
}

// recorder describes what a program changed.
type recorder struct {
	*Snapshot
	ctx          context.Context
	diffs        []diff
	concurrent   concurrentChanges
	otherCommand bool                // another command was recorded meanwhile
	linked       map[FileID]bool     // files with several names that were described
	names        map[FileID][]string // of files with several names; nil until it is needed
	moved        map[string]string   // by name, where what is not kept was before; undo leaves it where it is now
	movedInto    map[string]bool     // the folders that hold such things

	steps     []state.Step
	staged    []string     // for each step the name in stage of what becomes its image; "" for none
	stage     tree.Folder  // nil until it is needed
	stages    *storeFolder // that holds it
	name      string       // of stage
	bytes     int64        // of the images
	untracked []Untracked
	left      int          // of untracked, what git does not ignore and undo leaves as it is
	unkept    []state.Step // of which only the path is known: what git does not ignore; or, if that is nothing, the first that it does
	why       string       // the last of them was not kept
	config    []state.Name // of untracked, what makes this program or git run others
}

func (r *recorder) add(s state.Step, staged string) {
	s.Keep = staged != ""
	s.After.Stamp.CTime = 0
	r.steps, r.staged = append(r.steps, s), append(r.staged, staged)
	r.bytes += s.Before.Size
}

// describe turns the differences into steps.
func (r *recorder) describe() error {
	r.linked = map[FileID]bool{}
	r.findMoved()
	done := "" // the folder that was described with everything in it
	for _, d := range r.diffs {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		if done != "" && strings.HasPrefix(d.path, done+"/") {
			continue
		}
		whole, err := r.describeOne(d)
		if err != nil {
			return err
		}
		if whole {
			done = d.path
		}
	}
	return nil
}

// describeOne describes one difference. It reports whether all in a folder was described with it.
func (r *recorder) describeOne(d diff) (whole bool, err error) {
	moved := d.before == nil || d.now == nil // or made, or removed
	if why := r.untouched(d.path); why != "" && !(moved && r.concurrent.has(d.path)) {
		if !r.looksTheSame(d) {
			r.skipConfig(d.path, why)
		}
		return moved, nil
	}
	if mine, err := r.byCommand(d); err != nil || !mine {
		return d.before.is() == aFolder && d.now == nil, err // if so, another change removed it with everything in it
	}
	if from, ok := r.moved[d.path]; ok && !d.now.ignored {
		r.skip(d.path, "it was moved there from "+from+" and is not kept, and undo leaves it as it is")
		return true, nil
	}
	if r.ignored(d) {
		return d.before.is() == aFolder, nil // what is in it, and seen now, need not be the command's doing
	}
	switch was, is := d.before.is(), d.now.is(); {
	case d.now == nil && r.stillFolder(d): // git ignores it from now on
		return false, nil
	case was == aFolder && is == aFolder:
		r.addMode(d, "folder", d.now.mode)
		if d.before.unread() {
			r.skip(d.path, unreadReason)
		}
		return d.before.unread(), nil // what is seen in it now may have been there
	case is == aFolder && r.movedInto[d.path]:
		r.skip(d.path, "what was moved into it is not kept, and undo leaves it as it is")
		return was != 0, nil
	case is == aFolder && was == 0 && r.concurrent.below(d.path):
		r.add(state.Step{Path: state.Name(d.path), After: madeFolder(fs.FileMode(d.now.mode))}, "")
		return false, nil
	case was == aFolder || is == aFolder:
		return true, r.addExchange(d)
	}
	return false, r.addFile(d)
}

// stillFolder reports whether a folder still exists that was not visited again.
func (r *recorder) stillFolder(d diff) bool {
	if d.before.kind != aFolder {
		return false
	}
	info, err := r.h.root.tree.Stat(d.path)
	return err == nil && info.IsDir()
}

// addFile describes the change of a file or link, or to one.
func (r *recorder) addFile(d diff) error {
	b, n := d.before, d.now
	switch {
	case b.is() == aFile && n.is() == aFile && b.digest == "":
		if b.size != n.size || b.mod != n.mod || b.id != n.id {
			r.skip(d.path, notKept(b))
		} else {
			r.addMode(d, "file", n.mode)
		}
		return nil
	case b.is() == aSpecial && n.is() == aSpecial && b.id == n.id:
		r.addMode(d, "other", n.mode)
		return nil
	}
	now, err := r.now(d.path)
	switch {
	case err != nil || now.Kind == "folder":
		r.skip(d.path, unseenReason)
		return nil
	case b.is() == aFile && now.Kind == "file" && b.holds(now.Sum) && !r.regrouped(b, n):
		r.addMode(d, "file", now.Mode)
		return nil
	case b.is() == aLink && now.Kind == "link" && string(now.Target) == b.digest, b == nil && now.Kind == "":
		return nil
	}
	return r.addExchange(d)
}

const unseenReason = "what it is now cannot be read"

// addMode describes a change of permissions, if there is one.
func (r *recorder) addMode(d diff, is string, now uint32) {
	if was := d.before.mode; was != now {
		r.add(state.Step{Path: state.Name(d.path), Before: state.State{Kind: is, Mode: was}, After: state.State{Kind: is, Mode: now}}, "")
	}
}

// addExchange describes a file that was created, removed or replaced.
func (r *recorder) addExchange(d diff) error {
	b, n := d.before, d.now
	both := b.is() == aFile && n.is() == aFile
	if both && b.id == n.id && r.linked[n.id] {
		return nil // described already, under its other name
	}
	linked := both && n.links > 1 && r.keepsNames(b, n)
	if linked {
		r.linked[n.id] = true
	}
	after, err := r.now(d.path)
	if err != nil {
		r.skip(d.path, unseenReason)
		return nil
	}
	before, staged, link := state.State{}, "", state.Name("")
	if d.before != nil {
		if !linked {
			link = r.otherName(d.before)
		}
		if staged, err = r.restore(d.before); err != nil {
			return err
		}
		if staged == "" {
			return nil
		}
		if before, err = stateAt(r.stage, staged, allBytes); err != nil {
			return err
		}
		if link != "" || linked {
			before.Stamp.Ino, before.Links = b.id.Ino, uint64(b.links) // by which undo knows the other name
		}
	}
	if both && !linked && (n.links > 1 || b.holds(after.Sum)) {
		// The file that was there, or its content, is to come back under this name only. Two of the same
		// content do not differ in one step.
		r.add(state.Step{Path: state.Name(d.path), Before: before, Link: link}, staged)
		before, staged, link = state.State{}, "", ""
	}
	r.add(state.Step{Path: state.Name(d.path), Before: before, After: after, Link: link}, staged)
	if linked {
		r.addMode(d, "file", after.Mode)
	}
	return nil
}

// now returns the state of what is at name.
func (r *recorder) now(name string) (state.State, error) {
	d, err := r.h.folderOf(name)
	if errors.Is(err, fs.ErrNotExist) || err == syscall.ENOTDIR || err == syscall.ELOOP {
		return state.State{}, nil
	}
	if err != nil {
		return state.State{}, err
	}
	defer d.Close()
	return stateAt(d, path.Base(name), allBytes)
}

// installImages moves what is staged to be the images.
func (r *recorder) installImages(k *keeper) error {
	if k == nil {
		return nil
	}
	for i, s := range k.Steps {
		if r.staged[i] == "" {
			continue
		}
		if err := r.stage.Rename(r.staged[i], k.Images(), s.Image, false); err != nil {
			return err
		}
	}
	if r.w.opts.NoSync {
		return nil
	}
	return tree.Syncfs(k.Images())
}
