package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"textskill/testdata/needs"
)

// A call that a full disk kept from being recorded is named by history and doctor, until doctor --fix.
func TestMissedOnAFullDisk(t *testing.T) {
	f := newHookedFolder(t)
	for _, name := range []string{"XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "TMPDIR"} {
		t.Setenv(name, t.TempDir())
	}
	state := t.TempDir()
	needs.Mount(t, "none", state, "tmpfs", 0, "size=1M")
	f.flags = []string{"-C", f.dir, "--state", state}
	f.play("claude-code/pre-bash-parallel-1\nwrite early.txt 1\nclaude-code/post-bash-parallel-1\n")
	says := func(want bool, args ...string) {
		t.Helper()
		out, code := f.run("", append(args, f.flags...)...)
		said := strings.Contains(out, "not recorded") && strings.Contains(out, "claude-code")
		if code != 0 || said != want {
			t.Errorf("%s ended with %d: %s", args, code, out)
		}
	}
	says(false, "history")
	fill, err := os.Create(filepath.Join(state, "fill"))
	if err != nil {
		t.Fatal(err)
	}
	for block := make([]byte, 4096); err == nil; {
		_, err = fill.Write(block)
	}
	fill.Close()
	f.play("claude-code/pre-bash-parallel-1\nremove keep/b.txt\nclaude-code/post-bash-parallel-1\n")
	says(true, "history")
	os.Remove(fill.Name())
	says(true, "history")
	says(true, "doctor")

	// the mark stays when the undo of a later change did not go past it
	f.play("claude-code/pre-bash-parallel-1\nwrite later.txt 1\nclaude-code/post-bash-parallel-1\n")
	for i, want := range []int{0, 1, 1} {
		out, code := f.run("", append([]string{"undo"}, f.flags...)...)
		if code != want || code > 0 && !strings.Contains(out, "not recorded") {
			t.Errorf("undo %d ended with %d: %s", i+1, code, out)
		}
	}
	says(true, "history")
	f.run("", append([]string{"doctor", "--fix"}, f.flags...)...)
	says(false, "history")
}
