package main

import (
	"bytes"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// A file of the history is damaged: a bit is flipped, or it is cut. The program names the loss, an
// undo that claims to be complete is, and the next change is made under a new number.
func TestDamagedHistory(t *testing.T) {
	t.Parallel()
	told := 0
	for round := range kills(30, 1000) {
		dir, store := t.TempDir(), t.TempDir()
		skill := func(args ...string) (out string, code int) {
			stdout, stderr, code := play(t, &cli{}, "",
				append([]string{"-C", dir, "--state", store}, args...)...)
			return stdout + stderr, code
		}
		write := func() int {
			out, code := skill("--no-sync", "--json", "writeFile", "new", "content:", "x")
			found := answered.FindStringSubmatch(out)
			if code != 0 || found == nil {
				t.Fatalf("nothing can be written: %s", out)
			}
			id, _ := strconv.Atoi(found[1])
			return id
		}
		for _, name := range []string{"a", "b", "d/c"} {
			os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777)
			if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.Repeat(name+"\n", 1000)), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		before := tree(t, dir)
		write()
		for _, args := range [][]string{
			{"writeFile", "a", "content:", "one"}, {"appendFile", "a", "content:", "two"},
			{"deleteFile", "b"}, {"moveFile", "d/c", "destination:", "c"},
			{"createDirectory", "e/f"}, {"copyFile", "c", "destination:", "e/g"},
			{"writeFile", "c", "content:", "three"}, {"undo"}, {"writeFile", "a", "content:", "four"},
		} {
			if out, code := skill(append([]string{"--no-sync"}, args...)...); code != 0 {
				t.Fatal(args, out)
			}
		}
		last := write() // which changes nothing: a cut through its record is as if it had not been
		whole, _ := skill("history")
		harmed := harm(t, store)
		listed, _ := skill("history")
		report, _ := skill("doctor")
		undo, code := skill("undo", "--no-sync", "--since", "1")
		said := strings.Contains(listed+report+undo, "damaged")
		if said {
			told++
		}
		if kept(listed) != kept(whole) && !said {
			t.Errorf("round %d, %s: the history is\n%s\n%s\n%s\nwas\n%s", round, harmed, listed, report,
				undo, whole)
		}
		if now := tree(t, dir); code == 0 && !said && !reflect.DeepEqual(now, before) {
			t.Errorf("round %d, %s: undone there is %.300v\n%s", round, harmed, now, undo)
		}
		if id := write(); id < last {
			t.Errorf("round %d, %s: the number %d comes after %d", round, harmed, id, last)
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d times something was damaged that counts", told)
}

// kept returns the lines of a history about changes that changed something.
func kept(listed string) (text string) {
	for line := range strings.Lines(listed) {
		if !strings.Contains(line, "changed nothing") {
			text += line
		}
	}
	return text
}

// harm damages a file in a folder, and says how.
func harm(t *testing.T, dir string) string {
	var files []string
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, ierr := e.Info(); ierr != nil || info.Size() > 0 {
				files, err = append(files, name), ierr
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	name := files[rand.IntN(len(files))]
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	at := rand.IntN(max(1, len(bytes.TrimRight(data, "\x00\n"))))
	how := "cut at "
	if rand.IntN(2) == 0 {
		data[at] ^= 1 << rand.IntN(8)
		how = "bit flipped at "
	} else {
		data = data[:at]
	}
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return name + " " + how + strconv.Itoa(at)
}
