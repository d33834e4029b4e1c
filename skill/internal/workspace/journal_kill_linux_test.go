package workspace

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"textskill/testdata/needs"
)

// mixed makes changes of every kind, including undo, until it is killed. It writes a byte when it begins
// and after each change.
func mixed(t testing.TB, args []string) {
	w, err := Open(Options{Dir: args[0], Portable: args[1] == "true", NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	seed, err := strconv.ParseUint(args[2], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(seed, 0))
	p := func(name string) string { return filepath.Join(args[0], name) }
	any := func(names ...string) string { return p(names[r.IntN(len(names))]) }
	os.Stdout.WriteString("begun\n")
	var last string
	for n := 0; ; n++ {
		var c Change
		switch r.IntN(10) {
		case 0, 1:
			c, err = w.WriteFile(bg, any("a", "b", "d/f", "linked"), []byte(version(n)), WriteOptions{})
		case 2:
			c, err = w.WriteFile(bg, any("n/e/w/f", "n/x", "d/y/z"), []byte(version(n)),
				WriteOptions{Parents: true})
		case 3:
			c, err = w.EditFile(bg, any("a", "b", "d/f"), WriteOptions{},
				func(_ io.ReaderAt, size int64) (Splice, error) {
					return Splice{0, size, []byte(version(n))}, nil
				})
		case 4:
			c, err = w.AppendFile(bg, p("log"), []byte("a line\n"), WriteOptions{})
		case 5:
			c, err = w.Move(bg, any("a", "b", "d/f"), any("a", "b", "d/f", "d/g"), MoveOptions{})
		case 6:
			c, err = w.Remove(bg, any("a", "b", "d/f", "n", "d/tree", "moved"), RemoveOptions{Tree: true})
		case 7:
			c, err = w.Copy(bg, p("tree"), any("d/tree", "n/tree"),
				CopyOptions{Tree: true, Parents: true, Times: true})
		case 8:
			c, err = w.Move(bg, any("d", "moved"), any("d", "moved"), MoveOptions{NoReplace: true})
		case 9:
			o := UndoOptions{}
			if r.IntN(3) == 0 {
				o.ID = last
			}
			var list []Undone
			if list, err = w.Undo(bg, o); err == nil {
				c = list[0].Change
			}
		}
		if err == nil {
			last = c.ID
		}
		os.Stdout.WriteString(".")
	}
}

// A process is killed during mixed changes, many times. No file is torn or left over, the journal is
// readable, and undoing everything restores the first tree.
func TestKilledJournal(t *testing.T) {
	needs.InMemory(t)
	each(t, func(t *testing.T, s *site) {
		s.layout("d/", "a="+version(0), "b="+version(1), "d/f="+version(2), "log=first\n",
			"linked="+version(3), "link => a")
		for n := range 8 {
			s.layout(fmt.Sprintf("tree/%d/%d=x", n%3, n))
		}
		if err := os.Link(s.p("linked"), s.base+"/other-name"); err != nil {
			t.Fatal(err)
		}
		first, changes := s.tree(), 0
		for round := range 60 / needs.Step(3) {
			changes += killMixed(t, s, round)
			s.wholeAfterKill()
			w := s.open(Options{NoSync: true})
			list, err := listed(w.History(bg))
			if err != nil {
				t.Fatalf("%d changes, %v", len(list), err)
			}
			if len(list) > 0 {
				if _, err := w.Undo(bg, UndoOptions{Since: list[0].ID}); err != nil {
					t.Fatalf("round %d: %v; there is\n%.3000s\n%s", round, err, short(s.tree()), lastOf(s))
				}
			}
			for _, dir := range []string{"", "d/", "tree/"} { // the next change there sweeps
				c, err := w.WriteFile(bg, s.p(dir+"next"), nil, WriteOptions{})
				must(t, c, err)
				if _, err := w.Undo(bg, UndoOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			w.Close()
			if got := s.tree(); got != first {
				t.Fatalf("round %d: undone, there is\n%.3000s\nwant\n%.3000s\n%s", round, short(got),
					short(first), lastOf(s))
			}
			os.RemoveAll(s.base + "/" + stateHome)
		}
		t.Logf("%d changes", changes)
		if changes < 1000/needs.Step(3) {
			t.Errorf("only %d changes were made", changes)
		}
	})
}

// short omits most repetitions.
func short(tree string) string {
	var b strings.Builder
	for line := range strings.Lines(tree) {
		fmt.Fprintf(&b, "%.60s (%d)\n", strings.TrimSuffix(line, "\n"), len(line))
	}
	return b.String()
}

// lastOf is the end of the journal.
func lastOf(s *site) string {
	data, _ := os.ReadFile(s.history() + "/log")
	lines := strings.Split(string(data), "\n")
	return strings.Join(lines[max(0, len(lines)-14):], "\n")
}

// killMixed returns how many changes there were.
func killMixed(t *testing.T, s *site, round int) int {
	t.Helper()
	b := &begun{dots: 5 + rand.IntN(45), said: make(chan struct{})}
	c := childCommand("mixed", os.Geteuid(), s.dir, fmt.Sprint(s.portable), fmt.Sprint(round))
	c.Stdout, c.Stderr = b, b
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-b.said:
	case <-time.After(time.Minute):
		t.Error("it does not go on")
	}
	time.Sleep(rand.N(time.Millisecond))
	if err := c.Process.Kill(); err != nil {
		t.Error(err)
	}
	c.Wait()
	if bytes.Contains(b.out.Bytes(), []byte("FAIL")) {
		t.Errorf("%s", b.out.String())
	}
	_, done, _ := bytes.Cut(b.out.Bytes(), []byte("begun\n"))
	return bytes.Count(done, []byte("."))
}

// wholeAfterKill makes sure that no file is torn: each is one of the versions. What
// is changed in place may be torn, until it is undone.
func (s *site) wholeAfterKill() {
	s.t.Helper()
	for _, name := range []string{"a", "b", "d/f", "d/g", "moved/f", "n/e/w/f", "n/x", "d/y/z"} {
		data, err := os.ReadFile(s.p(name))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil || !isVersion(data) {
			s.t.Errorf("%s is torn: %d bytes, %.10q, %v", name, len(data), data, err)
		}
	}
	for _, name := range []string{"d/tree", "n/tree"} {
		if list, err := filepath.Glob(s.p(name + "/*/*")); exists(s.p(name)) &&
			(err != nil || len(list) != 8) {
			s.t.Errorf("%s is in parts: %q, %v", name, list, err)
		}
	}
}
