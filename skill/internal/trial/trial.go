// Package trial runs a program on a copy-on-write view of a folder, and makes its changes later.
//
// The rules:
//
//  1. A trial is an overlay: its lower layer is the folder, and its upper layer is in a folder of the
//     trial. The program and all that it starts see the overlay at the path of the folder. Nothing
//     in the folder changes.
//  2. The upper layer is the change. Nobody looks at the folder before or after the program. A name of
//     the upper layer that has the content and the mode of the folder's is not a change.
//  3. A trial holds what its changed texts were when it began. If others change such a text meanwhile,
//     keep merges both by lines. Any other changed path must still be the file that the program saw, or
//     it is a conflict, and nothing is made.
//  4. Trials end 24 hours after they began. The oldest end first if all together exceed 4 GiB.
//  5. A process locks the folder of the trial that it runs, keeps or drops. A folder without a record and
//     without a lock is that of a killed process, and ends when the next trial begins.
//  6. The record says that a keep has begun. If the process was killed, the next keep makes the rest.
package trial

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"textskill/skill/internal/workspace/tree"
)

// Limits of all trials of a folder.
const (
	maxAge   = 24 * time.Hour
	maxBytes = 4 << 30
)

// A Trial is a program that has run on a view of a folder.
type Trial struct {
	ID      string // "t7"
	Command string
	Began   time.Time
	Exit    int
	Changes []Change // sorted by path

	// Shut are the modes of what the program shut from its own user, which is open in the upper layer.
	Shut map[string]fs.FileMode

	// Begun is the folder in which a keep has begun to make the changes, "" for none. Opened are the modes of the
	// folders that it opened.
	Begun  string
	Opened map[string]fs.FileMode

	// Layers is the folder of the upper layer: that of the trial, or one where its file system can hold none.
	Layers string

	dir    string              // its folder
	lock   *os.File            // the folder, locked while the program runs, and from Check to Drop
	made   map[string]bool     // by Check: the paths that are as the trial leaves them
	links  map[uint64][]string // by Check: the names of the files of the upper layer that have several
	merged map[string][]byte   // by Check: the texts of paths that others changed, too
	crash  func()              // of a test: called after each step of Make and Drop
}

// step marks a moment at which the process may be killed.
func (t *Trial) step() {
	if t.crash != nil {
		t.crash()
	}
}

// A Change is a path that a trial changes.
type Change struct {
	Path   string // relative to the folder, with slashes
	Before State  // in the folder
	After  State  // in the trial
}

// Verb says what a trial does with the path.
func (c Change) Verb() string {
	switch {
	case !c.Before.Exists:
		return "added"
	case !c.After.Exists:
		return "removed"
	}
	return "changed"
}

// A State describes a file. The zero State describes a missing file.
type State struct {
	Mode    fs.FileMode
	Size    int64  `json:",omitempty"`
	Inode   uint64 `json:",omitempty"`
	Links   uint64 `json:",omitempty"` // its names; 0 for a folder
	Changed int64  // the time of its last change, in nanoseconds
	Exists  bool
}

// A ConflictError lists the paths that others changed since a trial began.
type ConflictError struct {
	ID    string
	Paths []string
	Link  string // stands in place of a folder of the trial, so that not even force makes the changes; "" for none
}

func (e *ConflictError) Error() string {
	if e.Link != "" {
		return fmt.Sprintf("%s cannot be kept: %s is a link now, and keep changes nothing through it", e.ID, e.Link)
	}
	return fmt.Sprintf("%s cannot be kept: changed by others since it began: %s", e.ID, strings.Join(e.Paths, ", "))
}

// recordName is the file of a trial's folder that describes it.
const recordName = "record"

// lastName is the file in the folder of trials with the number of the last one: no ID comes twice.
const lastName = "last"

// New makes the folder of a trial in a folder of trials.
func New(trials, command string) (*Trial, error) {
	if err := sweep(trials); err != nil {
		return nil, err
	}
	text, _ := os.ReadFile(filepath.Join(trials, lastName))
	last, _ := strconv.Atoi(string(text))
	for {
		last++
		t := &Trial{ID: fmt.Sprintf("t%d", last), Command: command}
		t.dir = filepath.Join(trials, t.ID)
		err := os.Mkdir(t.dir, 0o700)
		if err == nil {
			t.lock, err = lockFolder(t.dir)
		}
		if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) { // another process made or swept it
			continue
		}
		err = cmp.Or(err, os.WriteFile(filepath.Join(trials, lastName), []byte(strconv.Itoa(last)), 0o600))
		err = cmp.Or(err, os.Mkdir(t.State(), 0o700), os.Mkdir(filepath.Join(t.dir, "before"), 0o700))
		return t, err
	}
}

// lockFolder opens and locks the folder of a trial. The error is fs.ErrExist if another process has it locked.
func lockFolder(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	locked, err := tree.TryLock(int(f.Fd()), true)
	was, serr := f.Stat()
	is, lerr := os.Lstat(dir)
	switch err = cmp.Or(err, serr, lerr); {
	case err == nil && !os.SameFile(was, is):
		err = fs.ErrNotExist
	case err == nil && !locked:
		err = fs.ErrExist
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// sweep drops what rules 4 and 5 end.
func sweep(trials string) error {
	list, err := List(trials)
	if err != nil {
		return err
	}
	total := int64(0)
	for i, t := range slices.Backward(list) {
		total += t.Bytes()
		if time.Since(t.Began) > maxAge || total > maxBytes && i < len(list)-1 {
			t.Drop()
		}
	}
	entries, err := os.ReadDir(trials)
	for _, e := range entries {
		dir := filepath.Join(trials, e.Name())
		if _, missing := os.Lstat(filepath.Join(dir, recordName)); missing == nil || !isID(e.Name()) {
			continue
		}
		t := &Trial{dir: dir}
		if t.hold() != nil {
			continue
		}
		if _, missing := os.Lstat(filepath.Join(dir, recordName)); missing != nil { // it was not recorded just now
			t.Drop()
		} else {
			t.Release()
		}
	}
	return err
}

// isID reports whether a name is that of a trial.
func isID(name string) bool {
	n, err := strconv.Atoi(strings.TrimPrefix(name, "t"))
	return err == nil && name == fmt.Sprintf("t%d", n)
}

// List returns the trials of a folder of trials, the oldest first.
func List(trials string) (list []*Trial, err error) {
	entries, err := os.ReadDir(trials)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if t, err := Open(trials, e.Name()); err == nil {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b *Trial) int { return a.Began.Compare(b.Began) })
	return list, nil
}

// Open returns a trial. The error is fs.ErrNotExist if no trial has that ID.
func Open(trials, id string) (*Trial, error) {
	if !isID(id) {
		return nil, fs.ErrNotExist
	}
	t := &Trial{dir: filepath.Join(trials, id)}
	data, err := os.ReadFile(filepath.Join(t.dir, recordName))
	if err == nil {
		err = gob.NewDecoder(bytes.NewReader(data)).Decode(t)
	}
	return t, err
}

// save records a trial that has ended.
func (t *Trial) save() error {
	var data bytes.Buffer
	err := gob.NewEncoder(&data).Encode(t)
	if err == nil {
		err = os.WriteFile(filepath.Join(t.dir, recordName+".new"), data.Bytes(), 0o600)
	}
	if err == nil {
		err = os.Rename(filepath.Join(t.dir, recordName+".new"), filepath.Join(t.dir, recordName))
	}
	return err
}

// hold locks a recorded trial for this process.
func (t *Trial) hold() (err error) {
	if t.lock != nil {
		return nil
	}
	if t.lock, err = lockFolder(t.dir); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("another process keeps or drops %s now", t.ID)
	}
	return err
}

// Release lets other processes keep or drop the trial.
func (t *Trial) Release() {
	t.lock.Close()
	t.lock = nil
}

// Bytes returns how many bytes the changed files of a trial have.
func (t *Trial) Bytes() (total int64) {
	for _, c := range t.Changes {
		total += c.After.Size
	}
	return total
}

// Drop forgets a trial: first its record, so that no half of it can be kept.
func (t *Trial) Drop() error {
	if err := t.hold(); err != nil {
		return err
	}
	defer t.Release()
	os.Remove(filepath.Join(t.dir, recordName))
	t.step()
	t.clear()
	place, err := os.ReadFile(filepath.Join(t.dir, placeName))
	if err == nil {
		removeAll(string(place))
	}
	return removeAll(t.dir)
}

// temporary returns the name of a new file before it gets its path. A killed keep may leave it.
func (t *Trial) temporary() string { return ".skill-keep-" + t.ID }

// clear removes what a killed keep left.
func (t *Trial) clear() {
	for _, c := range t.Changes {
		if t.Begun != "" {
			os.Remove(filepath.Join(t.Begun, filepath.Dir(c.Path), t.temporary()))
		}
	}
}

// removeAll removes a folder in which a command may have made folders without permissions.
func removeAll(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if e != nil && e.IsDir() {
			os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// Contents returns what a changed path held in a folder as a trial began, and holds in the trial, nil for no
// regular file.
func (t *Trial) Contents(folder string, c Change) (before, after []byte, err error) {
	if c.Before.Mode.IsRegular() && c.Before.Exists {
		if before, err = os.ReadFile(t.before(c)); err != nil {
			before, err = readIn(folder, c.Path)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	if c.After.Mode.IsRegular() && c.After.Exists {
		after, err = os.ReadFile(filepath.Join(t.upper(), c.Path))
	}
	return before, after, err
}

// readIn reads a file below a folder. No link leads out of the folder.
func readIn(folder, path string) ([]byte, error) {
	f, err := os.OpenInRoot(folder, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// before returns the name of the file with what a changed text held as the trial began.
func (t *Trial) before(c Change) string {
	return filepath.Join(t.dir, "before", strconv.FormatUint(c.Before.Inode, 10))
}

// placeName is the file of a trial's folder that names the folder of its layers, if that lies elsewhere.
const placeName = "place"

// makeLayers makes the folder of the layers in a folder, "" for that of the trial.
func (t *Trial) makeLayers(in string) (err error) {
	t.Layers = t.dir
	if in != "" {
		t.Layers = filepath.Join(in, ".skill-trial-"+rand.Text())
		err = cmp.Or(os.WriteFile(filepath.Join(t.dir, placeName), []byte(t.Layers), 0o600), os.Mkdir(t.Layers, 0o700))
	}
	return cmp.Or(err, os.Mkdir(t.upper(), 0o700), os.Mkdir(t.work(), 0o700))
}

func (t *Trial) upper() string { return filepath.Join(t.Layers, "upper") }
func (t *Trial) work() string  { return filepath.Join(t.Layers, "work") }

// State returns the folder in which the program may keep what ends with the trial.
func (t *Trial) State() string { return filepath.Join(t.dir, "state") }
