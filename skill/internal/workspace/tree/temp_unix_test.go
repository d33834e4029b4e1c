//go:build unix

package tree

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"textskill/testdata/needs"
)

// A folder of a killed process is removed. Those of running processes, and folders that have no file of ours beside
// them, stay.
func TestSweep(t *testing.T) {
	in := t.TempDir()
	if os.Getenv("SKILL_TEST_TEMP") != "" {
		made, err := MakeTempIn(os.Getenv("SKILL_TEST_TEMP"), "x-")
		if err != nil {
			t.Fatal(err)
		}
		os.WriteFile(made.Path+"/file", nil, 0)
		os.Stdout.WriteString("made\n")
		io.Copy(io.Discard, os.Stdin)
		return
	}
	mine, err := MakeTempIn(in, "")
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(os.Args[0], "-test.run=^TestSweep$")
	child.Env = append(os.Environ(), "SKILL_TEST_TEMP="+in)
	if _, err := child.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if n, err := out.Read(make([]byte, 5)); n == 0 {
		t.Fatal(err)
	}
	outside := t.TempDir()
	files := map[string]string{"skill-1/f": "", "skill-2/f": "", "skill-2.lock": "mine", "skill-3/f": "",
		"other/f": "", "other.lock": lockText, "skill-4": "a file", "skill-4.lock": lockText}
	for name, text := range files {
		os.Mkdir(filepath.Dir(in+"/"+name), 0o700)
		if err := os.WriteFile(in+"/"+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	os.WriteFile(outside+"/lock", []byte(lockText), 0o600)
	os.Symlink(outside+"/lock", in+"/skill-3.lock")
	os.Symlink(outside, in+"/skill-5")
	os.WriteFile(in+"/skill-5.lock", []byte(lockText), 0o600)
	names := func() (list []string) {
		entries, _ := os.ReadDir(in)
		for _, e := range entries {
			list = append(list, e.Name())
		}
		return list
	}
	before := names()
	if sweep(in); !slices.Equal(names(), before) {
		t.Errorf("left of %q while all run: %q", before, names())
	}
	for _, text := range []string{"", lockText} {
		os.WriteFile(in+"/skill-6.lock", []byte(text), 0o600)
		if sweep(in); !slices.Equal(names(), before) {
			t.Errorf("left of %q without a folder: %q", before, names())
		}
	}
	child.Process.Kill()
	child.Wait()
	sweep(in)
	after := names()
	if len(after) != len(before)-2 {
		t.Errorf("left of %q after a kill: %q", before, after)
	}
	if mine.Remove(); len(names()) != len(after)-2 {
		t.Errorf("left of %q after the removal: %q", after, names())
	}
	if _, err := os.Lstat(outside + "/lock"); err != nil {
		t.Error(err)
	}
}

// A temporary file has no name, so that a kill leaves none.
func TestCreateTemp(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	f, err := CreateTemp()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if entries, err := os.ReadDir(os.TempDir()); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
}

// Another user's file beside a folder proves nothing.
func TestSweepPassesOverOthers(t *testing.T) {
	needs.Root(t)
	in := t.TempDir()
	os.Mkdir(in+"/skill-1", 0o700)
	if err := os.WriteFile(in+"/skill-1.lock", []byte(lockText), 0o600); err != nil {
		t.Fatal(err)
	}
	os.Chown(in+"/skill-1.lock", 65534, 65534)
	sweep(in)
	if _, err := os.Lstat(in + "/skill-1"); err != nil {
		t.Error(err)
	}
}
