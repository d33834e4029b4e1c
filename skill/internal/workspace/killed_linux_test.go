package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"textskill/skill/internal/workspace/tree"
	"textskill/testdata/needs"
)

// These tests kill a process before each system call of a change, its undo or its redo, and check the
// files that it leaves.

// changing are the calls that change a file system. A read of the log that follows none of
// them finds nothing new.
var changing = []uint32{
	unix.SYS_RENAMEAT2, unix.SYS_LINKAT, unix.SYS_UNLINKAT, unix.SYS_SYMLINKAT, unix.SYS_MKDIRAT,
	unix.SYS_PWRITE64, unix.SYS_WRITE, unix.SYS_FTRUNCATE, unix.SYS_FALLOCATE, unix.SYS_COPY_FILE_RANGE,
	unix.SYS_SENDFILE,
	unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_UTIMENSAT,
}

// dieAt ends this process with SIGKILL before the n-th call that changes something. It returns
// a function that says how many calls there were.
func dieAt(n int) (calls func() int, err error) {
	const (
		number = 0        // offset of the number of the call
		length = 16 + 2*8 // of the third argument
	)
	code := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: number}}
	for i, call := range changing {
		to := uint8(len(changing) - i)
		code = append(code, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: to, K: call})
	}
	code = append(code,
		unix.SockFilter{Code: unix.BPF_RET, K: unix.SECCOMP_RET_ALLOW},
		unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: length},
		// the runtime wakes itself with eight bytes
		unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: 8},
		unix.SockFilter{Code: unix.BPF_RET, K: unix.SECCOMP_RET_ALLOW},
		unix.SockFilter{Code: unix.BPF_RET, K: unix.SECCOMP_RET_USER_NOTIF},
	)
	program := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return nil, err
	}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|unix.SECCOMP_FILTER_FLAG_TSYNC|unix.SECCOMP_FILTER_FLAG_TSYNC_ESRCH, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return nil, errno
	}
	count := make(chan int, 1)
	count <- 0
	go func() {
		runtime.LockOSThread()
		for {
			const receive, send = 0xc0502100, 0xc0182101
			var call struct {
				id         uint64
				pid, flags uint32
				data       [64]byte
			}
			if _, _, errno := unix.Syscall(unix.SYS_IOCTL, fd, receive, uintptr(unsafe.Pointer(&call))); errno != 0 {
				continue
			}
			made := <-count + 1
			if count <- made; made == n {
				unix.Kill(os.Getpid(), unix.SIGKILL)
			}
			answer := struct {
				id           uint64
				value        int64
				error, flags uint32
			}{id: call.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
			unix.Syscall(unix.SYS_IOCTL, fd, send, uintptr(unsafe.Pointer(&answer)))
		}
	}()
	return func() int { n := <-count; count <- n; return n }, nil
}

// killedChanges are changes for which a process may be ended. far is a folder on another file
// system.
type killedChange struct {
	name   string
	layout []string
	partly bool // a part of the change may be seen
	run    func(w *Workspace, s *site, far string) (Change, error)
}

func killedChanges() (list []killedChange) {
	for _, c := range changes {
		list = append(list, killedChange{c.name, c.layout, strings.Contains(c.name, "several") ||
			c.name == "append",
			func(w *Workspace, s *site, _ string) (Change, error) { return c.run(w, s) }})
	}
	big := strings.Repeat("0123456789abcdef", 80<<10)
	edit := func(old, new string) func(w *Workspace, s *site, far string) (Change, error) {
		return func(w *Workspace, s *site, _ string) (Change, error) {
			return w.EditFile(bg, s.p("f"), WriteOptions{}, swap(old, new))
		}
	}
	return append(list,
		killedChange{"patch", []string{"f=" + big + "old" + big}, false, edit("old", "newer")},
		killedChange{"long patch", []string{"f=" + big + strings.Repeat("old", 3000) + big}, false,
			edit(strings.Repeat("old", 3000), "new")},
		killedChange{"append to a large file", []string{"f=" + big}, true,
			func(w *Workspace, s *site, _ string) (Change, error) {
				return w.AppendFile(bg, s.p("f"), []byte("more"), WriteOptions{})
			}},
		killedChange{"move away", []string{"f=old"}, true,
			func(w *Workspace, s *site, far string) (Change, error) {
				return w.Move(bg, s.p("f"), far+"/f", MoveOptions{})
			}},
		killedChange{"move here", []string{"f=old"}, true,
			func(w *Workspace, s *site, far string) (Change, error) {
				return w.Move(bg, far+"/there", s.p("f"), MoveOptions{})
			}},
		killedChange{"move a tree away", []string{"d/f=old", "d/e/g=x"}, true,
			func(w *Workspace, s *site, far string) (Change, error) {
				return w.Move(bg, s.p("d"), far+"/d", MoveOptions{})
			}},
		killedChange{"move a tree here", []string{"f=old"}, true,
			func(w *Workspace, s *site, far string) (Change, error) {
				return w.Move(bg, far+"/tree", s.p("d/tree"), MoveOptions{Parents: true})
			}},
		killedChange{"delete far away", nil, true, func(w *Workspace, s *site, far string) (Change, error) {
			return w.Remove(bg, far+"/tree", RemoveOptions{Tree: true})
		}},
		killedChange{"change files", []string{"f=old", "d/gone=x", "g=y"}, true,
			func(w *Workspace, s *site, _ string) (Change, error) {
				return w.ChangeFiles(bg, fixed(
					FileChange{Path: s.p("f"), Before: []byte("old"), After: []byte("new")},
					FileChange{Path: s.p("d/gone"), Before: []byte("x")},
					FileChange{Path: s.p("d/e/g"), After: []byte("made")},
					FileChange{Path: s.p("g"), Before: []byte("y"), After: []byte("z")},
				))
			}},
		killedChange{"run", []string{"f=old", "d/g=x", "gone=x", "both/a=x"}, true,
			func(w *Workspace, s *site, _ string) (Change, error) {
				before, err := w.Begin(bg, "true", 1<<20, s.walk)
				if err != nil {
					return Change{}, err
				}
				s.put(s.p("f"), "new")
				s.put(s.p("made/h"), "y")
				os.Remove(s.p("gone"))
				os.RemoveAll(s.p("both"))
				os.Chmod(s.p("d/g"), 0o600)
				c, _, err := before.End(bg)
				return c, err
			}},
		linking("run on one of several links", "x", os.Rename),
		linking("run that puts the same content in one of several links", "old", os.Rename),
		linking("run that links another file to one of several links", "x", relinked),
		linking("run that links another file of the same content to one of several links", "old", relinked),
	)
}

// linking is a command that gives the name f, of a file with several ones, to new.
func linking(name, content string, link func(old, new string) error) killedChange {
	return killedChange{name, []string{"f=old", "new=" + content}, true,
		func(w *Workspace, s *site, _ string) (Change, error) {
			before, err := w.Begin(bg, "true", 1<<20, s.walk)
			if err != nil {
				return Change{}, err
			}
			if err := link(s.p("new"), s.p("f")); err != nil {
				return Change{}, err
			}
			c, _, err := before.End(bg)
			return c, err
		}}
}

func relinked(old, name string) error {
	if err := os.Remove(name); err != nil {
		return err
	}
	return os.Link(old, name)
}

// walk is a Walker of the workspace.
func (s *site) walk(_ context.Context, visit func(int, Visited) error) error {
	return filepath.WalkDir(s.dir, func(p string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(s.dir, p)
		if err != nil || rel == "." {
			return err
		}
		folder := filepath.Dir(rel)
		if folder == "." {
			folder = ""
		}
		return visit(0, Visited{Folder: folder, Name: []byte(d.Name()), File: statFunc(func() (Info, error) {
			info, err := d.Info()
			if err != nil {
				return Info{}, err
			}
			return tree.InfoOf(info), nil
		})})
	})
}

// dying makes a change, its undo or its redo, and is killed before the end.
func dying(t testing.TB, args []string) {
	base, far, portable, name, way := args[0], args[1], args[2] == "true", args[3], args[4]
	n, err := strconv.Atoi(args[5])
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, base: base, dir: filepath.Join(base, "ws"), portable: portable}
	w, err := Open(Options{Dir: s.dir, Allow: []string{far}, Portable: portable, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	list := append(killedChanges(), undoOfSeveral)
	c := list[slices.IndexFunc(list, func(c killedChange) bool { return c.name == name })]
	first, err := w.WriteFile(bg, s.p("first"), []byte("first"), WriteOptions{})
	must(t, first, err)
	// what a command did is not the history's to take back before it is recorded
	if strings.HasPrefix(name, "run") && way == "do" {
		way = "undo"
	}
	id, steps := "", []string{"do", "undo", "redo"}
	for _, step := range steps {
		var calls func() int
		if step == way {
			if calls, err = dieAt(n); err != nil {
				fmt.Println("cannot filter:", err)
				os.Exit(3)
			}
		}
		var did Change
		if step == "do" {
			did, err = c.run(w, s, far)
		} else {
			var done []Undone
			if done, err = w.Undo(bg, UndoOptions{ID: id}); err == nil {
				did = done[0].Change
			}
		}
		if err != nil {
			t.Fatalf("%s: %v", step, err)
		}
		if id = did.ID; step == way {
			fmt.Println("calls:", calls())
			os.Exit(0)
		}
	}
}

// Whatever the moment at which a process is ended: no file is torn that is not written in
// place, and all is taken back: by bare undos, by undo of all since the first change, after
// later changes of the same files, and, with force, after something else has changed them.
func TestKilledAtEachCall(t *testing.T) {
	needs.InMemory(t)
	mount := t.TempDir()
	needs.Mount(t, "none", mount, "tmpfs", 0, "")
	far := mount + "/far"
	afters := []string{"bare", "since", "later", "other"}
	kills := 0
	for _, c := range killedChanges() {
		for _, way := range []string{"do", "undo", "redo"} {
			for _, portable := range []bool{false, true} {
				kill := func(n int, after string) {
					t.Run(fmt.Sprintf("%s/%s/%s/%d/%s", c.name, way, backend(portable), n, after),
						func(t *testing.T) {
							killAndUndo(t, newSite(t, portable), c, far, way, n, after)
							kills++
						})
				}
				if os.Getenv("SKILL_TEST_LONG") == "" {
					if rand.IntN(2) == 0 {
						continue
					}
					kill(1+rand.IntN(24), afters[rand.IntN(len(afters))])
					continue
				}
				s := newSite(t, portable)
				s.prepare(t, c, far)
				for n := range s.die(t, c, far, way, 1<<30) {
					for _, after := range afters {
						kill(1+n, after)
					}
				}
			}
		}
	}
	t.Logf("%d kills", kills)
}

// undoOfSeveral makes changes of the same files, and undoes them all but the first.
var undoOfSeveral = killedChange{"undo of several", []string{"f=0", "g=0"}, true,
	func(w *Workspace, s *site, _ string) (last Change, err error) {
		var since string
		for i := range 4 {
			before, after := []byte{byte('0' + i)}, []byte{byte('1' + i)}
			c, err := w.ChangeFiles(bg, fixed(FileChange{Path: s.p("f"), Before: before, After: after},
				FileChange{Path: s.p("g"), Before: before, After: after}))
			if err != nil {
				return c, err
			}
			if i == 1 {
				since = c.ID
			}
		}
		done, err := w.Undo(bg, UndoOptions{Since: since})
		if err == nil {
			last = done[len(done)-1].Change
		}
		return last, err
	}}

// After a kill during an undo of several changes, each change is either undone or not.
func TestKilledInUndoOfSeveral(t *testing.T) {
	needs.InMemory(t)
	far := t.TempDir() + "/far"
	for _, portable := range []bool{false, true} {
		s := newSite(t, portable)
		s.prepare(t, undoOfSeveral, far)
		calls := s.die(t, undoOfSeveral, far, "do", 1<<30)
		for n := range calls {
			if os.Getenv("SKILL_TEST_LONG") == "" && rand.IntN(calls) > 12 {
				continue
			}
			for _, after := range []string{"bare", "since", "later"} {
				t.Run(fmt.Sprintf("%s/%d/%s", backend(portable), n, after), func(t *testing.T) {
					killAndUndo(t, newSite(t, portable), undoOfSeveral, far, "do", 1+n, after)
				})
			}
		}
	}
}

func (s *site) prepare(t *testing.T, c killedChange, far string) {
	t.Helper()
	s.t = t
	s.layout(c.layout...)
	os.RemoveAll(far)
	s.put(far+"/there", "far")
	s.put(far+"/tree/f", "far")
	s.put(far+"/tree/e/g", "too")
	switch {
	case strings.Contains(c.name, "several links"):
		if err := os.Link(s.p("f"), s.p("g")); err != nil {
			t.Fatal(err)
		}
	case c.name == "copy onto":
		os.Chmod(s.p("f"), 0o600)
	}
}

// die runs a process until the n-th call; it returns the calls that it made if it came to
// its end.
func (s *site) die(t *testing.T, c killedChange, far, way string, n int) int {
	t.Helper()
	cmd := childCommand("dying", os.Geteuid(), s.base, far, fmt.Sprint(s.portable), c.name, way,
		fmt.Sprint(n))
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() == 3 {
		needs.That(t, false, fmt.Sprintf("a filter of system calls (%s)", out),
			"run the tests where seccomp may be used")
	}
	if bytes.Contains(out, []byte("FAIL")) || err != nil && cmd.ProcessState.ExitCode() >= 0 {
		t.Fatalf("%v %s", err, out)
	}
	_, after, _ := bytes.Cut(out, []byte("calls: "))
	number, _, _ := bytes.Cut(after, []byte("\n"))
	calls, _ := strconv.Atoi(string(number))
	return calls
}

// both describes the files in the workspace and in the far folder.
func (s *site) both(far string) string {
	other := *s
	other.dir = far
	return s.tree() + "far\n" + other.tree()
}

func killAndUndo(t *testing.T, s *site, c killedChange, far, way string, n int, after string) {
	s.prepare(t, c, far)
	first := s.both(far)
	s.die(t, c, far, way, n)
	killed := s.both(far)
	w := s.open(Options{NoSync: true, Allow: []string{far}})
	defer w.Close()
	list, err := listed(w.History(bg))
	if err != nil || len(list) == 0 {
		t.Fatalf("%v, %v", list, err)
	}
	fail := func(format string, args ...any) {
		t.Helper()
		t.Fatalf(format+"\nkilled:\n%s\nlog:\n%.3000s", append(args, short(killed), lastOf(s))...)
	}
	if reports, err := w.Inspect(bg); err != nil || len(reports[0].Missing) > 0 {
		fail("doctor: %v cannot be undone, %v", reports[0].Missing, err)
	}
	o := UndoOptions{}
	var others []string
	switch after {
	case "since":
		o.Since = list[0].ID
	case "later": // other changes of the same files
		for _, name := range []string{"f", "g", "d/g"} {
			if info, err := os.Lstat(s.p(name)); err == nil && info.Mode().IsRegular() {
				c, err := w.WriteFile(bg, s.p(name), []byte("later"), WriteOptions{})
				must(t, c, err)
			}
		}
	case "other":
		for _, name := range []string{"f", "g", "d/g", "d/f"} {
			if info, err := os.Lstat(s.p(name)); err == nil && info.Mode().IsRegular() {
				s.put(s.p(name), "other "+name)
				others = []string{"other " + name} // two names may be of one file
			}
		}
	}
	for range 20 {
		_, err := w.Undo(bg, o)
		if after == "since" {
			if err != nil {
				fail("undo since %s: %v", o.Since, err)
			}
			break
		}
		refused, ok := errors.AsType[*UndoError](err)
		switch {
		case err == nil:
			o.Force, o.ID = false, ""
			continue
		case ok && refused.Force && !o.Force && after == "other":
			o.Force = true
			continue
		case ok && after == "other" && refused.Before != "":
			o.ID = refused.Before
			continue
		case !ok || refused.ID != "" &&
			(refused.Force || after != "other" || exists(s.p("first"))):
			fail("undo: %v", err)
		}
		break
	}
	if strings.Contains(c.name, "append") {
		others = nil // what is taken from the end is in a record, and the rest in place
	}
	for _, content := range others {
		if !keptBelow(content, s.base, filepath.Dir(far)) {
			fail("%q is lost", content)
		}
	}
	if after == "other" {
		return // what something else has written stays where nothing of the change was left to undo
	}
	sweep(t, w, s, far)
	if got := s.both(far); got != first {
		fail("undone, there is\n%s\nwant\n%s", short(got), short(first))
	}
}

// sweep makes changes that clear away what a killed process left, and takes them back.
func sweep(t *testing.T, w *Workspace, s *site, far string) {
	t.Helper()
	for _, dir := range []string{s.dir, s.p("d"), s.p("a"), s.p("e"), far} {
		if !exists(dir) {
			continue
		}
		c, err := w.WriteFile(bg, filepath.Join(dir, "next"), nil, WriteOptions{})
		must(t, c, err)
		if _, err := w.Undo(bg, UndoOptions{ID: c.ID}); err != nil {
			t.Fatal(err)
		}
	}
}

// keptBelow reports whether a file below one of the folders holds a text.
func keptBelow(text string, dirs ...string) (found bool) {
	for _, dir := range dirs {
		filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return nil
			}
			if data, err := os.ReadFile(name); err == nil && strings.Contains(string(data), text) {
				found = true
				return fs.SkipAll
			}
			return nil
		})
	}
	return found
}

// Numbers start at 1 for the first change, also if the change makes the folders above its file, and go on without a
// gap.
func TestFirstChangeIsNumberOne(t *testing.T) {
	s := newSite(t, false)
	w := s.open(Options{NoSync: true})
	for i, name := range []string{"notes/a", "b/c/d", "notes/e"} {
		c, err := w.WriteFile(bg, s.p(name), []byte(name), WriteOptions{Parents: true})
		if want := fmt.Sprint(i + 1); err != nil || c.ID != want {
			t.Fatalf("%s is change %s, want %s (%v)", name, c.ID, want, err)
		}
	}
	command, err := w.Begin(bg, "slow", 1<<20, s.walk)
	if err != nil {
		t.Fatal(err)
	}
	if c, err := w.WriteFile(bg, s.p("during/a/x"), nil, WriteOptions{Parents: true}); err != nil || c.ID != "4" {
		t.Errorf("change %s, %v", c.ID, err)
	}
	s.put(s.p("made"), "by the command")
	s.put(s.p("during/y"), "by the command")
	if c, _, err := command.End(bg); err != nil || c.ID != "5" {
		t.Errorf("change %s, %v", c.ID, err)
	}
	for _, e := range collect(t, w) {
		if e.ID == "5" && len(e.Paths) != 2 {
			t.Errorf("the command changed %q", e.Paths)
		}
	}
	for range 5 {
		if _, err := w.Undo(bg, UndoOptions{}); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"notes", "b", "during", "made"} {
		s.lacks(name)
	}
}
