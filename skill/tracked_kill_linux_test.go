package skill

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"textskill/skill/internal/process"
	"textskill/skill/internal/workspace"
	"textskill/testdata/needs"
)

// changeUntilKilled runs tracked changes in a directory until the process is killed.
func changeUntilKilled(dir string) int {
	x, err := New(Config{Dir: dir, NoSync: true, Unfenced: true})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	for i := 0; ; i++ {
		_, err := x.process.Track(context.Background(), "change", func(*process.Runner) error {
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
	needs.InMemory(t)
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

// hasBeaten reports whether all commands in a workspace have had a heartbeat since a file was written. It proves that
// they had not ended by then.
func hasBeaten(dir, name string) bool {
	file, err := os.Stat(filepath.Join(dir, name))
	if err != nil {
		return false
	}
	beats := 0
	histories, _ := filepath.Glob(filepath.Join(os.Getenv("XDG_STATE_HOME"), "skill", "*", "root.json"))
	for _, root := range histories {
		if data, _ := os.ReadFile(root); !strings.Contains(string(data), strconv.Quote(dir)) {
			continue
		}
		running, _ := filepath.Glob(filepath.Join(filepath.Dir(root), "running", "*"))
		for _, r := range running {
			if info, err := os.Stat(r); err != nil || !info.ModTime().After(file.ModTime()) {
				return false
			}
			beats++
		}
	}
	return beats > 0
}

// isFree reports whether no process holds the record of the command that a program runs.
func isFree(pid int) bool {
	name, _ := filepath.Glob(filepath.Join(os.Getenv("XDG_STATE_HOME"), "skill", "*", "running", fmt.Sprintf("%d-*", pid)))
	if len(name) != 1 {
		return false
	}
	f, err := os.Open(name[0])
	if err != nil {
		return false
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

// TestTrackedKilledIsRecorded kills a program while it runs a command. The changes of the command
// are undone like the changes of another one, and the history names the run that it was a step of. A command that
// another process runs meanwhile does not count as killed, and may have made the changes.
func TestTrackedKilledIsRecorded(t *testing.T) {
	needs.Shell(t)
	for _, before := range []string{"", "echo y > g", "waits"} {
		dir := t.TempDir()
		x := newExecutor(t, Config{Dir: dir, NoSync: true})
		carried(t, x, WriteFile{Path: "a", Content: "alpha"})
		var running sync.WaitGroup
		if before == "waits" {
			running.Go(func() { shell(t, x, "until [ -e over ]; do sleep 0.01; done; rm over") })
		}
		parent := exec.Command(self(t), dir, "sh", "-c", "echo x > f; sleep 60")
		parent.Env = append(os.Environ(), "EXEC_TEST_ROLE=parent")
		if err := parent.Start(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the command to write",
			func() bool { _, err := os.Stat(filepath.Join(dir, "f")); return err == nil })
		eventually(t, "a heartbeat", func() bool { return hasBeaten(dir, "f") })
		parent.Process.Kill()
		parent.Wait()
		eventually(t, "the helper to end", func() bool { return isFree(parent.Process.Pid) })
		if before == "echo y > g" { // another command comes before the undo
			undoes(t, x, shell(t, x, before).Undo)
		}
		if before == "waits" { // it may have made the file
			_, err := x.Execute(t.Context(), &Session{}, Undo{})
			if err == nil || !strings.Contains(err.Error(), ", which ran at the same time") {
				t.Errorf("undo of what another command may have made: %v", err)
			}
		}
		said := carried(t, x, Undo{Perhaps: before == "waits"}).(Reverted).Message()
		if !strings.Contains(said, `undid change 2: run "echo x > f; sleep 60"`) {
			t.Errorf("%q: undo says %q", before, said)
		}
		fill(t, dir, map[string]string{"over": ""})
		running.Wait()
		list := carried(t, x, History{Run: "r"}).(Changes).List
		if len(list) != 1 || list[0].Command != "echo x > f; sleep 60" || list[0].RunStep != 7 ||
			list[0].Tool != "run" {
			t.Errorf("%q: the history of the run has %+v", before, list)
		}
		if left, _ := os.ReadDir(historyOf(t, dir) + "/running"); len(left) > 0 {
			t.Errorf("%q: left are %v", before, left)
		}
	}
}

// A program is killed while it runs a command, which goes on for a moment: its helper lets it end by itself. Another
// process records the command only after its end, so the history has what it changed in that moment.
func TestTrackedKilledGoesOn(t *testing.T) {
	needs.Shell(t)
	dir := t.TempDir()
	x := newExecutor(t, Config{Dir: dir, NoSync: true})
	carried(t, x, WriteFile{Path: "a", Content: "alpha"})
	parent := exec.Command(self(t), dir, "sh", "-c", `trap "" TERM; echo x > f; sleep 0.2; echo late > a; sleep 60`)
	parent.Env = append(os.Environ(), "EXEC_TEST_ROLE=parent")
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the command to write",
		func() bool { _, err := os.Stat(filepath.Join(dir, "f")); return err == nil })
	parent.Process.Kill()
	parent.Wait()
	eventually(t, "the command to write again", func() bool {
		carried(t, x, WriteFile{Path: "b", Content: fmt.Sprint(time.Now())})
		data, _ := os.ReadFile(filepath.Join(dir, "a"))
		return string(data) == "late\n"
	})
	eventually(t, "the record", func() bool {
		carried(t, x, WriteFile{Path: "b", Content: fmt.Sprint(time.Now())})
		left, _ := os.ReadDir(historyOf(t, dir) + "/running")
		return len(left) == 0
	})
	list := carried(t, x, History{}).(Changes).List
	i := slices.IndexFunc(list, func(c workspace.HistoryEntry) bool { return strings.HasPrefix(c.Command, "trap") })
	if i < 0 {
		t.Fatalf("the history has %+v", list)
	}
	if _, err := x.Execute(t.Context(), &Session{}, Undo{ID: list[i].ID, Perhaps: true}); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "a")); string(data) != "alpha" {
		t.Errorf("%q, %v", data, err)
	}
}
