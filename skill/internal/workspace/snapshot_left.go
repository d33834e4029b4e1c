package workspace

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"textskill/skill/internal/state"
	"textskill/skill/internal/workspace/tree"
)

// An Untracked is something that a program changed and that undo leaves as it is, or does not
// bring back in every respect.
type Untracked struct {
	Path   string // absolute; "" if it is not about one file
	Reason string
}

// String returns the path and the reason.
func (l Untracked) String() string {
	if l.Path == "" {
		return l.Reason
	}
	return l.Path + ": " + l.Reason
}

// skip notes that undo leaves name as it is.
func (r *recorder) skip(name, reason string) {
	r.note(name, reason)
	step := state.Step{Path: state.Name(name)}
	if reason == ignoredReason || reason == cacheReason { // a build may change thousands, and nothing asks for their names
		if len(r.unkept) == 0 {
			r.unkept, r.why = []state.Step{step}, reason
		}
		return
	}
	if r.left == 0 {
		r.unkept = nil
	}
	r.left++
	if len(r.unkept) < maxSteps {
		r.unkept, r.why = append(r.unkept, step), reason
	}
}

// skipConfig is skip for what makes this program or git run other programs: the history names it.
func (r *recorder) skipConfig(name, reason string) {
	r.skip(name, reason)
	r.config = append(r.config, state.Name(name))
}

func (r *recorder) note(name, reason string) {
	r.untracked = append(r.untracked, Untracked{r.h.path(state.Name(name)), reason})
}

// unkept reports whether a snapshot cannot bring back the file or folder of an entry.
func (e *entry) unkept() bool {
	return e.ignored || e.kind == aSpecial || e.kind == aFile && e.digest == "" || e.kind == aFolder && path.Base(e.path) == ".git" || e.unread()
}

// unread reports whether an entry is a folder that its owner may not read, nor may this process, unless it is root.
func (e *entry) unread() bool {
	return e.kind == aFolder && e.mode&0o500 != 0o500 && os.Geteuid() != 0
}

const unreadReason = "what was in it could not be read, and undo leaves it as it is"

// findMoved finds what the program moved and no snapshot keeps, or may hold such things. Undo would remove the only copy.
func (r *recorder) findMoved() {
	r.moved, r.movedInto = map[string]string{}, map[string]bool{}
	now := map[FileID][]*entry{}
	for _, d := range r.diffs {
		if d.now != nil {
			now[d.now.id] = append(now[d.now.id], d.now)
		}
	}
	if len(now) == 0 {
		return
	}
	for i := range r.table.list {
		e := &r.table.list[i]
		for _, n := range now[e.id] {
			if r.isMoved(e, n) {
				r.moved[n.path] = r.h.path(state.Name(e.path))
				for dir := path.Dir(n.path); dir != "." && !r.movedInto[dir]; dir = path.Dir(dir) {
					r.movedInto[dir] = true
				}
			}
		}
	}
}

// isMoved reports whether n is the file or folder of the entry e under another name, and not one that
// has got its number, nor one more name of it, and whether it, or what is in it, is not kept.
func (r *recorder) isMoved(e, n *entry) bool {
	switch {
	case e.path == n.path, e.kind != n.kind, !e.unkept() && !n.ignored:
		return false
	case n.kind == aFile && n.links > 1 && r.isNow(e.path, e.id):
		return false
	}
	if born := tree.Birth(r.h.path(state.Name(n.path)), n.id); !born.IsZero() {
		return born.UnixNano() <= e.changed
	}
	return e.size == n.size && e.mod == n.mod
}

// untouched returns why undo may not change what is at name, "" if it may.
func (r *recorder) untouched(name string) string {
	if isGits(name) {
		return gitsReason
	}
	p := location{r.h.root, name}
	if r.w.denied(p, request{p.path(), false, toChange}) != nil {
		return "it is kept from being changed, also by undo"
	}
	return ""
}

// looksTheSame reports whether a file that undo may not change has not changed as far as is known: it may
// be among the differences because its times are too new to tell.
func (r *recorder) looksTheSame(d diff) bool {
	b, n := d.before, d.now
	switch {
	case b.is() != n.is():
		return false
	case b.kind == aFolder:
		return isGits(d.path)
	case b.kind != aFile || b.digest == "" || b.stamp != n.stamp:
		return b.stamp == n.stamp
	}
	now, err := r.now(d.path)
	return err == nil && b.holds(now.Sum)
}

// isGits reports whether a path is a .git, or in one.
func isGits(name string) bool {
	return slices.Contains(strings.Split(name, "/"), ".git")
}

const gitsReason = "git's own files are not kept, and undo leaves them as they are"

// ignored reports whether nothing is known of what was there, because git ignores it. That
// is noted, unless the file itself has not changed.
func (r *recorder) ignored(d diff) bool {
	switch b, n := d.before, d.now; {
	case b == nil && n.ignored, b != nil && b.ignored && (n == nil || n.kind != b.kind || n.stamp != b.stamp || !n.ignored):
		r.skip(d.path, whyIgnored(d.path))
		return true
	case b != nil && b.ignored:
		return true
	}
	return false
}

const (
	ignoredReason = "git ignores it, and undo leaves it as it is"
	cacheReason   = "it is a cache, and undo leaves it as it is"
)

func whyIgnored(name string) string {
	if IsCache([]byte(path.Base(name))) {
		return cacheReason
	}
	return ignoredReason
}

// IsCache reports whether a folder of that name is a cache that Python and its tools fill
// whenever they run. A snapshot leaves it out: else the undo after a test would take back
// the cache, not the edit before it.
func IsCache(name []byte) bool {
	switch string(name) {
	case "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache":
		return true
	}
	return false
}

// notKept returns the reason why the content of a file was not saved.
func notKept(e *entry) string {
	if e.size > MaxKept {
		return fmt.Sprintf("it held %d bytes, and files of more than %d are not kept", e.size, MaxKept)
	}
	return "what it held was not kept: it could not be read, or there was no room or no time for it"
}
