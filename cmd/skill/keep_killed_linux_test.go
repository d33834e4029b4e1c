package main

import (
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"time"

	"textskill/testdata/needs"
)

// keep is killed at random moments. The next command says what was made, the next keep makes the rest, and undo
// takes it all back.
func TestKeepKilled(t *testing.T) {
	t.Parallel()
	needs.Shell(t)
	const script = "rm old*; for i in 1 2 3 4 5 6 7 8 9; do echo $i > new$i; done; ln new1 link; mkdir -p d/e; " +
		"echo x > d/e/f; chmod 500 d/e; rm -r k; echo k > k; rm file; mkdir file; ln -s new1 s; echo 2 >> text"
	k := &killedWorkspace{T: t, usual: 200 * time.Millisecond}
	halves := 0
	for wanted := kills(10, 200); k.killed < wanted && !t.Failed(); {
		dir, copied := t.TempDir(), t.TempDir()
		k.dir = dir
		t.Cleanup(func() { shellIn(t, copied, "chmod -R u+rwx . "+dir) })
		for _, dir := range []string{k.dir, copied} {
			shellIn(t, dir, "mkdir k; echo 1 > text; echo 1 > file; for i in 1 2 3 4 5 6 7 8 9; do echo $i > old$i; done")
		}
		before := tree(t, k.dir)
		shellIn(t, copied, script)
		want := tree(t, copied)
		must := func(args ...string) string {
			t.Helper()
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			cmd := &exec.Cmd{Path: self, Args: append([]string{"skill", "-C", k.dir}, args...), Dir: k.dir}
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%q: %v %s", args, err, out)
			}
			return string(out)
		}
		said := must("try", "--", "sh", "-c", script)
		needs.That(t, strings.Contains(said, "trial t1"), "views of the workspace", "run it where skill doctor names some")
		k.kill([]string{"keep", "t1"}, "")
		said = must("history")
		switch now := tree(t, k.dir); {
		case strings.Contains(said, "a keep of trial t1 stopped halfway"):
			halves++
			must("keep", "t1")
		case strings.Contains(said, "t1 is not kept") && reflect.DeepEqual(now, before):
			must("keep", "t1")
		case strings.Contains(said, "t1") || !reflect.DeepEqual(now, want):
			t.Errorf("said %s\nof %v", said, now)
		}
		if now := tree(t, k.dir); !reflect.DeepEqual(now, want) {
			t.Errorf("kept:\n%v\nwant\n%v", now, want)
		}
		must("undo", "--since", "1", "--perhaps")
		if now := tree(t, k.dir); !reflect.DeepEqual(now, before) {
			t.Errorf("undone:\n%v\nwant\n%v", now, before)
		}
	}
	t.Logf("%d kills, %d within the changes", k.killed, halves)
}

// shellIn runs a script in a folder.
func shellIn(t *testing.T, dir, script string) {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
}
