package skill

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"textskill/testdata/needs"
)

// Inside the fence a command reaches neither its helper nor the pipes of its helper.
func TestACommandDoesNotReachItsHelper(t *testing.T) {
	x := fenced(t, Config{})
	got := mustExec(t, x, sh(`kill -KILL $PPID; for task in /proc/$PPID/task/*; do kill -KILL ${task##*/}; done
		for fd in 0 3 4 5; do echo x >/proc/$PPID/fd/$fd; done; cat /proc/$PPID/mem /proc/$PPID/environ | head -c 1; readlink /proc/$PPID/fd/0; echo end`))
	if got.Lost || !got.Supervised || string(got.Stdout) != "end\n" {
		t.Errorf("%+v", got)
	}
}

// A helper that is kept ready serves the next command, is replaced if it was killed, and
// ends with the executor.
func TestAHelperIsKeptReady(t *testing.T) {
	needs.Shell(t)
	x := newExecutor(t, Config{Helper: self(t), KeepHelper: true})
	var others []int // of other tests
	helpers := func() (pids []int) {
		for _, pid := range marked(t, "skill-exec-helper\x00") {
			if parentOf(pid) == os.Getpid() && !slices.Contains(others, pid) {
				pids = append(pids, pid)
			}
		}
		return pids
	}
	others = helpers()
	var ready []int
	for i := range 5 {
		got := mustExec(t, x, sh("pwd; echo $PPID; cat"))
		dir, line, _ := strings.Cut(string(got.Stdout), "\n")
		helper, err := strconv.Atoi(strings.TrimSpace(line))
		if dir != x.Dir() || err != nil || i > 0 && i < 4 && !slices.Contains(ready, helper) || !got.Supervised {
			t.Errorf("command %d ran in %s, under %s; ready were %v", i, dir, line, ready)
		}
		eventually(t, "a helper to be ready", func() bool {
			ready = helpers()
			return len(ready) == 1 && ready[0] != helper // which may still be ending
		})
		if i == 3 {
			syscall.Kill(ready[0], syscall.SIGKILL)
			eventually(t, "the helper to be gone", func() bool { // with its end of the socket
				stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", ready[0]))
				threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", ready[0]))
				return err != nil || strings.Contains(string(stat), ") Z ") && len(threads) < 2
			})
		}
	}
	x.Close()
	eventually(t, "the helper to be gone", func() bool { return len(helpers()) == 0 })
}

// A helper that is killed leaves no process, however far its command has run.
func TestNothingOutlivesItsHelper(t *testing.T) {
	for name, script := range escapes {
		mark := marker(t)
		parent := exec.Command(self(t), t.TempDir(), "sh", "-c", script, "sh", mark)
		out, err := parent.StdoutPipe()
		parent.Env = append(os.Environ(), "EXEC_TEST_ROLE=adopter")
		if err = errors.Join(err, parent.Start()); err != nil {
			t.Fatal(err)
		}
		enough := map[string]int{"background": 4, "setsid": 4, "double fork": 5}[name] // with the parent, which is marked too
		helper := 0
		eventually(t, name+" to begin", func() bool {
			pids := marked(t, mark)
			for _, pid := range pids {
				if line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", parentOf(pid))); string(line) == "skill-exec-helper\x00" {
					helper = parentOf(pid)
				}
			}
			return helper != 0 && len(pids) >= enough
		})
		syscall.Kill(helper, syscall.SIGKILL)
		said, _ := io.ReadAll(out) // until the command has been answered, and all that had its output is gone
		if parent.Wait(); string(said) != "lost true, left 0\n" {
			t.Errorf("%s: %s", name, said)
		}
		if left := marked(t, mark); len(left) > 0 {
			t.Errorf("%s: left %v", name, left)
		}
	}
}
