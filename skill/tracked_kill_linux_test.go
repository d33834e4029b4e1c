package skill

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// changeUntilKilled runs tracked changes in a directory until the process is killed.
func changeUntilKilled(dir string) int {
	x, err := New(Config{Dir: dir, NoSync: true, Unfenced: true})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	for i := 0; ; i++ {
		_, err := x.process.Track(context.Background(), "change", func(context.Context) error {
			sub := filepath.Join(dir, fmt.Sprint("d", i%3))
			os.RemoveAll(sub)
			for n := range i % 7 {
				os.MkdirAll(filepath.Join(sub, "in"), 0o777)
				os.WriteFile(filepath.Join(sub, "in", fmt.Sprint("f", n)), fmt.Append(nil, i), 0o666)
			}
			return os.WriteFile(filepath.Join(dir, "f"), fmt.Append(nil, i), 0o666)
		})
		if err != nil {
			fmt.Println(err)
			return 1
		}
	}
}

// TestTrackedKilled kills programs while they run commands and record the changes.
// Afterwards all records can be read, the last change can be undone, and the next command
// is tracked.
func TestTrackedKilled(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, map[string]string{"f": "first", "d1/x": "x"})
	for round := range 15 {
		last := lastRecorded(t, dir)
		child := exec.Command(self(t), dir)
		child.Env = append(os.Environ(), "EXEC_TEST_ROLE=cover")
		child.Stdout = os.Stderr
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "something to be recorded", func() bool {
			return lastRecorded(t, dir) != last
		})
		time.Sleep(rand.N(20 * time.Millisecond))
		child.Process.Kill()
		child.Wait()

		x := newExecutor(t, Config{Dir: dir, NoSync: true})
		list := carried(t, x, History{}).(Changes).List
		if len(list) == 0 {
			t.Fatal("nothing is recorded")
		}
		before := pictured(t, dir)
		e := shell(t, x, "rm -rf d1; echo x > f; mkdir -p d2/n")
		undoes(t, x, e.Undo)
		if now := pictured(t, dir); now != before || e.NotUndoable != nil {
			t.Fatalf("%d: undo left\n%s\nwant\n%s\nand %q", round, now, before, e.NotUndoable)
		}
		for _, r := range list {
			carried(t, x, Difference{ID: r.ID})
		}
		if left, _ := os.ReadDir(historyOf(t, dir) + "/stage"); len(left) > 0 {
			t.Fatalf("%d: temporary files remain: %v", round, left)
		}
		x.Close()
	}
}

// lastRecorded returns the last ID in the history of a folder.
func lastRecorded(t *testing.T, dir string) string {
	t.Helper()
	x := newExecutor(t, Config{Dir: dir, ReadOnly: true})
	defer x.Close()
	list := carried(t, x, History{}).(Changes).List
	if len(list) == 0 {
		return ""
	}
	return list[0].ID + list[len(list)-1].ID
}
