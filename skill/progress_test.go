package skill

import (
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"textskill/skill/internal/workspace"
	"textskill/testdata/needs"
)

// TestProgress asks long operations how far they are.
func TestProgress(t *testing.T) {
	needs.Program(t, "sleep")
	dir := t.TempDir()
	for i := range 40 {
		name := filepath.Join(dir, "tree", "d"+strconv.Itoa(i%4), "f"+strconv.Itoa(i))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	x, err := New(Config{Dir: dir, NoSync: true, Unfenced: true})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for _, tt := range []struct {
		args Args
		most int64 // folders, entries or seconds
	}{
		{Find{Path: ".", Pattern: "f1*"}, 6},
		{ListTree{Path: ".", Depth: 3}, 6},
		{CopyFile{Source: "tree", Dest: "copy", Tree: true}, 44},
		{Exec{Command: "sleep", Args: []string{"1.2"}, Timeout: time.Minute}, 1},
	} {
		var most atomic.Int64
		ctx := workspace.WithProgress(t.Context(), func(done, total int64, _ string) {
			if total != 0 { // the time that a command may take says nothing of what it needs
				t.Errorf("%+v reported %d of %d", tt.args, done, total)
			}
			for old := most.Load(); done > old && !most.CompareAndSwap(old, done); old = most.Load() {
			}
		})
		if _, err := x.Execute(ctx, &Session{}, tt.args); err != nil {
			t.Errorf("%+v: %v", tt.args, err)
		}
		if most.Load() != tt.most {
			t.Errorf("%+v reported %d, want %d", tt.args, most.Load(), tt.most)
		}
	}
}
