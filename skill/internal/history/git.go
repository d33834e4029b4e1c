package history

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"textskill/skill/internal/workspace/tree"
)

// The history treats .git as part of the workspace, except for objects, which it links: objects.go.

// gitPart splits a path at its last .git folder.
func gitPart(name string) (dir, rest string, ok bool) {
	i := strings.LastIndex("/"+name+"/", "/.git/")
	if i < 0 {
		return "", "", false
	}
	end := min(i+len(".git"), len(name))
	return name[:end], strings.TrimPrefix(name[end:], "/"), true
}

// gitSkips reports whether the history skips a name in a folder of .git: objects and git's locks.
func gitSkips(folder, name string) bool {
	_, rest, _ := gitPart(folder)
	_, inner := gitInner(rest)
	first, _, _ := strings.Cut(inner, "/")
	if strings.HasSuffix(name, ".lock") || name == "gc.pid" {
		return true
	}
	return first != "refs" && first != "logs" && (name == "objects" || name == "lfs")
}

// While a command runs, stubs stand for parts of .git that do not exist, so that the command cannot add
// them. A stub is a file with one of these texts, or a folder that holds the file StubMark and nothing but
// stubs.
const (
	StubText   = "# skill has this file here only while a command runs, so that the command cannot add it.\n"
	StubCommon = "./././././././.\n"
	StubMark   = "skill-placeholder"
)

// isStub reports whether a file in a .git or .hg folder is a stub, which is no change of a command.
func isStub(d tree.Folder, name string, info tree.Info) bool {
	if info.IsDir() {
		return (name == "hooks" || name == "info") && isStubFolder(d, name)
	}
	for _, text := range []string{StubText, StubCommon} {
		if !info.Mode.IsRegular() || info.Size != int64(len(text)) {
			continue
		}
		f, _, err := d.OpenContent(name)
		if err != nil {
			return false
		}
		data, err := f.ReadAll(info.Size)
		f.Close()
		return err == nil && string(data) == text
	}
	return false
}

// isStubFile is isStub for a name without its information.
func isStubFile(d tree.Folder, name string) bool {
	info, err := d.Lstat(name)
	return err == nil && !info.IsDir() && isStub(d, name, info)
}

// isStubFolder is isStub for a folder, and for an empty one. A command can make the mark too, so the mark hides
// nothing beside it.
func isStubFolder(d tree.Folder, name string) bool {
	in, err := d.OpenFolder(name)
	if err != nil {
		return false
	}
	defer in.Close()
	entries, err := in.Entries()
	if _, gone := in.Lstat(StubMark); gone != nil {
		return err == nil && len(entries) == 0 // it is being made or removed
	}
	for _, e := range entries {
		info, gone := in.Lstat(e.Name)
		if gone == nil && !strings.HasSuffix(e.Name, ".lock") && (info.IsDir() || !isStub(in, e.Name, info)) {
			return false
		}
	}
	return err == nil
}

// HgRunsCode reports whether a path is a file in .hg that makes Mercurial run programs or read settings elsewhere.
func HgRunsCode(name string) bool {
	base := path.Base(name)
	return path.Base(path.Dir(name)) == ".hg" && (strings.HasPrefix(base, "hgrc") || base == "sharedpath")
}

// GitRunsCode reports whether a path is a file in .git that makes git run programs.
func GitRunsCode(name string) bool {
	_, rest, ok := gitPart(name)
	if _, inner := gitInner(rest); !ok || inner == "objects" {
		return false
	}
	for worktree := false; ; {
		first, below, _ := strings.Cut(rest, "/")
		switch first {
		case "worktrees":
			worktree = true
			_, rest, _ = strings.Cut(below, "/")
			continue
		case "modules":
			return moduleRunsCode(below)
		}
		return !gitState[first] || first == "commondir" && !worktree
	}
}

// moduleRunsCode is GitRunsCode for a path below .git/modules. The name of a submodule may have slashes, so any
// folder of the path may be the submodule's.
func moduleRunsCode(name string) bool {
	runs := true
	_, rest, below := strings.Cut(name, "/")
	for below {
		var first string
		first, rest, below = strings.Cut(rest, "/")
		switch {
		case first == "hooks" || strings.HasPrefix(first, "config"):
			return true
		case gitState[first]:
			runs = false
		}
	}
	return runs && strings.Contains(name, "/")
}

// gitInner splits the part of a path below .git into the folder of a linked worktree or a submodule, "" for the
// repository itself, and the rest. The name of a submodule ends before the first name that git gives.
func gitInner(rest string) (folder, inner string) {
	inner = rest
	for {
		first, below, _ := strings.Cut(inner, "/")
		name, after, _ := strings.Cut(below, "/")
		if first != "worktrees" && first != "modules" || below == "" {
			return strings.TrimSuffix(folder, "/"), inner
		}
		for next := after; first == "modules" && next != ""; {
			word, deeper, _ := strings.Cut(next, "/")
			if gitState[word] || gitOther[word] {
				break
			}
			name, after, next = name+"/"+word, deeper, deeper
		}
		folder, inner = folder+first+"/"+name+"/", after
	}
}

// gitOther are the names in .git that are not in gitState.
var gitOther = map[string]bool{
	"objects": true, "lfs": true, "modules": true, "worktrees": true, "hooks": true, "config": true,
	"config.worktree": true, "gc.pid": true,
}

// gitRef returns the name of the ref that a path in .git holds, and the folder of the ref's repository, which has
// its objects and packed-refs.
func gitRef(name Name) (dir, ref string, ok bool) {
	dir, rest, ok := gitPart(string(name))
	folder, inner := gitInner(rest)
	if i := strings.LastIndex("/"+folder, "/worktrees/"); i >= 0 {
		folder = strings.TrimSuffix(folder[:i], "/")
	}
	return path.Join(dir, folder), inner, ok && strings.HasPrefix(inner, "refs/")
}

// isReflog reports whether a path is git's log of a ref.
func isReflog(name Name) bool {
	_, rest, ok := gitPart(string(name))
	_, inner := gitInner(rest)
	return ok && strings.HasPrefix(inner, "logs/")
}

// gitState are the files and folders of .git that cannot make git run programs.
var gitState = map[string]bool{
	"": true, "HEAD": true, "ORIG_HEAD": true, "FETCH_HEAD": true, "MERGE_HEAD": true, "MERGE_MSG": true,
	"MERGE_MODE": true, "AUTO_MERGE": true, "CHERRY_PICK_HEAD": true, "REVERT_HEAD": true,
	"REBASE_HEAD": true,
	"SQUASH_MSG":  true, "COMMIT_EDITMSG": true, "TAG_EDITMSG": true, "index": true, "packed-refs": true,
	"refs": true, "logs": true, "rebase-merge": true, "rebase-apply": true, "sequencer": true,
	"shallow":    true,
	"BISECT_LOG": true, "BISECT_NAMES": true, "BISECT_START": true, "BISECT_TERMS": true,
	"BISECT_ANCESTORS_OK": true,
	"BISECT_EXPECTED_REV": true, "description": true, "branches": true, "gc.log": true, "reftable": true,
	"commondir": true, "gitdir": true, "locked": true, "lost-found": true, "info": true, "rr-cache": true,
	"annex": true,
}

// isGitIndex reports whether a path is the index file of git.
func isGitIndex(name string) bool {
	_, rest, ok := gitPart(name)
	_, inner := gitInner(rest)
	return ok && inner == "index"
}

// indexSum returns a hash of a git index without the stat data, which git status rewrites. It returns
// "" for invalid data.
func indexSum(data []byte) string {
	if len(data) < 12 || string(data[:4]) != "DIRC" {
		return ""
	}
	version, n := binary.BigEndian.Uint32(data[4:]), binary.BigEndian.Uint32(data[8:])
	h, rest := sha256.New(), data[12:]
	for range n {
		// the index of a SHA-256 repository has longer object names, and fails the checks below
		const stat, oid = 40, 20
		if len(rest) < stat+oid+2 {
			return ""
		}
		h.Write(rest[24:28]) // mode
		flags := binary.BigEndian.Uint16(rest[stat+oid:])
		at := stat + oid + 2
		if version >= 3 && flags&0x4000 != 0 {
			at += 2
		}
		if at > len(rest) {
			return ""
		}
		end := bytes.IndexByte(rest[at:], 0)
		if end < 0 {
			return ""
		}
		end += at
		h.Write(rest[stat:end])
		h.Write([]byte{0})
		if end++; version < 4 {
			end = (end - 1 + 8) &^ 7
		}
		if end > len(rest) {
			return ""
		}
		rest = rest[end:]
	}
	return hex.EncodeToString(h.Sum(nil))
}

// refersTo returns the objects that a file names, if it is a ref, a HEAD or packed-refs.
func refersTo(name string, data []byte) (objects []string) {
	_, rest, ok := gitPart(name)
	_, inner := gitInner(rest)
	isRef := strings.HasPrefix(inner, "refs/") || strings.HasSuffix(inner, "HEAD") || inner == "packed-refs"
	if !ok || !isRef || isReflog(Name(name)) {
		return nil
	}
	for line := range strings.Lines(string(data)) {
		word, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "^"), " ")
		if isObject(word) {
			objects = append(objects, word)
		}
	}
	return objects
}

// isObject reports whether a word is the name of an object. Zeros stand for none.
func isObject(word string) bool {
	n := len(word)
	return (n == 40 || n == 64) && strings.Trim(word, "0123456789abcdef") == "" && strings.Trim(word, "0") != ""
}

// hasObject reports whether a repository has an object, loose or in a pack. It returns true if it
// cannot decide: with alternates, or for packs of another version.
func hasObject(t tree.Tree, gitDir, object string) bool {
	objects := gitDir + "/objects"
	if _, err := t.Stat(objects + "/" + object[:2] + "/" + object[2:]); err == nil {
		return true
	}
	if _, err := t.Stat(objects + "/info/alternates"); err == nil {
		return true
	}
	d, err := t.OpenFolder(objects + "/pack")
	if err != nil {
		return false
	}
	defer d.Close()
	entries, _ := d.Entries()
	for _, e := range entries {
		if strings.HasSuffix(e.Name, ".idx") && inPack(d, e.Name, object) {
			return true
		}
	}
	return false
}

// inPack reports whether the index of a pack lists an object, or is of another version.
func inPack(d tree.Folder, name, object string) bool {
	f, info, err := tree.RegularFile(d.OpenFile(name, os.O_RDONLY, 0))
	if err != nil {
		return false
	}
	defer f.Close()
	want, herr := hex.DecodeString(object)
	x, err := packIndexOf(f, info.Size)
	return err == errNoIndex || err == nil && herr == nil && x.has(want)
}

// missingObject returns an object that the content of a ref names and the repository lacks, "" if the
// repository has all.
func (s *Store) missingObject(name Name, data []byte) string {
	dir, _, _ := gitRef(name)
	for _, object := range refersTo(string(name), data) {
		if !hasObject(s.o.Tree, dir, object) {
			return object
		}
	}
	return ""
}

// packedRef returns the object of a ref in packed-refs, "" if it has none.
func (s *Store) packedRef(name Name) (object string) {
	dir, ref, ok := gitRef(name)
	if !ok {
		return ""
	}
	data, _ := s.readNow(Name(dir+"/packed-refs"), MaxKept)
	for line := range strings.Lines(string(data)) {
		if word, rest, _ := strings.Cut(strings.TrimRight(line, "\r\n"), " "); rest == ref && isObject(word) {
			return word
		}
	}
	return ""
}

// A packed ref is in no file of its own. unpack plans the undo of a ref that has no file now: git may have packed
// it since, and then the line in packed-refs is its state. done is false if there is nothing of the kind.
func (p *planner) unpack(d *Delta, now Entry) (needed, done bool, err error) {
	object := ""
	if now.Kind == absent && d.Before.Kind == File {
		object = p.packedRef(d.Path)
	}
	switch {
	case object == "":
		return false, false, nil
	case d.After.Kind == File && d.After.Sum == SumOf([]byte(object+"\n")):
		return false, true, nil // the packed ref is as before the op
	case d.After.Kind == File && d.Before.Sum == SumOf([]byte(object+"\n")):
		d.Before = Entry{}
		return true, true, nil
	case d.After.Kind != absent:
		return false, false, nil
	}
	old, known := p.oldRef(d.Path)
	switch {
	case known && old == object:
		return false, true, nil
	case !known || d.Before.Sum != SumOf([]byte(object+"\n")):
		return false, true, p.changedSince(*d, now)
	case old != "":
		d.Before = Entry{}
		d.After, err = p.keepText(Entry{Kind: File, Mode: 0o644}, []byte(old+"\n"))
		return true, true, err
	}
	p.unpacked = append(p.unpacked, d.Path)
	return false, true, nil
}

// oldRef returns the object of a ref before the op, by the ref's log: "" if the ref did not exist. A ref without
// a log, such as a tag, did not exist unless it was packed, and git does not pack over a file.
func (p *planner) oldRef(name Name) (object string, known bool) {
	dir, rest, _ := gitPart(string(name))
	folder, inner := gitInner(rest)
	log := Name(path.Join(dir, folder, "logs", inner))
	for _, d := range p.after.Deltas {
		if d.Path != log {
			continue
		}
		data, err := p.readNow(log, MaxKept)
		if err != nil || d.After.Kind != File || int64(len(data)) <= d.Before.Size {
			return "", false
		}
		word, _, _ := strings.Cut(string(data[d.Before.Size:]), " ")
		if strings.Trim(word, "0") == "" {
			return "", true
		}
		return word, isObject(word)
	}
	return "", strings.HasPrefix(inner, "refs/tags/")
}

// dropPacked plans to remove refs from packed-refs: the undo removes them, and they have no file any more.
func (p *planner) dropPacked() error {
	gone := map[Name][]string{}
	for _, name := range p.unpacked {
		dir, ref, _ := gitRef(name)
		gone[Name(dir+"/packed-refs")] = append(gone[Name(dir+"/packed-refs")], ref)
	}
	for name, refs := range gone {
		now, err := p.at(name)
		if err != nil {
			return err
		}
		data, err := p.readNow(name, MaxKept)
		if err != nil {
			return err
		}
		var kept []byte
		drops := false
		for line := range bytes.Lines(data) {
			_, ref, _ := strings.Cut(strings.TrimRight(string(line), "\r\n"), " ")
			if line[0] != '^' { // else it is about the line before
				drops = slices.Contains(refs, ref)
			}
			if !drops {
				kept = append(kept, line...)
			}
		}
		d := Delta{Path: name, Before: p.Describe(name, now)}
		if d.After, err = p.keepText(Entry{Kind: File, Mode: now.Mode, Owner: now.Owner}, kept); err != nil {
			return err
		}
		p.Op.Deltas = append(p.Op.Deltas, d)
	}
	return nil
}

// gitLocks creates the lock files of git for the paths of deltas, so that git does not write these meanwhile.
// unlock removes them. If a lock file exists already, the error names its file. A folder that a file replaces stays
// without lock files, because it must be empty then.
func (s *Store) gitLocks(deltas []Delta) (unlock func(), err error) {
	type held struct {
		d    tree.Folder
		name string
	}
	var locks []held
	unlock = func() {
		for _, l := range locks {
			l.d.Remove(l.name, false)
			l.d.Close()
		}
	}
	var replaced []Name
	for _, d := range deltas {
		if d.Before.Kind == Dir && d.After.Kind == File {
			replaced = append(replaced, d.Path)
		}
	}
	for _, name := range pathsOf(deltas) {
		_, rest, ok := gitPart(string(name))
		if !ok || rest == "" || isReflog(name) || GitRunsCode(string(name)) ||
			slices.ContainsFunc(replaced, func(folder Name) bool { return isBelow(name, folder) }) {
			continue
		}
		d, base, err := s.parent(name)
		if err != nil {
			continue // the undo makes the folder later
		}
		f, err := d.OpenFile(base+".lock", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			f.Close()
			locks = append(locks, held{d, base + ".lock"})
			s.crash("git locked")
			continue
		}
		d.Close()
		if errors.Is(err, fs.ErrExist) {
			unlock()
			return func() {}, &ConflictError{Path: name,
				Reason: "is locked by git: wait until git has ended, or remove " + s.PathOf(name) + ".lock"}
		}
	}
	return unlock, nil
}

// unlockKilled removes the lock files of a killed process. Unlike git's own, these are empty and only
// readable by the user.
func (s *Store) unlockKilled(op *Op) {
	for _, delta := range op.Deltas {
		if _, _, ok := gitPart(string(delta.Path)); !ok {
			continue
		}
		d, base, err := s.parent(delta.Path)
		if err != nil {
			continue
		}
		info, err := d.Lstat(base + ".lock")
		if err == nil && info.Mode == 0o600 && info.Size == 0 {
			d.Remove(base+".lock", false)
		}
		d.Close()
	}
}

// MovedOn returns the repositories and linked worktrees below the root that the ops have made, and to which something
// else has committed since. For a worktree it returns its folder and the folder of its record in .git.
func (t *Tx) MovedOn(ops []*Op) (list []Name) {
	mine := map[int64]bool{}
	for _, op := range ops {
		mine[op.ID] = true
	}
	for _, op := range ops {
		for _, d := range op.Deltas {
			dir, rest, git := gitPart(string(d.Path))
			made := git && d.Before.Kind == absent && d.After.Kind != absent
			if folder := Name(path.Dir(dir)); made && rest == "" && d.After.Kind == Dir && folder != "." &&
				t.hasMoved(d.Path+"/logs/HEAD", mine) {
				list = append(list, folder)
			}
			record, _ := gitInner(rest)
			if !made || record == "" || path.Base(rest) != "gitdir" || !t.hasMoved(Name(path.Dir(string(d.Path)))+"/logs/HEAD", mine) {
				continue
			}
			const most = 8 << 10
			if at, err := t.readNow(d.Path, most); err == nil {
				folder := path.Dir(strings.TrimSpace(string(at)))
				if rel, err := filepath.Rel(t.o.Root, folder); err == nil && filepath.IsLocal(rel) && rel != "." {
					list = append(list, Name(rel), Name(path.Dir(string(d.Path))))
				}
			}
		}
	}
	return list
}

// hasMoved reports whether something else than the ops mine was the last to write to a file.
func (t *Tx) hasMoved(name Name, mine map[int64]bool) bool {
	at, d, ok := t.newestAbout(name)
	if !ok {
		_, err := t.statAt(name)
		return err == nil
	}
	now, err := t.at(name, d.After)
	return err == nil && (!mine[t.log.origin(at).id] || !now.Same(d.After))
}

// leaveCommits says that undo leaves the commits in a repository outside the workspace, where the workspace is a
// linked worktree or a submodule of that.
func (r *recorder) leaveCommits() {
	own := r.PathOf(".git")
	if info, err := os.Lstat(own); r.began == 0 || err != nil || !info.Mode().IsRegular() || info.Size() > 4096 {
		return
	}
	text, _ := os.ReadFile(own)
	git, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if !ok {
		return
	}
	if !filepath.IsAbs(git) {
		git = r.PathOf(Name(git))
	}
	info, err := os.Stat(filepath.Join(git, "logs", "HEAD"))
	if err == nil && info.ModTime().UnixNano() >= r.began && !isBelow(Name(git), Name(r.o.Root)) {
		r.addLeft(git, "its commits are not recorded, because it lies outside of the workspace")
	}
}
