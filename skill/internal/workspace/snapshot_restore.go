package workspace

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"textskill/skill/internal/state"
	"textskill/skill/internal/workspace/tree"
)

// restore makes the file or folder of an entry in stage, with everything that was in it. It
// returns its name there, "" if its content was not saved. Parts of a folder that were
// not are left out and noted.
func (r *recorder) restore(e *entry) (staged string, err error) {
	if e.unread() {
		r.skip(e.path, unreadReason)
		return "", nil
	}
	if err := r.openStage(); err != nil {
		return "", err
	}
	staged = strconv.Itoa(len(r.steps))
	if e.kind != aFolder {
		if ok, err := r.restoreOne(e, r.stage, staged, e.path); !ok || err != nil {
			return "", err
		}
		return staged, nil
	}
	if err := r.stage.Mkdir(staged, 0o700); err != nil {
		return "", err
	}
	folders, linked := map[string]*entry{staged: e}, map[entry]string{}
	for _, in := range r.table.below(e.path) {
		if err := r.ctx.Err(); err != nil {
			return "", err
		}
		if isGits(in.path) && (in.kind == aFolder || path.Base(in.path) != ".git") {
			if path.Base(in.path) == ".git" {
				r.skipConfig(in.path, gitsReason)
			}
			continue
		}
		if in.kind == aFolder && in.ignored {
			r.skip(in.path, whyIgnored(in.path))
			continue
		}
		if in.unread() {
			r.skip(in.path, unreadReason)
			continue
		}
		name := staged + strings.TrimPrefix(in.path, e.path)
		if err := r.restoreIn(in, name, e.path, linked); err != nil {
			return "", err
		}
		if in.kind == aFolder {
			folders[name] = in
		}
	}
	return staged, r.finishFolders(folders)
}

// restoreIn makes a part of the folder that was at top. linked are the first names there of files with
// several ones.
func (r *recorder) restoreIn(e *entry, name, top string, linked map[entry]string) error {
	if r.concurrent.has(e.path) {
		r.skip(e.path, "another call changed it meanwhile")
		return nil
	}
	in, err := r.stages.tree.OpenFolder(path.Join(r.name, path.Dir(name)))
	if err != nil {
		return err
	}
	defer in.Close()
	if e.kind == aFolder {
		return in.Mkdir(path.Base(name), 0o700)
	}
	file := *e
	file.path, file.racy = "", false
	if first := linked[file]; first != "" {
		from, err := r.stages.tree.OpenFolder(path.Join(r.name, path.Dir(first)))
		if err != nil {
			return err
		}
		defer from.Close()
		return from.Link(path.Base(first), in, path.Base(name))
	}
	ok, err := r.restoreOne(e, in, path.Base(name), top)
	if ok && e.kind == aFile && e.links > 1 {
		linked[file] = name
	}
	return err
}

// restoreOne makes a file or link, of what was at top. ok is false if its content was not saved, which
// is noted.
func (r *recorder) restoreOne(e *entry, in tree.Folder, name, top string) (ok bool, err error) {
	switch {
	case e.ignored:
		r.skip(e.path, whyIgnored(e.path))
		return false, nil
	case e.kind == aSpecial:
		r.skip(e.path, "it was not a regular file")
		return false, nil
	case e.digest == "":
		r.skip(e.path, notKept(e))
		return false, nil
	case e.kind == aLink:
		return true, in.Symlink(e.digest, name)
	}
	if len(e.digest) > digestLength { // with attributes
		err = r.w.copyWithMetadata(r.lock, e.digest, in, name)
	} else {
		err = r.lock.CopyFile(e.digest, in, name, false)
	}
	var has state.State
	if err == nil {
		has, err = stateAt(in, name, allBytes)
	}
	if err != nil || !e.holds(has.Sum) {
		in.Remove(name, false)
		r.skip(e.path, "what was kept of it is damaged or gone")
		return false, nil
	}
	if e.links > 1 && !(r.linked[e.id] && r.isNow(e.path, e.id)) && r.parts(e, top) {
		r.note(e.path, "it was one of several names of a file, and undo makes a file of its own of it")
	}
	return true, e.setMetadata(in, name)
}

// parts reports whether undo brings an entry of what was at top back as another file than one of its
// other names.
func (r *recorder) parts(e *entry, top string) bool {
	names := r.namesOf(e)
	if top == e.path {
		return len(names) < int(e.links) && r.otherName(e) == ""
	}
	return len(names) < int(e.links) || slices.ContainsFunc(names, func(name string) bool { return !strings.HasPrefix(name, top+"/") })
}

// otherName returns another name of the file of an entry: one that is as it was, but for permissions and times,
// or else the one that undo brings back first. It is "" if there is none.
func (r *recorder) otherName(e *entry) state.Name {
	last := ""
	for _, name := range r.namesOf(e) {
		if name != e.path && r.isAsItWas(name, e) {
			return state.Name(name)
		}
		last = name
	}
	if last == e.path {
		return ""
	}
	return state.Name(last)
}

// isAsItWas reports whether the file of an entry is at name with the content that it had.
func (r *recorder) isAsItWas(name string, e *entry) bool {
	info, err := r.h.root.tree.Stat(name)
	now := stampOf(info)
	touched := now.mod != e.mod
	if now.changed, now.links, now.mode, now.mod = e.changed, e.links, e.mode, e.mod; err != nil || now != e.stamp {
		return false
	}
	if !touched {
		return true
	}
	is, err := r.now(name)
	return err == nil && e.holds(is.Sum)
}

// keepsNames reports whether a file has the names that it had, and no others. One that also has names
// which are not seen, as images or outside of the workspace, is to stay the same file: it need not have
// all its names, and may have those that the command gave it in the workspace.
func (r *recorder) keepsNames(b, n *entry) bool {
	if b.id != n.id {
		return false
	}
	names, links := r.namesOf(b), int(b.links)
	left := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !r.isNow(name, b.id) })
	if len(names) >= links {
		return b.links == n.links && len(left) == len(names)
	}
	links -= len(names) - len(left)
	for _, d := range r.diffs {
		if int(n.links) <= links {
			break
		}
		if d.now.is() == aFile && d.now.id == b.id && (d.before.is() != aFile || d.before.id != b.id) {
			links++
		}
	}
	return int(n.links) <= links
}

// regrouped reports whether another file of the same content is at a name, and so has other names
// than what was there.
func (r *recorder) regrouped(b, n *entry) bool {
	if n.is() != aFile || b.id == n.id || max(b.links, n.links) < 2 {
		return false
	}
	if b.links == n.links && !slices.ContainsFunc(r.namesOf(b), func(name string) bool { return !r.isNow(name, n.id) }) {
		return false
	}
	return n.links > 1 || r.otherName(b) != ""
}

// isNow reports whether a file is at name.
func (r *recorder) isNow(name string, id FileID) bool {
	info, err := r.h.root.tree.Stat(name)
	return err == nil && info.ID == id
}

// namesOf returns all names that a file had.
func (r *recorder) namesOf(e *entry) []string {
	if e.kind != aFile || e.links < 2 {
		return nil
	}
	if r.names == nil {
		r.names = map[FileID][]string{}
		for _, o := range r.table.list {
			if o.kind == aFile && o.links > 1 {
				r.names[o.id] = append(r.names[o.id], o.path)
			}
		}
		for _, names := range r.names {
			slices.SortFunc(names, byPath)
		}
	}
	return r.names[e.id]
}

// setMetadata gives the file at name the owner, permissions and time of the entry.
func (e *entry) setMetadata(in tree.Folder, name string) error {
	info, err := in.Lstat(name)
	if err != nil {
		return err
	}
	if info.UID != e.uid || info.GID != e.gid {
		if f, err := in.OpenFile(name, os.O_RDONLY, 0); err == nil {
			f.Chown(int(e.uid), int(e.gid)) // fails unless this is root: then the owner is this user anyway
			f.Close()
		}
	}
	if err := in.Chmod(name, fs.FileMode(e.mode)); err != nil {
		return err
	}
	info.ModTime = time.Unix(0, e.mod)
	return in.Chtimes(name, info)
}

// finishFolders gives the folders their permissions, the innermost first, now that they
// are complete.
func (r *recorder) finishFolders(folders map[string]*entry) error {
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(folders))) {
		in, err := r.stages.tree.OpenFolder(path.Join(r.name, path.Dir(name)))
		if err == nil {
			err = folders[name].setMetadata(in, path.Base(name))
			in.Close()
		}
		if err != nil && !r.concurrent.has(folders[name].path) {
			return err
		}
	}
	return nil
}

// openStage makes the folder in which files and folders are restored as they were.
func (r *recorder) openStage() (err error) {
	if r.stage != nil {
		return nil
	}
	if r.stages, err = r.h.folder(stageName); err != nil {
		return err
	}
	r.name = strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	if err = r.stages.top.Mkdir(r.name, 0o700); err == nil {
		r.stage, err = r.stages.tree.OpenFolder(r.name)
	}
	return err
}

// removeStage removes the folder that openStage made.
func (r *recorder) removeStage() {
	if r.stages == nil {
		return
	}
	if r.stage != nil {
		r.stage.Close()
	}
	discard(r.stages.top, r.name)
	r.stages.close()
}
