package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestWatch plays a file at once, and again only after it has changed. What it is played in
// is removed.
func TestWatch(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	name := filepath.Join(t.TempDir(), "a.txtar")
	write := func(want string, at int64) {
		text := "-- prompt --\nfileExists a\n-- want --\n" + want + "\n"
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, time.Unix(at, 0), time.Unix(at, 0)); err != nil {
			t.Fatal(err)
		}
	}
	write("something else", 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	looks := 0
	list := func() ([]string, error) {
		switch looks++; looks {
		case 3:
			write("Checked file existence at $WORK/a: false.", 2)
		case 5:
			cancel()
		}
		return []string{name}, nil
	}
	var out strings.Builder
	c := &cli{stdout: &out, stderr: &out}
	if err := c.watchFiles(ctx, goldenTest{goldenRunner: goldenRunner{helper: ownProgram(), given: goldenGiven(t)}, parallel: 1}, list); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); strings.Count(got, "passed,") != 2 || !strings.Contains(got, "0 passed, 1 failed") || !strings.HasSuffix(got, "1 passed, 0 failed\n") {
		t.Errorf("printed\n%s", got)
	}
	if left, err := os.ReadDir(temp); len(left) > 0 || err != nil {
		t.Errorf("%v is left, and %v", left, err)
	}
}
