package skill

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"textskill/skill/internal/workspace"
	"textskill/testdata/needs"
)

// A told is what a process says before it changes something, and afterwards.
type told struct {
	Begin []string // the paths that are about to change
	ID    string   // of the change that was acknowledged
	Tree  string   // of both folders, afterwards
}

// work changes things until the power fails.
func work(args []string) int {
	seed, _ := strconv.ParseUint(args[2], 10, 64)
	w := &worker{near: args[0], far: args[1], intN: rand.New(rand.NewPCG(seed, 0)).IntN,
		out: json.NewEncoder(os.Stdout), inOrder: true}
	var err error
	w.x, err = New(Config{Dir: w.near, Allow: []string{w.far}, Helper: "/proc/self/exe"})
	os.Setenv("EXEC_TEST_ROLE", "")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for {
		if err := w.step(); err != nil && !expected(err) {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
}

// expected reports whether an operation fails because of what is there.
func expected(err error) bool {
	_, refused := errors.AsType[*UndoError](err)
	_, argument := errors.AsType[*ArgError](err)
	for _, is := range []error{syscall.ENOENT, syscall.EEXIST, syscall.ENOTDIR, syscall.EISDIR,
		syscall.ENOTEMPTY, syscall.EINVAL, ErrSameFile} {
		refused = refused || errors.Is(err, is)
	}
	return refused || argument
}

type worker struct {
	x         *Executor
	near, far string
	intN      func(n int) int // a random number below n
	out       *json.Encoder
	n         int
	last      []string // the IDs of changes, and what they are about
	about     [][]string

	inOrder bool       // the last change is undone, or the last undo, if nothing came after it
	effect  [][]string // what the changes that are in effect are about
	redo    string     // the ID of the last undo, "" if something came after it
	redone  []string   // what that is about
}

func (w *worker) undoInOrder() error {
	if w.redo != "" && w.intN(2) == 0 {
		id := w.redo
		w.redo = ""
		err := w.do(Undo{ID: id}, w.redone...)
		if err == nil {
			w.effect = append(w.effect, w.redone)
		}
		return err
	}
	if len(w.effect) == 0 {
		return nil
	}
	about := w.effect[len(w.effect)-1]
	if err := w.do(Undo{}, about...); err != nil {
		return err
	}
	w.effect, w.redo, w.redone = w.effect[:len(w.effect)-1], w.last[len(w.last)-1], about
	return nil
}

// content is a text that is one only if it is whole.
func (w *worker) content() string {
	w.n++
	line := fmt.Sprintf("%d %d\n", os.Getpid(), w.n)
	return strings.Repeat(line, 1+w.intN(1500))
}

func (w *worker) pick(names ...string) string {
	name := names[w.intN(len(names))]
	if strings.HasPrefix(name, "far/") {
		return filepath.Join(w.far, name[4:])
	}
	return filepath.Join(w.near, name)
}

func (w *worker) step() error {
	file := w.pick("a", "b", "d/c", "d/e", "far/a", "far/d/b")
	other := w.pick("a", "b", "d/c", "far/a", "far/b", "far/d/b")
	switch w.intN(16) {
	case 0, 1:
		return w.do(WriteFile{Path: file, Content: w.content()}, file)
	case 2:
		return w.do(EditFile{Path: file, Old: "\n", New: " " + w.content()}, file)
	case 3:
		return w.do(AppendFile{Path: file, Content: w.content()}, file)
	case 4:
		linked := w.pick("linked", "far/linked")
		return w.do(WriteFile{Path: linked, Content: w.content()}, linked, linked+"-too")
	case 5, 6:
		return w.do(MoveFile{Source: file, Dest: other, NoReplace: w.intN(2) == 0}, file, other)
	case 7:
		return w.do(DeleteFile{Path: file}, file)
	case 8:
		tree := w.pick("tree", "far/tree", "d/tree")
		return w.do(DeleteFile{Path: tree, Tree: true}, tree)
	case 9, 10:
		from, to := w.pick("tree", "far/tree", "d/tree", "first"), w.pick("tree", "far/tree", "d/tree")
		return w.do(CopyFile{Source: from, Dest: to, Tree: true}, to)
	case 11:
		from, to := w.pick("tree", "far/tree", "d/tree"), w.pick("tree", "far/tree", "d/tree")
		return w.do(MoveFile{Source: from, Dest: to, NoReplace: true}, from, to)
	case 12:
		below := w.pick("new/x/f", "new/y", "far/new/z/f")
		return w.do(WriteFile{Path: below, Content: w.content(), Parents: true}, below, filepath.Dir(below),
			filepath.Dir(filepath.Dir(below)))
	case 13:
		a, b, c := filepath.Join(w.near, "a"), filepath.Join(w.near, "run"), filepath.Join(w.near, "d/c")
		script := fmt.Sprintf("echo %d > a; mkdir -p run; echo %d > run/%d; rm -f d/c; chmod 600 b",
			w.n, w.n, w.n%3)
		return w.do(Exec{Command: "/bin/sh", Args: []string{"-c", script}}, a, b, c,
			filepath.Join(w.near, "b"))
	}
	if w.inOrder {
		return w.undoInOrder()
	}
	if len(w.last) == 0 {
		return nil
	}
	i := max(0, len(w.last)-1-w.intN(3)) // an undo or a redo
	return w.do(Undo{ID: w.last[i]}, w.about[i]...)
}

// do carries out an operation.
func (w *worker) do(a Args, about ...string) error {
	w.out.Encode(told{Begin: about})
	_, undo := a.(Undo)
	if !undo {
		w.redo = ""
	}
	r, err := w.x.Execute(context.Background(), &Session{}, a)
	if err != nil {
		return err
	}
	t := told{}
	switch r := r.(type) {
	case Changed:
		t.ID = r.ID
	case Reverted:
		t.ID = r.UndoID()
	case Executed:
		if t.ID = r.Undo; t.ID == "" && len(r.NotUndoable) > 1 { // besides the far folder
			return fmt.Errorf("the command cannot be undone: %v", r.NotUndoable)
		}
	}
	if t.ID != "" {
		w.last, w.about = append(w.last, t.ID), append(w.about, about)
	}
	if t.ID != "" && !undo {
		w.effect = append(w.effect, about)
	}
	if t.Tree, err = picture(w.near, w.far); err == nil {
		w.out.Encode(t)
	}
	return err
}

// picture is pictured of several folders, without the folders of the store.
func picture(dirs ...string) (string, error) {
	var b strings.Builder
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(name string, e os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := e.Info()
			if err != nil {
				return err
			}
			var data []byte
			if info.Mode().IsRegular() {
				data, err = os.ReadFile(name)
			}
			fmt.Fprintf(&b, "%s %v %d %q\n", name, info.Mode(), len(data), data)
			return err
		})
		if err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

// The power fails in the middle of operations, two disks at a time: what was acknowledged is
// there, no file is torn or empty but those that were being written in place, and all is
// undone. SKILL_TEST_CUTS says how often; the default is 20 times for ext4 alone.
func TestPowerCut(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	needs.Shell(t)
	needs.EachDisk(t, 2, "SKILL_TEST_CUTS", func(t *testing.T, cuts int, disks []*needs.Disk) {
		one, two := disks[0], disks[1]
		acknowledged, unrecorded := 0, 0
		for cut := range cuts {
			c := &powerCut{T: t, near: filepath.Join(one.Dir, "ws"), far: filepath.Join(two.Dir, "ws")}
			c.layout()
			c.run(uint64(cut), func() {
				one.Cut()
				two.Cut()
			})
			one.Remount()
			two.Remount()
			unrecorded += c.audit()
			acknowledged += len(c.ids)
			if t.Failed() {
				t.Fatalf("cut %d", cut)
			}
		}
		t.Logf("%d changes acknowledged in %d cuts; %d others are there without a record", acknowledged,
			cuts, unrecorded)
	})
}

type powerCut struct {
	*testing.T
	near, far string
	first     string   // the tree before
	tree      string   // the last one that was acknowledged
	ids       []string // of what was acknowledged
	begun     []string // the paths of what was not
}

// layout makes what the first round begins with.
func (c *powerCut) layout() {
	for _, dir := range []string{c.near, c.far} {
		if err := os.RemoveAll(dir); err != nil {
			c.Fatal(err)
		}
		for name, content := range map[string]string{"a": "a\n", "b": "b\n", "d/c": "c\n", "tree/f": "f\n",
			"tree/g/h": "h\n", "first/x": "x\n", "linked": "linked\n"} {
			plant(c.T, dir, name)
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
				c.Fatal(err)
			}
		}
		if err := os.Link(filepath.Join(dir, "linked"), filepath.Join(dir, "linked-too")); err != nil {
			c.Fatal(err)
		}
	}
	for _, dir := range []string{c.near, c.far} {
		f, err := os.Open(dir)
		if err != nil {
			c.Fatal(err)
		}
		unix.Syncfs(int(f.Fd()))
		f.Close()
	}
	var err error
	if c.first, err = picture(c.near, c.far); err != nil {
		c.Fatal(err)
	}
	c.tree = c.first
}

// run lets a process work, and cuts it off.
func (c *powerCut) run(seed uint64, cut func()) {
	cmd := exec.Command("/proc/self/exe", c.near, c.far, fmt.Sprint(seed))
	cmd.Env = append(os.Environ(), "EXEC_TEST_ROLE=work")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		c.Fatal(err)
	}
	lines := make(chan told)
	go func() {
		defer close(lines)
		in := json.NewDecoder(bufio.NewReader(out))
		for {
			var t told
			if in.Decode(&t) != nil {
				return
			}
			lines <- t
		}
	}()
	wait, timer := 1+rand.IntN(60), (<-chan time.Time)(nil) // acknowledgements
	isCut := false
	for t := range lines {
		switch {
		case t.Tree != "":
			c.tree, c.begun = t.Tree, nil
			if wait--; wait == 0 {
				timer = time.After(rand.N(5 * time.Millisecond))
			}
		default:
			c.begun = t.Begin
		}
		if t.ID != "" {
			c.ids = append(c.ids, t.ID)
		}
		select {
		case <-timer:
			cmd.Process.Signal(syscall.SIGSTOP)
			cut()
			cmd.Process.Kill()
			timer, isCut = nil, true
		default:
		}
	}
	if cmd.Wait(); !isCut {
		c.Errorf("the process ended: %s", stderr.String())
	}
}

// audit looks at what is there after the cut. It returns how many changes of those that were
// not acknowledged are there without a record.
func (c *powerCut) audit() (unrecorded int) {
	now, err := picture(c.near, c.far)
	if err != nil {
		c.Fatal(err)
	}
	c.compare("after the cut", now, c.tree)
	if len(c.begun) == 2 && c.has(c.tree) && !c.has(now) {
		c.Errorf("neither of %q is there after the cut", c.begun)
	}
	x := newExecutor(c.T, Config{Dir: c.near, Allow: []string{c.far}, NoSync: true,
		Journal: Journal{Count: -1}})
	defer x.Close()
	listed := carried(c.T, x, History{}).(Changes)
	for _, id := range c.ids {
		if !slices.ContainsFunc(listed.List, func(e workspace.HistoryEntry) bool { return e.ID == id }) {
			c.Errorf("change %s was acknowledged and is not listed", id)
		}
	}
	if listed.Damaged > 0 {
		c.Logf("%d damaged records", listed.Damaged)
	}
	report, err := x.Inspect(c.Context())
	for _, r := range report.List {
		if err != nil || len(r.Missing) > 1 || len(r.Missing) == 1 && len(c.begun) == 0 {
			c.Errorf("%v: images of %v are not there", err, r.Missing)
		}
	}
	for try, o := range []Undo{{}, {Force: true}} {
		for err == nil {
			_, err = x.Execute(c.Context(), &Session{}, o)
		}
		refused, ok := errors.AsType[*UndoError](err)
		switch {
		case ok && refused.ID == "":
		case ok && refused.Force && try == 0 && len(c.begun) > 0:
			unrecorded++
			err = nil
			continue
		case ok && try == 1 && len(c.begun) > 0: // what is there without a record
		default:
			c.Errorf("undo: %v", err)
		}
		break
	}
	if now, err = picture(c.near, c.far); err != nil {
		c.Fatal(err)
	}
	c.compare("undone", now, c.first)
	if c.Failed() {
		c.Logf("in flight: %q; acknowledged: %q", c.begun, c.ids)
		for _, e := range listed.List {
			c.Log(e)
		}
	}
	return unrecorded
}

// has reports whether a tree has something that was being changed.
func (c *powerCut) has(tree string) bool {
	return slices.ContainsFunc(c.begun,
		func(p string) bool { return strings.Contains("\n"+tree, "\n"+p+" ") })
}

// compare compares two trees, without what was being changed.
func (c *powerCut) compare(when, got, want string) {
	lines := func(tree string) (list []string) {
		for line := range strings.Lines(tree) {
			name, _, _ := strings.Cut(line, " ")
			flying := slices.ContainsFunc(c.begun,
				func(p string) bool { return name == p || strings.HasPrefix(name, p+"/") })
			if !flying && !strings.Contains(name, ".skill") {
				list = append(list, line)
			}
		}
		return list
	}
	a, b := lines(got), lines(want)
	for _, line := range a {
		if !slices.Contains(b, line) {
			c.Errorf("%s there is %.150s", when, line)
		}
	}
	for _, line := range b {
		if !slices.Contains(a, line) {
			c.Errorf("%s there is not %.150s", when, line)
		}
	}
}
