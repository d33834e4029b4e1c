package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
)

// deepTree makes folders in each other in dir whose path is longer than a system call takes, each with a file f.
func deepTree(t *testing.T, dir string, text string) {
	t.Helper()
	d, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.Repeat("7", 100)
	for i := range 60 {
		err := d.Mkdir(name, 0o755)
		if err == nil || os.IsExist(err) {
			err = d.WriteFile("f", fmt.Append(nil, text, i), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		in, err := d.OpenRoot(name)
		d.Close()
		if err != nil {
			t.Fatal(err)
		}
		d = in
	}
	d.Close()
}

// deepFiles returns the contents of all files in d and below.
func deepFiles(t *testing.T, d *os.Root) (list []string) {
	t.Helper()
	defer d.Close()
	f, err := d.Open(".")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil && err != io.EOF {
		t.Fatal(err)
	}
	slices.Sort(names)
	for _, name := range names {
		if in, err := d.OpenRoot(name); err == nil {
			list = append(append(list, name), deepFiles(t, in)...)
		} else if data, err := d.ReadFile(name); err == nil {
			list = append(list, string(data))
		}
	}
	return list
}

// A path of more than 4,096 bytes is recorded and undone like another.
func TestUndoOfDeepTree(t *testing.T) {
	f := newHookedFolder(t)
	f.flags = []string{"-C", f.dir}
	deepTree(t, f.dir, "old")
	files := func() []string {
		d, err := os.OpenRoot(f.dir)
		if err != nil {
			t.Fatal(err)
		}
		return deepFiles(t, d)
	}
	before := files()
	for name, change := range map[string]func(){
		"remove": func() { os.RemoveAll(f.dir + "/" + strings.Repeat("7", 100)) },
		"write":  func() { deepTree(t, f.dir, "new") },
	} {
		f.play("claude-code/pre-bash-parallel-1\n")
		change()
		f.play("claude-code/post-bash-parallel-1\n")
		if slices.Equal(files(), before) {
			t.Errorf("%s changed nothing", name)
		}
		if out, code := f.run("", append([]string{"undo"}, f.flags...)...); code != 0 || len(out) > 1000 {
			t.Errorf("undo of %s ended with %d: %.300s", name, code, out)
		}
		if after := files(); !slices.Equal(after, before) {
			t.Errorf("%s: %d files, want %d", name, len(after), len(before))
		}
	}
}
