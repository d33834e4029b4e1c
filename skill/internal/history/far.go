package history

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A workspace may lie in another one. A command in one of them may change the other's files, so its window has a
// file in the other's history too. There it is an owner beside the windows of that history, and no window by itself.
// When it ends, the file stays until the next look there.

// openFar begins the name of the file of a window of another history.
const openFar = "far-"

// A neighbor is a history of a folder that holds the root, or lies in it.
type neighbor struct {
	running string // its folder of open windows
	here    string // the folder that both share, as a path in the root; "." is the whole root
	there   string // the same as a path in the neighbor's root
}

func (s *Store) neighbors() (list []neighbor) {
	entries, _ := os.ReadDir(s.place.Path)
	for _, e := range entries {
		running, err := os.Stat(filepath.Join(s.place.Path, e.Name(), runningName))
		if err == nil && time.Since(running.ModTime()) > maxOpen { // no window is open: a state folder holds many histories
			continue
		}
		var f struct{ Path string }
		data, err := os.ReadFile(filepath.Join(s.place.Path, e.Name(), rootName))
		if e.Name() == s.place.Key || err != nil || json.Unmarshal(data, &f) != nil || !filepath.IsAbs(f.Path) {
			continue
		}
		n := neighbor{running: filepath.Join(s.place.Path, e.Name(), runningName), here: ".", there: "."}
		if in, err := filepath.Rel(f.Path, s.o.Root); err == nil && filepath.IsLocal(in) {
			n.there = filepath.ToSlash(in)
		} else if in, err := filepath.Rel(s.o.Root, f.Path); err == nil && filepath.IsLocal(in) {
			n.here = filepath.ToSlash(in)
		} else {
			continue
		}
		list = append(list, n)
	}
	return list
}

// tellNeighbors writes a window that begins into the neighbors' histories, and theirs into this one.
func (t *Tx) tellNeighbors(w *window) {
	for _, n := range t.neighbors() {
		writeFar(n.running, t.place.Key, n.there, w)
		entries, _ := os.ReadDir(n.running)
		for _, e := range entries {
			var other window
			data, err := os.ReadFile(filepath.Join(n.running, e.Name()))
			if !strings.HasPrefix(e.Name(), openFar) && err == nil && json.Unmarshal(data, &other) == nil && !other.Edit {
				writeFar(filepath.Join(t.Path(), runningName), filepath.Base(filepath.Dir(n.running)), n.here, &other)
			}
		}
	}
}

// writeFar writes the file of a window of the history with a key into the folder running of another one. An error does
// not stop the command.
func writeFar(running, key, base string, w *window) {
	far := *w
	far.Base, far.Paths = base, nil
	if pid, _, _ := strings.Cut(w.Handle, "-"); far.Process == "" && w.Key == "" {
		far.Process = processOf(pid)
	}
	data, err := json.Marshal(far)
	if err != nil || os.MkdirAll(running, 0o700) != nil {
		return
	}
	draft := filepath.Join(filepath.Dir(running), openFar+w.Handle)
	if os.WriteFile(draft, data, 0o600) == nil {
		os.Rename(draft, filepath.Join(running, openFar+key+"-"+w.Handle))
	}
}

// endFar tells the neighbors that a window has ended.
func (s *Store) endFar(w *window) {
	for _, n := range s.neighbors() {
		name := filepath.Join(n.running, openFar+s.place.Key+"-"+w.Handle)
		if _, err := os.Lstat(name); err != nil {
			continue
		}
		entries, _ := os.ReadDir(n.running)
		if !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return !strings.HasPrefix(e.Name(), openFar) }) {
			os.Remove(name)
			continue
		}
		past := *w
		past.Past = true
		writeFar(n.running, s.place.Key, n.there, &past)
	}
}

// far reads the files of the windows of neighbors.
func (t *Tx) far() (list []*window) {
	d, err := t.runningFolder()
	if err != nil {
		return nil
	}
	entries, _ := sortedEntries(d)
	for _, e := range entries {
		var w window
		if !strings.HasPrefix(e.Name, openFar) {
			continue
		}
		data, err := t.dir.Load().ReadFile(runningName + "/" + e.Name)
		if err != nil || json.Unmarshal(data, &w) != nil {
			w = window{Past: true}
		}
		w.name = e.Name
		w.Past = w.Past || w.Process != "" && w.isGone() || time.Since(w.Began) > maxOpen
		list = append(list, &w)
	}
	return list
}

// forgetFar removes the files of windows of neighbors that have ended, after a look.
func (t *Tx) forgetFar(list []*window) {
	for _, w := range list {
		if w.Past {
			t.running.Remove(w.name, false)
		}
	}
}

// mayHave reports whether an owner may have changed a path.
func (o Owner) mayHave(name Name) bool {
	return o.Far == "" || o.Far == "." || name == o.Far || isBelow(name, o.Far)
}

// farOwner returns the owner for a window of a neighbor.
func (w *window) farOwner() Owner {
	o := w.owner()
	o.Far, o.Told, o.Until = Name(cmp.Or(w.Base, ".")), false, 0
	return o
}
