//go:build linux || darwin

package workspace

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"textskill/skill/internal/workspace/tree"
	"textskill/testdata/needs"

	"pgregory.net/rapid"
)

// model is a file system in memory, by name. Hard links share a file.
type model map[string]*node

type node struct {
	dir     bool
	content string
}

func (m model) clone() model {
	c := model{}
	seen := map[*node]*node{}
	for name, n := range m {
		if seen[n] == nil {
			copied := *n
			seen[n] = &copied
		}
		c[name] = seen[n]
	}
	return c
}

func (m model) String() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(m)) {
		n := m[name]
		links := 0
		for _, other := range m {
			if other == n {
				links++
			}
		}
		fmt.Fprintf(&b, "%s %v %d %q\n", name, n.dir, links, n.content)
	}
	return b.String()
}

func (m model) isDir(name string) bool { return name == "." || m[name] != nil && m[name].dir }
func (m model) isFile(name string) bool {
	return m[name] != nil && !m[name].dir
}

// below returns the names below a folder.
func (m model) below(dir string) []string {
	var names []string
	for name := range m {
		if strings.HasPrefix(name, dir+"/") {
			names = append(names, name)
		}
	}
	return names
}

// folders makes the folders above name. It returns false if a file has the place of a folder.
func (m model) folders(name string) bool {
	var missing []string
	for dir := path.Dir(name); !m.isDir(dir); dir = path.Dir(dir) {
		if m[dir] != nil {
			return false
		}
		missing = append(missing, dir)
	}
	for _, dir := range missing {
		m[dir] = &node{dir: true}
	}
	return true
}

// write is a write or, with add, an append.
func (m model) write(name, text string, parents, add bool) bool {
	if m.isDir(name) || !m.isDir(path.Dir(name)) && (!parents || !m.folders(name)) {
		return false
	}
	switch n := m[name]; {
	case n == nil:
		m[name] = &node{content: text}
	case add:
		n.content += text
	default:
		n.content = text
	}
	return true
}

func (m model) edit(name, old, new string) bool {
	if !m.isFile(name) || !strings.Contains(m[name].content, old) {
		return false
	}
	m[name].content = strings.Replace(m[name].content, old, new, 1)
	return true
}

func (m model) remove(name string, o RemoveOptions) bool {
	switch n := m[name]; {
	case n == nil, n.dir && !o.Folder && !o.Tree, !n.dir &&
		o.Folder, o.Folder && len(m.below(name)) > 0:
		return false
	}
	for _, inner := range m.below(name) {
		delete(m, inner)
	}
	delete(m, name)
	return true
}

func (m model) move(from, to string, o MoveOptions) bool {
	src, dst := m[from], m[to]
	switch {
	case src == nil, dst != nil && o.NoReplace, strings.HasPrefix(to, from+"/"),
		strings.HasPrefix(from, to+"/"):
		return false
	case dst != nil && (src.dir != dst.dir ||
		dst.dir && from != to && len(m.below(to)) > 0):
		return false
	case !m.isDir(path.Dir(to)) && (!o.Parents || !m.folders(to)):
		return false
	}
	if from == to {
		return true
	}
	for _, inner := range m.below(from) {
		m[to+strings.TrimPrefix(inner, from)] = m[inner]
		delete(m, inner)
	}
	delete(m, from)
	m[to] = src
	return true
}

func (m model) copy(from, to string, o CopyOptions) bool {
	src, dst := m[from], m[to]
	switch {
	case src == nil, src == dst, src.dir && !o.Tree, strings.HasPrefix(to, from+"/") && src.dir:
		return false
	case dst != nil && (!o.Replace || src.dir || dst.dir):
		return false
	case !m.isDir(path.Dir(to)) && (!o.Parents || !m.folders(to)):
		return false
	}
	if dst != nil {
		dst.content = src.content
		return true
	}
	for _, inner := range m.below(from) {
		copied := *m[inner]
		m[to+strings.TrimPrefix(inner, from)] = &copied
	}
	copied := *src
	m[to] = &copied
	return true
}

func (m model) mkdir(name string) bool {
	if m.isFile(name) || !m.isDir(name) && !m.folders(name) {
		return false
	}
	if m[name] == nil {
		m[name] = &node{dir: true}
	}
	return true
}

// onDisk reads the workspace as a model.
func (s *site) onDisk(t *rapid.T) model {
	m := model{}
	files := map[FileID]*node{}
	err := filepath.WalkDir(s.dir, func(p string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(s.dir, p)
		switch {
		case err != nil || rel == ".":
			return err
		case d.IsDir():
			m[rel] = &node{dir: true}
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(p)
		id := tree.InfoOf(info).ID
		if files[id] == nil {
			files[id] = &node{content: string(data)}
		}
		m[rel] = files[id]
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// done is a change that the model can undo.
type done struct {
	id            string
	before, after model
	undone        bool
}

// world is a workspace and the model of it.
type world struct {
	s    *site
	w    *Workspace
	m    model
	past []*done
	log  []string
}

// fail fails the test and prints the last operations.
func (x *world) fail(r *rapid.T, format string, args ...any) {
	r.Helper()
	r.Fatalf(format+"\nafter\n%s", append(args, strings.Join(x.log[max(0, len(x.log)-25):], "\n"))...)
}

func (x *world) told(format string, args ...any) {
	x.log = append(x.log, fmt.Sprintf(format, args...))
}

// Random operations, including undo, give the same result as the model.
func TestModel(t *testing.T) {
	needs.SameDraws(t)
	needs.InMemory(t)
	each(t, func(t *testing.T, s *site) {
		round := 0
		rapid.Check(t, func(r *rapid.T) {
			round++
			inner := *s
			inner.dir = filepath.Join(s.base, fmt.Sprint("round", round))
			if err := os.Mkdir(inner.dir, 0o755); err != nil {
				r.Fatal(err)
			}
			defer os.RemoveAll(inner.dir)
			w, err := Open(Options{Dir: inner.dir, Portable: s.portable, NoSync: true})
			if err != nil {
				r.Fatal(err)
			}
			defer w.Close()
			x := &world{s: &inner, w: w, m: model{}}
			for range 100 / needs.Step(2) {
				x.step(r)
				if got, want := inner.onDisk(r).String(), x.m.String(); got != want {
					x.fail(r, "there is\n%s\nwant\n%s", got, want)
				}
			}
			for _, d := range slices.Backward(x.past) { // the beginning, whatever the way
				if d.undone || d.before.String() == d.after.String() {
					continue
				}
				if _, err := w.Undo(bg, UndoOptions{}); err != nil {
					x.fail(r, "undoing all: %v", err)
				}
			}
			if got, want := inner.onDisk(r).String(), x.start().String(); got != want {
				x.fail(r, "undone, there is\n%s\nwant\n%s", got, want)
			}
		})
	})
}

// start returns the state before the first change in force.
func (x *world) start() model {
	for _, d := range x.past {
		if !d.undone && d.before.String() != d.after.String() {
			return d.before
		}
	}
	return x.m
}

var (
	modelNames = rapid.SampledFrom([]string{"a", "b", "c", "d", "d/a", "d/b", "d/e", "d/e/f", "g/h/i"})
	modelTexts = rapid.SampledFrom([]string{"", "one\n", "two\n", "one\ntwo\n", strings.Repeat("x", 50)})
)

// step makes one random operation in the workspace and in the model.
func (x *world) step(r *rapid.T) {
	name, other, text := modelNames.Draw(r, "name"), modelNames.Draw(r, "other"), modelTexts.Draw(r, "text")
	flag, second := rapid.Bool().Draw(r, "flag"), rapid.Bool().Draw(r, "second")
	abs, too := x.s.p(name), x.s.p(other)
	m := x.m.clone()
	var c Change
	var err error
	var ok bool
	switch op := rapid.IntRange(0, 12).Draw(r, "op"); op {
	case 0, 1:
		c, err = x.w.WriteFile(bg, abs, []byte(text), WriteOptions{Parents: flag})
		ok = m.write(name, text, flag, false)
	case 2:
		c, err = x.w.AppendFile(bg, abs, []byte(text), WriteOptions{Parents: flag})
		ok = m.write(name, text, flag, true)
	case 3:
		c, err = x.w.EditFile(bg, abs, WriteOptions{}, swap("one", "three"))
		ok = m.edit(name, "one", "three")
	case 4:
		o := RemoveOptions{Folder: flag && !second, Tree: second}
		c, err = x.w.Remove(bg, abs, o)
		ok = m.remove(name, o)
	case 5, 6:
		o := MoveOptions{Parents: flag, NoReplace: second}
		c, err = x.w.Move(bg, abs, too, o)
		ok = m.move(name, other, o)
	case 7:
		o := CopyOptions{Tree: true, Parents: flag, Replace: second, Times: true}
		c, err = x.w.Copy(bg, abs, too, o)
		ok = m.copy(name, other, o)
	case 8:
		c, err = x.w.MakeDir(bg, abs, false)
		ok = m.mkdir(name)
	case 9: // hard links come back as files of their own: package history has tests of them
		return
	case 10:
		x.undoLast(r)
		return
	case 11:
		x.undoAny(r)
		return
	case 12:
		x.undoSince(r)
		return
	}
	if ok != (err == nil) {
		x.fail(r, "%+v, %v; the model says %v of\n%s", c, err, ok, x.m)
	}
	if err != nil {
		return
	}
	if c.ID == "" && m.String() != x.m.String() {
		r.Fatalf("%+v has no ID", c)
	}
	if c.ID != "" {
		x.past = append(x.past, &done{id: c.ID, before: x.m, after: m})
	}
	x.told("%s %v %+v %v %v", c.ID, c.Kind, []string{name, other}, flag, second)
	x.m = m
}

// last returns the change that a bare undo reverts.
func (x *world) last() *done {
	for _, d := range slices.Backward(x.past) {
		if !d.undone && d.before.String() != d.after.String() {
			return d
		}
	}
	return nil
}

func (x *world) undoLast(r *rapid.T) {
	d := x.last()
	list, err := x.w.Undo(bg, UndoOptions{})
	if d == nil != (err != nil) {
		x.fail(r, "%v, %v", list, err)
	}
	if d == nil {
		return
	}
	if list[0].Of != d.id {
		x.fail(r, "undid %s, not %s", list[0].Of, d.id)
	}
	x.told("undo last: %s, %s", list[0].Of, list[0].ID)
	d.undone, x.m = true, d.before.clone()
	if rapid.Bool().Draw(r, "again") {
		if _, err := x.w.Undo(bg, UndoOptions{ID: list[0].ID}); err != nil {
			x.fail(r, "%v", err)
		}
		x.told("redo")
		d.undone, x.m = false, d.after.clone()
	}
}

// undoAny undoes and redoes any change, or is refused.
func (x *world) undoAny(r *rapid.T) {
	if len(x.past) == 0 {
		return
	}
	d := rapid.SampledFrom(x.past).Draw(r, "change")
	list, err := x.w.Undo(bg, UndoOptions{ID: d.id})
	x.told("undo %s and redo: %v, %v", d.id, list, err)
	if err != nil {
		return
	}
	if d.undone {
		x.fail(r, "%s was undone twice", d.id)
	}
	if _, err := x.w.Undo(bg, UndoOptions{ID: list[0].ID}); err != nil {
		x.fail(r, "%v", err)
	}
}

func (x *world) undoSince(r *rapid.T) {
	if len(x.past) == 0 {
		return
	}
	i := rapid.IntRange(0, len(x.past)-1).Draw(r, "since")
	x.told("undo since %s", x.past[i].id)
	list, err := x.w.Undo(bg, UndoOptions{Since: x.past[i].id})
	if err != nil {
		x.fail(r, "%v", err)
	}
	if len(list) > 0 && rapid.Bool().Draw(r, "again") {
		x.told("redo since %s", list[0].ID)
		if _, err := x.w.Undo(bg, UndoOptions{Since: list[0].ID}); err != nil {
			x.fail(r, "%v", err)
		}
		return
	}
	for _, d := range slices.Backward(x.past[i:]) {
		if !d.undone && d.before.String() != d.after.String() {
			d.undone, x.m = true, d.before.clone()
		}
	}
}
