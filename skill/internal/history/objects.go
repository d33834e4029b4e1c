package history

import (
	"bytes"
	"cmp"
	"compress/zlib"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // git's names of objects
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"io/fs"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"textskill/skill/internal/workspace/tree"
)

// An undo of rm -rf, gc --prune or filter-repo needs objects that a command removed. So the history has a hard
// link to each object before a command begins: rule 24 of the package. A link needs no room while the repository
// has the object.

// linksName is the folder of the history with the links to objects. It has a folder for each repository, with
// the names in its .git folder, and its path in the file [linkedPath].
const (
	linksName  = "objects"
	linkedPath = "path"
)

// objectFolders are the folders of .git with objects, and how deep their files lie.
var objectFolders = []struct {
	name string
	deep int
}{{"objects", 1}, {"lfs/objects", 2}, {"annex/objects", 3}}

// maxLinked limits the new links of one begin. Later begins go on.
const maxLinked = 20_000

// A Lost says which repository's objects a command removed, and where the history has them.
type Lost struct {
	Git  Name   `json:"git"`  // the .git folder
	Blob string `json:"blob"` // a folder with the names in it
}

// linkObjects links the objects of the repositories in the workspace into the history, and drops the
// links to objects that they do not have any more.
func (t *Tx) linkObjects() {
	links, err := t.links(true)
	if err != nil {
		return
	}
	defer links.Close()
	l := linker{left: maxLinked}
	has := map[string]bool{}
	for _, git := range t.gitFolders() {
		key := SumOf([]byte(git))[:32]
		from, err := t.o.Tree.OpenFolder(git)
		if err != nil {
			continue
		}
		has[key] = true
		if to, fresh, err := folderIn(links, key, 0o700); err == nil {
			if fresh {
				t.dir.Load().WriteFile(path.Join(linksName, key, linkedPath), []byte(git), 0o600)
			}
			for _, f := range objectFolders {
				l.part(from, to, strings.Split(f.name, "/"), f.deep)
			}
			to.Close()
		}
		from.Close()
	}
	entries, _ := links.Entries()
	for _, e := range entries {
		if !has[e.Name] {
			Discard(links, e.Name)
		}
	}
}

// links opens the folder of the links.
func (t *Tx) links(create bool) (tree.Folder, error) {
	if t.o.Portable || t.o.ReadOnly {
		return nil, errors.ErrUnsupported
	}
	if create {
		if err := t.dir.Load().Mkdir(linksName, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	top, err := tree.Open(t.Path(), false)
	if err != nil {
		return nil, err
	}
	defer top.Close()
	return top.OpenFolder(linksName)
}

// gitFolders returns the .git folders of the workspace and of their submodules, which have objects.
func (t *Tx) gitFolders() (list []string) {
	const most = 64
	x := t.index
	if x == nil || x.lost {
		return nil
	}
	for e := range x.all() {
		if !e.git || path.Base(e.path) != "HEAD" || len(list) == most {
			continue
		}
		dir, rest, ok := gitPart(e.path)
		folder, inner := gitInner(rest)
		if ok && inner == "HEAD" && !strings.Contains("/"+folder, "/worktrees/") {
			list = append(list, path.Join(dir, folder))
		}
	}
	return list
}

// folderIn opens a folder, and makes it if it is missing.
func folderIn(d tree.Folder, name string, perm fs.FileMode) (f tree.Folder, fresh bool, err error) {
	if f, err = d.OpenFolder(name); !errors.Is(err, fs.ErrNotExist) {
		return f, false, err
	}
	if err = d.Mkdir(name, perm); err == nil {
		f, err = d.OpenFolder(name)
	}
	return f, true, err
}

// A linker makes links.
type linker struct{ left int }

// part links what is in the folder at the end of a path of names.
func (l *linker) part(from, to tree.Folder, names []string, deep int) {
	info, err := from.Lstat(names[0])
	if err != nil || !info.IsDir() {
		Discard(to, names[0])
		return
	}
	if len(names) == 1 {
		l.mirror(from, to, names[0], info, deep)
		return
	}
	in, err := from.OpenFolder(names[0])
	if err != nil {
		return
	}
	defer in.Close()
	if out, _, err := folderIn(to, names[0], info.Mode.Perm()|0o700); err == nil {
		l.part(in, out, names[1:], deep)
		out.Close()
	}
}

// mirror makes the folder name in to like that in from. A folder that has not changed since has the same time.
func (l *linker) mirror(from, to tree.Folder, name string, info tree.Info, deep int) {
	have, err := to.Lstat(name)
	if err != nil {
		if to.Mkdir(name, info.Mode.Perm()|0o700) != nil {
			return
		}
	}
	same := err == nil && have.ModTime.Equal(info.ModTime)
	if same && deep == 0 {
		return
	}
	src, serr := from.OpenFolder(name)
	if serr != nil {
		return
	}
	defer src.Close()
	dst, err := to.OpenFolder(name)
	if err != nil {
		return
	}
	defer dst.Close()
	complete := true
	if !same {
		complete = l.files(src, dst)
	}
	entries, _ := dst.Entries()
	for _, e := range entries {
		if deep == 0 || e.Type != fs.ModeDir {
			continue
		}
		if sub, err := src.Lstat(e.Name); err == nil && sub.IsDir() {
			l.mirror(src, dst, e.Name, sub, deep-1)
		}
	}
	if !same && complete && time.Since(info.ModTime) > timeGrain {
		to.Chtimes(name, info)
	}
}

// files links the files of a folder, makes its folders, and removes other names. It returns false if there
// are more files than may be linked now.
func (l *linker) files(src, dst tree.Folder) bool {
	theirs, err := src.Entries()
	ours, oerr := dst.Entries()
	if err != nil || oerr != nil {
		return false
	}
	known := map[string]bool{}
	for _, e := range ours {
		known[e.Name] = true
	}
	complete := true
	for _, e := range theirs {
		switch {
		case known[e.Name]:
			delete(known, e.Name)
		case e.Type == fs.ModeDir:
			dst.Mkdir(e.Name, 0o700)
			if info, err := src.Lstat(e.Name); err == nil {
				dst.Chmod(e.Name, info.Mode.Perm()|0o700)
			}
		case e.Type != 0 || isPassing(e.Name):
		case isStubFile(src, e.Name): // of another command, which still runs
			complete = false
		case l.left == 0:
			complete = false
		default:
			l.left--
			if src.Link(e.Name, dst, e.Name) == nil {
				continue
			}
			if f, err := dst.CreateUnnamed(0o400); err == nil { // an empty file stands for one that cannot be linked
				dst.LinkUnnamed(f, e.Name)
				f.Close()
			}
		}
	}
	for name := range known {
		Discard(dst, name)
	}
	return complete
}

// isPassing reports whether git gives a file in a folder of objects another name soon, or removes it.
func isPassing(name string) bool {
	return strings.HasPrefix(name, "tmp_") || strings.HasPrefix(name, ".tmp-") || strings.HasSuffix(name, ".lock")
}

// lostObjects notes in the op the objects that a command removed and that are in no pack now.
func (r *recorder) lostObjects() {
	links, err := r.links(false)
	if err != nil {
		return
	}
	defer links.Close()
	keys, _ := sortedEntries(links)
	for _, key := range keys {
		git, err := r.dir.Load().ReadFile(path.Join(linksName, key.Name, linkedPath))
		from, ferr := links.OpenFolder(key.Name)
		if err != nil || ferr != nil {
			continue
		}
		k := &loser{Tx: r.Tx, now: r.nowAt(string(git)), blob: "git." + rand.Text()}
		if _, gone := r.o.Tree.Stat(k.now + "/HEAD"); gone != nil && !r.tookAway(Name(git)+"/HEAD") {
			from.Close() // a tool or an undo has taken the repository away
			continue
		}
		for _, f := range objectFolders {
			if err == nil {
				err = k.folder(from, f.name, f.deep)
			}
		}
		from.Close()
		switch {
		case err != nil || k.bare:
			r.addLeft(path.Join(string(git), "objects"),
				"git's objects were removed or packed again: a commit that only a removed object held does not come back")
			fallthrough
		case k.some:
			r.op.Objects = append(r.op.Objects, Lost{Git: Name(git), Blob: k.blob})
		}
	}
	if len(r.op.Deltas) > 0 {
		return
	}
	for _, lost := range r.op.Objects { // or lists would not show the op
		d := Delta{Path: lost.Git + "/objects"}
		if d.After, err = r.at(d.Path); err == nil {
			d.Before = Entry{Kind: Dir, Mode: cmp.Or(d.After.Mode, UsualMode)}
			r.op.Deltas = append(r.op.Deltas, d)
		}
	}
}

// tookAway reports whether the commands of the look have removed a path, in this op or in an earlier one.
func (r *recorder) tookAway(name Name) bool {
	if r.op.removes(name) {
		return true
	}
	about := func(d Delta) bool { return d.Path == name || isBelow(name, d.Path) }
	for _, op := range r.log.about(name, 0) {
		if slices.ContainsFunc(op.Deltas, about) {
			return op.removes(name) && slices.ContainsFunc(r.look.owners, func(w *window) bool { return op.owns(w.Handle) })
		}
	}
	return false
}

// removes reports whether the op removes a path.
func (op *Op) removes(name Name) bool {
	return slices.ContainsFunc(op.Deltas, func(d Delta) bool { return d.Path == name && d.After.Kind == absent })
}

// A loser links the objects that a repository has lost to a blob.
type loser struct {
	*Tx
	now   string // the .git folder
	blob  string
	some  bool // there is a blob
	bare  bool // some were not linked before the command
	packs []packIndex
	read  bool // packs is read
}

// folder compares a folder of links with the repository's.
func (k *loser) folder(links tree.Folder, name string, deep int) error {
	have, err := below(links, name, false)
	if err != nil {
		return nil // there was none
	}
	defer have.Close()
	entries, err := sortedEntries(have)
	if err != nil {
		return err
	}
	d, err := k.o.Tree.OpenFolder(path.Join(k.now, name))
	isNow := func(name string) (tree.Info, bool) {
		info, err := d.Lstat(name)
		return info, err == nil
	}
	if err != nil { // the folder is gone
		isNow = func(string) (info tree.Info, ok bool) { return info, false }
		d, err = k.into(name)
	}
	if err != nil {
		return err
	}
	defer d.Close()
	for _, e := range entries {
		child := path.Join(name, e.Name)
		is, there := isNow(e.Name)
		switch {
		case e.Type == fs.ModeDir && deep > 0:
			was, err := have.Lstat(e.Name)
			if deep == 1 && err == nil && there && was.ModTime.Equal(is.ModTime) {
				continue
			}
			if err = k.folder(links, child, deep-1); err != nil {
				return err
			}
		case !there && !k.isElsewhere(have, child):
			err = k.keep(have, name, e.Name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// into opens the folder name of the blob, and makes what is missing of it.
func (k *loser) into(name string) (tree.Folder, error) {
	k.some = true
	return below(k.blobs.Folder, k.blob+"/"+name, true)
}

// keep links an object to the blob.
func (k *loser) keep(from tree.Folder, folder, name string) error {
	info, err := from.Lstat(name)
	if err != nil {
		return err
	}
	if info.Size == 0 {
		k.bare = true
		return nil
	}
	to, err := k.into(folder)
	if err != nil {
		return err
	}
	defer to.Close()
	return from.Link(name, to, name)
}

// isElsewhere reports whether a removed file's objects are in the packs that the repository has now.
func (k *loser) isElsewhere(d tree.Folder, name string) bool {
	first, rest, _ := strings.Cut(name, "/")
	folder, base, _ := strings.Cut(rest, "/")
	if first != "objects" {
		return false
	}
	if folder == "pack" {
		stem := strings.TrimSuffix(base, path.Ext(base))
		x, err := readPackIndex(d, stem+".idx")
		if err != nil {
			return path.Ext(base) != ".pack" && path.Ext(base) != ".idx" // made from packs, as multi-pack-index
		}
		for i := range x.fan[255] {
			if !k.has(x.name(i)) {
				return false
			}
		}
		return true
	}
	object, err := hex.DecodeString(folder + base)
	return err == nil && k.has(object)
}

func (k *loser) has(object []byte) bool {
	if !k.read {
		k.read = true
		if d, err := k.o.Tree.OpenFolder(path.Join(k.now, "objects/pack")); err == nil {
			entries, _ := d.Entries()
			for _, e := range entries {
				if _, err := d.Lstat(strings.TrimSuffix(e.Name, ".idx") + ".pack"); err != nil {
					continue
				}
				if x, err := readPackIndex(d, e.Name); err == nil {
					k.packs = append(k.packs, x)
				}
			}
			d.Close()
		}
	}
	if slices.ContainsFunc(k.packs, func(x packIndex) bool { return x.has(object) }) {
		return true
	}
	name := hex.EncodeToString(object)
	_, err := k.o.Tree.Stat(path.Join(k.now, "objects", name[:2], name[2:]))
	return err == nil
}

// A packIndex is an index of a pack, of version 2. After a head and a fan it has the sorted names of the objects.
type packIndex struct {
	in   io.ReaderAt
	fan  [256]int // how many names do not begin with a larger byte
	size int      // of a name
}

var errNoIndex = errors.New("is not the index of a pack")

const packIndexHead, packIndexFan = 8, 256 * 4

// packIndexOf returns the index in a file of the given length.
func packIndexOf(in io.ReaderAt, length int64) (x packIndex, err error) {
	start := make([]byte, packIndexHead+packIndexFan)
	if _, err := in.ReadAt(start, 0); err != nil {
		return x, err
	}
	if !bytes.HasPrefix(start, []byte("\xfftOc\x00\x00\x00\x02")) {
		return x, errNoIndex
	}
	x.in = in
	for i := range x.fan {
		x.fan[i] = int(binary.BigEndian.Uint32(start[packIndexHead+4*i:]))
	}
	n := x.fan[255]
	for _, x.size = range []int{sha1.Size, sha256.Size} { // both tables of 4 bytes, perhaps large offsets, and two sums
		if rest := int(length) - len(start) - n*(x.size+8) - 2*x.size; n == 0 || rest >= 0 && rest%8 == 0 && rest <= 8*n {
			return x, nil
		}
	}
	return x, errNoIndex
}

// readPackIndex reads a whole index.
func readPackIndex(d tree.Folder, name string) (packIndex, error) {
	const most = 256 << 20
	if path.Ext(name) != ".idx" {
		return packIndex{}, errNoIndex
	}
	f, info, err := d.OpenContent(name)
	if err != nil {
		return packIndex{}, err
	}
	defer f.Close()
	data, err := f.ReadAll(min(info.Size, most))
	if err != nil {
		return packIndex{}, err
	}
	return packIndexOf(bytes.NewReader(data), int64(len(data)))
}

func (x packIndex) name(i int) []byte {
	name := make([]byte, x.size)
	x.in.ReadAt(name, int64(packIndexHead+packIndexFan+i*x.size))
	return name
}

func (x packIndex) has(object []byte) bool {
	if len(object) != x.size {
		return false
	}
	from := 0
	if object[0] > 0 {
		from = x.fan[object[0]-1]
	}
	_, found := sort.Find(x.fan[object[0]]-from, func(i int) int { return bytes.Compare(object, x.name(from+i)) })
	return found
}

// keptObject reports whether the undo of the op brings back an object of a repository.
func (p *planner) keptObject(git, object string) bool {
	for _, lost := range p.lostBy(p.after.ID) {
		if string(lost.Git) == git && hasObject(p.blobs.tree, blobsName+"/"+lost.Blob, object) {
			return true
		}
	}
	return false
}

// lacksObjects reports whether the op to undo removed objects, which the undo brings back.
func (p *planner) lacksObjects() bool {
	return len(p.after.Objects) > 0 && !p.log.reverts(p.after.ID)
}

// lostBy returns the objects that the change removed that an op made, undid or made again, and those that later
// changes removed.
func (t *Tx) lostBy(id int64) (list []Lost) {
	at, ok := t.log.find(id)
	if !ok {
		return nil
	}
	first := t.log.origin(at).id
	for change := range t.log.newest() {
		if change.id < first {
			break
		}
		if t.log.has(change, `"objects":`) {
			if op := t.log.op(change); op != nil {
				list = append(list, op.Objects...)
			}
		}
	}
	return list
}

// objects brings back the objects that the change removed. If it is made again and the repository goes, they go too.
func (a *applier) objects() error {
	undone := a.op.Undoes
	if undone == 0 {
		return nil
	}
	again := a.log.reverts(undone)
	for _, lost := range a.lostBy(undone) {
		from, err := a.blobs.OpenFolder(lost.Blob)
		if err != nil {
			continue // the history has dropped it
		}
		gone := a.op.removes(lost.Git + "/HEAD")
		for _, f := range objectFolders {
			switch {
			case again && gone:
				a.unlink(from, lost.Git, f.name)
				a.stays = slices.Insert(a.stays, 0, lost.Git+"/lfs")
			case !again:
				err = errors.Join(err, a.restoreObjects(from, lost.Git, f.name))
			}
		}
		from.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// restoreObjects links the objects in a folder of a blob to the repository, if the undo has left it there.
func (a *applier) restoreObjects(blob tree.Folder, git Name, name string) error {
	from, err := below(blob, name, false)
	if err != nil {
		return nil // the blob has none
	}
	defer from.Close()
	d, base, err := a.parent(git)
	if err != nil {
		return nil
	}
	defer d.Close()
	repository, err := d.OpenFolder(base)
	if noFolder(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer repository.Close()
	to, err := below(repository, name, true)
	if err != nil {
		return err
	}
	defer to.Close()
	a.all = true
	a.touch(to)
	return relink(from, to, name)
}

// relink links the objects in from to the folder to, which has the name in .git.
func relink(from, to tree.Folder, name string) error {
	entries, err := from.Entries()
	for _, e := range entries {
		at := path.Join(name, e.Name)
		switch {
		case err != nil:
			return err
		case e.Type == fs.ModeDir:
			src, serr := from.OpenFolder(e.Name)
			if serr != nil {
				return serr
			}
			dst, _, derr := folderIn(to, e.Name, 0o755)
			if err = derr; err == nil {
				err = relink(src, dst, at)
				dst.Close()
			}
			src.Close()
		case isGitObject(from, at):
			if err = from.Link(e.Name, to, e.Name); errors.Is(err, fs.ErrExist) {
				err = nil
			}
		}
	}
	return err
}

// unlink removes the objects in a folder of a blob from the repository, and folders that are empty then.
func (a *applier) unlink(blob tree.Folder, git Name, name string) {
	from, err := below(blob, name, false)
	if err != nil {
		return
	}
	defer from.Close()
	d, base, err := a.parent(git + "/" + Name(name))
	if err != nil {
		return
	}
	defer d.Close()
	at, err := d.OpenFolder(base)
	if err != nil {
		return
	}
	entries, _ := from.Entries()
	for _, e := range entries {
		if e.Type == fs.ModeDir {
			a.unlink(blob, git, path.Join(name, e.Name))
			continue
		}
		ours, err := from.Lstat(e.Name)
		if theirs, terr := at.Lstat(e.Name); err == nil && terr == nil && ours.ID == theirs.ID {
			at.Remove(e.Name, false)
		}
	}
	at.Close()
	a.touch(d)
	d.Remove(base, true)
}

// below opens the folder at a path in a folder. With missing it makes the folders that are missing.
func below(d tree.Folder, name string, missing bool) (tree.Folder, error) {
	at, err := d.OpenFolder(".")
	for part := range strings.SplitSeq(name, "/") {
		if err != nil {
			break
		}
		above := at
		if missing {
			at, _, err = folderIn(above, part, 0o755)
		} else {
			at, err = above.OpenFolder(part)
		}
		above.Close()
	}
	return at, err
}

// isGitObject reports whether a file has the content that its name in .git tells: an object its hash, a file of a pack
// its last bytes.
func isGitObject(d tree.Folder, name string) bool {
	f, info, err := d.OpenContent(path.Base(name))
	if err != nil {
		return false
	}
	defer f.Close()
	r := io.NewSectionReader(f, 0, info.Size)
	first, rest, _ := strings.Cut(name, "/")
	folder, base, _ := strings.Cut(rest, "/")
	if first == "objects" && folder == "pack" {
		return endsInSum(r, info.Size) || path.Ext(base) != ".pack" && path.Ext(base) != ".idx"
	}
	want, content := folder+base, io.Reader(r)
	switch {
	case first == "lfs":
		want = path.Base(name)
	case first == "annex":
		var sized bool
		if want, sized = annexKey(path.Base(name), info.Size); want == "" || !sized {
			return sized
		}
	default:
		content, err = zlib.NewReader(r)
	}
	if err != nil {
		return false
	}
	h := hashOf(len(want) / 2)
	_, err = io.Copy(h, content)
	return err == nil && hex.EncodeToString(h.Sum(nil)) == want
}

// annexKey returns the SHA-256 in a key of git-annex, such as SHA256E-s12--…, "" for another kind of key. sized is
// false if the key tells another size.
func annexKey(key string, size int64) (sum string, sized bool) {
	fields, name, _ := strings.Cut(key, "--")
	kind, rest, _ := strings.Cut(fields, "-")
	for field := range strings.SplitSeq(rest, "-") {
		if of, ok := strings.CutPrefix(field, "s"); ok && of != strconv.FormatInt(size, 10) {
			return "", false
		}
	}
	if kind != "SHA256" && kind != "SHA256E" {
		return "", true
	}
	sum, _, _ = strings.Cut(name, ".")
	return sum, true
}

// hashOf returns the hash of git's that has a size in bytes.
func hashOf(size int) hash.Hash {
	if size == sha256.Size {
		return sha256.New()
	}
	return sha1.New() //nolint:gosec // git's names of objects
}

// endsInSum reports whether a content ends in the hash of what is before it.
func endsInSum(r *io.SectionReader, size int64) bool {
	for _, n := range []int64{sha1.Size, sha256.Size} {
		if size < n {
			return false
		}
		h, sum := hashOf(int(n)), make([]byte, n)
		_, err := io.Copy(h, io.NewSectionReader(r, 0, size-n))
		if _, rerr := r.ReadAt(sum, size-n); err == nil && (rerr == nil || rerr == io.EOF) && bytes.Equal(h.Sum(nil), sum) {
			return true
		}
	}
	return false
}
