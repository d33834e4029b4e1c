package dialect

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"textskill/parser"
	"textskill/parser/rawjson"
	"textskill/skill"
	"textskill/testdata/needs"

	"pgregory.net/rapid"
)

// modelRole is the variable by which TestModelWriter is given the folders of the workspace and
// of its history.
const modelRole = "DIALECT_TEST_MODEL"

// A modelled workspace is changed by random calls of all dialects, by other programs and by
// processes that are killed. The model keeps the files before and after each change.
type modelled struct {
	*rapid.T
	x          *skill.Executor
	s          skill.Session
	dir, store string
	past       []taken
	undo       *taken // the last step was its undo, under its ID; nil if it was none
	others     bool   // something else has changed files
	links      bool   // a file has several names
	log        []string
}

// A taken change is one that was made.
type taken struct{ id, before, after string }

// Random calls of all dialects, among them undos and redos, leave the workspace as it was
// before or after the change, and those that fail leave it as it is. All of it can be undone,
// also what processes did that were killed. Files that something else has changed in between may
// keep changes from being undone, but never the next ones.
func TestModel(t *testing.T) {
	needs.SameDraws(t)
	needs.Shell(t)
	rapid.Check(t, func(r *rapid.T) {
		base, err := os.MkdirTemp("/dev/shm", "model")
		if err != nil {
			base, err = os.MkdirTemp("", "model")
		}
		if err != nil {
			r.Fatal(err)
		}
		defer os.RemoveAll(base)
		m := &modelled{T: r, dir: filepath.Join(base, "ws"), store: filepath.Join(base, "state"),
			links: rapid.Bool().Draw(r, "links")}
		m.layout()
		m.open()
		defer func() { m.x.Close() }()
		start := m.picture()
		for range rapid.IntRange(1, 40).Draw(r, "steps") {
			m.step()
		}
		forced := values{}
		if m.others {
			forced["force"] = true
		}
		before := m.picture()
		for range 1000 {
			if reply := m.do(Undo, "undo", forced); reply.Err != nil {
				m.undoError(reply.Err)
				break
			}
		}
		now := m.picture()
		// once a command has parted the names, a change by one name is not taken back under the other
		if m.links {
			now, start = linked.ReplaceAllString(now, ""), linked.ReplaceAllString(start, "")
		}
		if like, _ := m.isLike(now, start); !like && !m.others {
			m.fail("there was\n%s\nundone there is\n%s\nwant\n%s", before, now, start)
		}
		before = m.picture()
		m.must(Stack, "write", values{"path": "next", "content": "x"})
		m.must(Undo, "undo", values{})
		if now := m.picture(); now != before {
			m.fail("undone there is\n%s\nwant\n%s", now, before)
		}
	})
}

// layout makes files with permissions, attributes and several names.
func (m *modelled) layout() {
	for _, name := range []string{"a", "b", "d/a", "linked"} {
		path := filepath.Join(m.dir, name)
		err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
			os.WriteFile(path, []byte("one "+name+"\n"), 0o640))
		if err == nil && name != "b" {
			unix.Setxattr(path, "user.note", []byte(name), 0) // where the file system has attributes
		}
		if err != nil {
			m.Fatal(err)
		}
	}
	err := os.Symlink("a", filepath.Join(m.dir, "link"))
	if m.links {
		err = errors.Join(err, os.Link(filepath.Join(m.dir, "linked"), filepath.Join(m.dir, "linked-too")))
	}
	if err != nil {
		m.Fatal(err)
	}
}

func (m *modelled) open() {
	x, err := skill.New(skill.Config{Dir: m.dir, State: m.store, NoSync: true, Unfenced: true})
	if err != nil {
		m.Fatal(err)
	}
	m.x = x
}

// picture describes all that is there, but for times.
func (m *modelled) picture() string {
	var b strings.Builder
	names := map[uint64]string{} // the first name of a file
	err := filepath.WalkDir(m.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == m.dir {
			return err
		}
		if e.Name() == ".skill.tmp" { // what a killed process left, until the next change of the folder
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		var content, note []byte
		target, _ := os.Readlink(path)
		if e.Type().IsRegular() {
			if content, err = os.ReadFile(path); err != nil {
				return err
			}
			if names[st.Ino] == "" {
				names[st.Ino] = path
			}
			target = names[st.Ino]
			note = make([]byte, 100)
			n, _ := unix.Lgetxattr(path, "user.note", note) // folders that a command removed lose theirs
			note = note[:max(n, 0)]
		}
		_, err = fmt.Fprintf(&b, "%s %o %q %q %q\n", path, st.Mode, target, content, note)
		return err
	})
	if err != nil {
		m.Fatal(err)
	}
	return b.String()
}

// contents returns a picture without the attributes of files.
func contents(picture string) string {
	return attributes.ReplaceAllString(picture, "$1\n")
}

var attributes = regexp.MustCompile(`(?m)^(\S+ 100\d+ .*) "[^"]*"\n`)

func (m *modelled) do(d *Dialect, tool string, args values) Reply {
	reply := d.Do(m.Context(), m.x, &m.s, parser.ToolCall{Name: tool, Arguments: rawjson.Encode(args)})
	m.log = append(m.log, fmt.Sprintf("%s %s %v: %s %q %v", d.Name, tool, args, reply.UndoID(), reply.Body,
		reply.Err))
	return reply
}

func (m *modelled) must(d *Dialect, tool string, args values) Reply {
	reply := m.do(d, tool, args)
	if reply.Err != nil {
		m.fail("%v", reply.Err)
	}
	return reply
}

// fail says what was done, too.
func (m *modelled) fail(format string, args ...any) {
	m.Helper()
	m.Fatalf(format+"\nafter\n%s", append(args, strings.Join(m.log, "\n"))...)
}

// undoError fails if an undo failed for another reason than what is there.
func (m *modelled) undoError(err error) {
	if _, ok := errors.AsType[*skill.UndoError](err); !ok {
		m.fail("%v", err)
	}
}

func (m *modelled) step() {
	before, undo := m.picture(), m.undo
	m.undo = nil
	switch op := rapid.IntRange(0, 15).Draw(m.T, "op"); {
	case op == 0 && rapid.IntRange(0, 9).Draw(m.T, "rarely") == 0:
		m.kill()
	case op == 1 && rapid.IntRange(0, 3).Draw(m.T, "rarely") == 0:
		m.other()
	case op < 4:
		m.undoLast(before)
	case op < 6 && undo != nil:
		m.redo(*undo)
	case op == 6 && len(m.past) > 0:
		m.undoAny(before)
	default:
		m.change(before)
	}
}

// change makes a call of any dialect.
func (m *modelled) change(before string) {
	name := rapid.SampledFrom([]string{"a", "b", "c", "d", "d/a", "d/b", "e/f/g", "linked", "link"})
	path, other := name.Draw(m.T, "path"), name.Draw(m.T, "other")
	text := rapid.SampledFrom([]string{"", "one\n", "two\nthree\n",
		strings.Repeat("four ", 20)}).Draw(m.T, "text")
	flag := rapid.Bool().Draw(m.T, "flag")
	line := fmt.Sprintf("echo %d > %s; rm -f %s; mkdir -p n/m; chmod 600 b; mv d/a n/m/; ln -s b s",
		len(text), filepath.Base(path), other)
	// a command leaves one name as it was, or all are there: of one that was deleted, the history has the file
	if m.links {
		line = fmt.Sprintf("echo %d > t; mv t %s; rm -f %s; mkdir -p n/m; chmod 600 b; mv d/a n/m/; ln -s b s", len(text), filepath.Base(path), other)
		if flag {
			remove := rapid.SampledFrom([]string{"linked", "linked-too", "linked*",
				"none"}).Draw(m.T, "remove")
			line = fmt.Sprintf("if [ linked -ef linked-too ] && [ $(stat -c %%h linked) = 2 ]; then echo %d > linked; ln -f linked %s; rm -f %s; fi", len(text), other, remove)
		}
	}
	move, copied := values{"source": path, "destination": other}, values{"src": path, "dst": other}
	overwrite := values{"source": path, "destination": other, "overwrite": flag}
	calls := []struct {
		d    *Dialect
		tool string
		args values
	}{
		{Achilles, "writeFile", values{"path": path, "content": text}},
		{Achilles, "appendFile", values{"path": path, "content": text}},
		{Achilles, "deleteFile", values{"path": path}},
		{Achilles, "createDirectory", values{"path": path}},
		{Achilles, "copyFile", values{"path": path, "destination": other}},
		{Achilles, "moveFile", values{"path": path, "destination": other}},
		{Filesystem, "write_file", values{"path": path, "content": text}},
		{Filesystem, "edit_file", values{"path": path, "old_text": "one", "new_text": text}},
		{Filesystem, "append_file", values{"path": path, "content": text}},
		{Filesystem, "create_directory", values{"path": path}},
		{Filesystem, "move_file", copied},
		{Filesystem, "copy_file", copied},
		{Filesystem, "delete_file", values{"path": path}},
		{Perstack, "writeTextFile", values{"path": path, "text": text}},
		{Perstack, "appendTextFile", values{"path": path, "text": text}},
		{Perstack, "editTextFile", values{"path": path, "oldText": "one", "newText": text}},
		{Perstack, "moveFile", move},
		{Perstack, "deleteFile", values{"path": path}},
		{Perstack, "createDirectory", values{"path": path}},
		{Perstack, "deleteDirectory", values{"path": path, "recursive": flag}},
		{Perstack, "exec", values{"command": "sh", "args": []string{"-c", line}, "env": values{},
			"cwd": m.dir, "stdout": true, "stderr": true}},
		{Stack, "write", values{"path": path, "content": text, "append": flag}},
		{Stack, "edit", values{"path": path, "old_text": "one", "new_text": text}},
		{Stack, "copy", move},
		{Stack, "move", move},
		{Stack, "delete", values{"path": path, "force": flag}},
		{Stack, "run", values{"command": line}},
		{Workspace, "write", values{"path": path, "content": text, "append": flag}},
		{Workspace, "edit", values{"path": path, "edits": []values{{"old_text": "one", "new_text": text}}}},
		{Workspace, "patch", values{"patch": fmt.Sprintf("*** Begin Patch\n*** Add File: p%d\n+one\n*** Delete File: %s\n*** End Patch\n", len(text), path)}},
		{Workspace, "move", overwrite},
		{Workspace, "copy", overwrite},
		{Workspace, "delete", values{"path": path}},
	}
	c := calls[rapid.IntRange(0, len(calls)-1).Draw(m.T, "call")]
	reply := m.do(c.d, c.tool, c.args)
	after := m.picture()
	switch id := reply.UndoID(); {
	case strings.HasPrefix(c.tool, "copy") && id != "" && after != before &&
		contents(after) == contents(before):
		m.Skip("only attributes differ, and undo passes over a file of the same bytes and permissions")
	case id != "":
		m.past = append(m.past, taken{id, before, after})
	case after != before:
		m.fail("%s was not recorded: there was\n%s\nthere is\n%s", c.tool, before, after)
	}
}

// undoLast undoes the last change that is in effect.
func (m *modelled) undoLast(before string) {
	for n := len(m.past); n > 0 && m.past[n-1].before == m.past[n-1].after; n-- { // an undo passes over it
		m.past = m.past[:n-1]
	}
	if len(m.past) == 0 {
		return
	}
	last := m.past[len(m.past)-1]
	d := []*Dialect{Undo, Workspace}[rapid.IntRange(0, 1).Draw(m.T, "by")]
	reply := m.must(d, "undo", values{})
	now := m.picture()
	like, joined := m.isLike(now, last.before)
	if !like {
		m.fail("undone there is\n%s\nwant\n%s", now, last.before)
	}
	if joined {
		m.past = m.past[:len(m.past)-1]
		m.undo = &taken{reply.UndoID(), last.before, last.after}
	}
}

func (m *modelled) redo(undo taken) {
	reply := m.must(Undo, "undo", values{"id": undo.id})
	now := m.picture()
	like, joined := m.isLike(now, undo.after)
	if !like {
		m.fail("made again there is\n%s\nwant\n%s", now, undo.after)
	}
	if joined {
		m.past = append(m.past, taken{reply.UndoID(), undo.before, undo.after})
	}
}

// undoAny undoes any change and makes it again, or is refused.
func (m *modelled) undoAny(before string) {
	c := rapid.SampledFrom(m.past).Draw(m.T, "change")
	reply := m.do(Undo, "undo", values{"id": c.id})
	if reply.Err == nil {
		m.must(Undo, "undo", values{"id": reply.UndoID()})
	}
	now := m.picture()
	if like, _ := m.isLike(now, before); !like {
		m.fail("there is\n%s\nwant\n%s", now, before)
	}
}

var linked = regexp.MustCompile(`(?m)^\S+/linked(-too)? .*\n`)

var identity = regexp.MustCompile(`(?m)^(\S+ 100\d+ )"[^"]*"`)

// isLike compares two pictures. A file whose content an undo writes again has the attributes of the file that it
// replaces. A name that a command took from a file with several names becomes a file of its own: then joined
// is false, and earlier pictures hold no longer.
func (m *modelled) isLike(now, want string) (like, joined bool) {
	now, want = contents(now), contents(want)
	if now == want {
		return true, true
	}
	if !m.links || identity.ReplaceAllString(now, "$1") != identity.ReplaceAllString(want, "$1") {
		return false, false
	}
	m.others, m.past = true, nil
	return true, false
}

// other changes files as another program does. Earlier changes may then not be undoable.
func (m *modelled) other() {
	m.others, m.past = true, nil
	path := filepath.Join(m.dir, rapid.SampledFrom([]string{"a", "d/a", "linked", "new"}).Draw(m.T, "path"))
	switch rapid.IntRange(0, 3).Draw(m.T, "other") {
	case 0:
		os.WriteFile(path, []byte("other\n"), 0o666)
	case 1:
		os.Remove(path)
	case 2:
		os.Chmod(path, 0o604)
	case 3:
		unix.Setxattr(path, "user.note", []byte("other"), 0)
	}
	m.log = append(m.log, "something else changes "+path)
}

// kill lets another process change files, and kills it.
func (m *modelled) kill() {
	self, err := os.Executable()
	if err != nil {
		m.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^TestModelWriter$")
	cmd.Env = append(os.Environ(), modelRole+"="+m.dir+"\n"+m.store)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		_, err = out.Read(make([]byte, 1)) // it begins
	}
	time.Sleep(time.Duration(rapid.IntRange(0, 10_000).Draw(m.T, "µs")) * time.Microsecond)
	cmd.Process.Kill()
	cmd.Wait()
	if err != nil {
		m.Fatal(err)
	}
	m.past = nil
	m.log = append(m.log, "another process is killed")
	if rapid.Bool().Draw(m.T, "new") {
		m.x.Close()
		m.open()
	}
	// takes back what the killed process had begun
	m.must(Stack, "write", values{"path": "next", "content": "x"})
	m.must(Undo, "undo", values{})
}

// TestModelWriter changes files of a workspace until it is killed.
func TestModelWriter(t *testing.T) {
	dir, store, ok := strings.Cut(os.Getenv(modelRole), "\n")
	if !ok {
		return // a part of TestModel
	}
	x, err := skill.New(skill.Config{Dir: dir, State: store, NoSync: true, Unfenced: true})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("begun")
	for n := 0; ; n++ {
		for tool, args := range map[string]values{
			"write": {"path": fmt.Sprintf("k/%d/f", n%3), "content": strings.Repeat(fmt.Sprint(n), 30),
				"append": n%2 == 0},
			"edit":   {"path": "linked", "old_text": "one", "new_text": "one one"},
			"copy":   {"source": "k", "destination": fmt.Sprint("l", n)},
			"move":   {"source": "a", "destination": "b"},
			"delete": {"path": fmt.Sprint("l", n-2), "force": true},
		} {
			Stack.Do(t.Context(), x, &skill.Session{},
				parser.ToolCall{Name: tool, Arguments: rawjson.Encode(args)})
		}
	}
}
