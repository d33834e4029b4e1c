package skill

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"textskill/testdata/needs"
)

// TestTrackedOtherFileSystem runs commands where a file system is mounted in the workspace. Each
// answer says that changes there are not recorded, unless git ignores the folder.
func TestTrackedOtherFileSystem(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, map[string]string{"a": "alpha", ".gitignore": "/ignored/\n"})
	for _, name := range []string{"seen", "ignored"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		needs.Mount(t, "none", filepath.Join(dir, name), "tmpfs", 0, "")
	}
	x := newExecutor(t, Config{Dir: dir, NoSync: true})
	want := []string{filepath.Join(dir, "seen") +
		": it is on another file system, and what changes there is not recorded"}
	for _, line := range []string{"true", "echo x > seen/f; echo x > ignored/f", "echo x >> a"} {
		if e := shell(t, x, line); !slices.Equal(e.NotUndoable, want) {
			t.Errorf("%q: NotUndoable is %q", line, e.NotUndoable)
		}
	}
}
