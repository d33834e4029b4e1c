package workspace

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"textskill/testdata/needs"
)

// play plays a script: "begin 1", "end 1" and "undo 1" of a command, "since 1", "force 1", "file=content" of
// the user or a command, "tool file=content", "sh" and a command. It returns the errors of undos.
func (s *site) play(w *Workspace, script string) error {
	s.t.Helper()
	var snapshots [4]*Snapshot
	var failed error
	ids := map[string]string{}
	for step := range strings.SplitSeq(script, ", ") {
		var err error
		word, value, _ := strings.Cut(step, " ")
		n, _ := strconv.Atoi(value)
		undo := func(o UndoOptions) {
			done, err := w.Undo(bg, o)
			failed = errors.Join(failed, err)
			for _, d := range done {
				ids[fmt.Sprint("of ", d.Of)] = d.ID
			}
		}
		switch word {
		case "begin":
			snapshots[n], err = w.Snapshot(bg, 1<<20, s.walk)
		case "end":
			var c Change
			c, _, err = snapshots[n].Record(bg, "true")
			ids[value] = c.ID
			snapshots[n].Close()
		case "clock": // it had gone back before the command was begun
			snapshots[n].began = snapshots[n].began.Add(-time.Hour)
		case "undo", "force":
			undo(UndoOptions{ID: ids[value], Force: word == "force"})
		case "redo":
			undo(UndoOptions{ID: ids["of "+ids[value]]})
		case "since":
			undo(UndoOptions{Since: ids[value]})
		case "tool":
			file, content, _ := strings.Cut(value, "=")
			_, err = w.WriteFile(bg, s.p(file), []byte(content), WriteOptions{})
		case "remove":
			_, err = w.Remove(bg, s.p(value), RemoveOptions{Tree: true})
		case "sh":
			c := exec.Command("sh", "-c", value)
			c.Dir, c.Stderr = s.dir, os.Stderr
			err = c.Run()
		default:
			file, content, _ := strings.Cut(step, "=")
			s.put(s.p(file), content)
		}
		if err != nil {
			s.t.Fatal(step, err)
		}
	}
	return failed
}

// What the undo of a command left is what the undo of one beside it goes on from, and nothing else is.
func TestUndoBeside(t *testing.T) {
	needs.Shell(t)
	const (
		half  = "begin 1, begin 2, b=half, end 1, b=done, end 2, "
		later = "begin 1, b=one, begin 2, b=half, end 1, b=done, end 2, "
	)
	for name, test := range map[string]struct{ script, b, err string }{
		"one after the other":                        {half + "undo 2, undo 1", "old", "not in effect"},
		"of what was half":                           {later + "undo 2, undo 1", "old", ""},
		"in one undo":                                {later + "since 1", "old", ""},
		"the first one first":                        {later + "undo 1", "done", "was changed since by change 2"},
		"after a redo":                               {later + "undo 2, redo 2, undo 1", "done", "was changed since by change 2"},
		"the user writes":                            {later + "undo 2, b=user, undo 1", "user", "was changed since by something else"},
		"the user removes":                           {later + "undo 2, sh rm b, undo 1", "", "no longer exists"},
		"a tool writes":                              {later + "undo 2, tool b=tool, undo 1", "tool", "was changed since by change 4"},
		"the user writes into a folder":              {"begin 1, sh rm b; mkdir b; echo >b/x, begin 2, sh rm -r b; echo >b, end 1, b=done, end 2, undo 2, sh echo user >b/user, undo 1", "folder", "was changed since"},
		"a clock that goes back":                     {"begin 1, b=one, end 1, b=user, begin 2, clock 2, b=done, end 2, undo 2, undo 1", "user", "was changed since by something else"},
		"the first one ends last":                    {"begin 1, b=one, begin 2, b=done, end 2, end 1, undo 1, undo 2", "old", "not in effect"},
		"the first one ends last and is undone last": {"begin 1, b=one, begin 2, b=done, end 2, end 1, undo 2, undo 1", "old", ""},
		"one that ends while another runs":           {"begin 1, begin 2, b=done, end 2, end 1, undo 2, undo 1", "old", "nothing to undo"},
		"one after the other while a third one runs": {"begin 1, begin 2, b=half, end 2, begin 3, b=done, end 3, end 1, undo 1, undo 1", "old", ""},
		"out of order":                               {"begin 1, b=h, begin 2, b=1, end 1, begin 3, b=2, end 2, b=3, end 3, undo 3, undo 1, undo 2", "old", "not in effect"},
		"a tool wrote between":                       {"begin 1, b=one, tool b=tool, begin 2, b=two, end 2, b=three, end 1, undo 1", "three", "another call changed it meanwhile"},
		"a tool removed between":                     {"sh mkdir d; mv b d, begin 1, sh echo one >d/b, begin 2, sh echo two >d/b, end 2, remove d, sh mkdir d; echo three >d/b, end 1, undo 1, sh mv d/b b", "three\n", "another call changed it meanwhile"},
		"the user removes what was linked":           {"sh echo other >c, begin 1, b=one, begin 2, b=half, end 1, sh ln -f c b, end 2, undo 2, sh rm b, undo 1", "", "no longer exists"},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, s *site) {
				s.layout("b=old")
				err := s.play(s.open(Options{NoSync: true}), test.script)
				if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
					t.Errorf("%v; want %q", err, test.err)
				}
				switch test.b {
				case "":
					s.lacks("b")
				case "folder":
					s.has("b/user", "user\n")
				default:
					s.has("b", test.b)
				}
			})
		})
	}
}
