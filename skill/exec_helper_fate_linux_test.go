package skill

import (
	"context"
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
	"time"

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

// A helper that is kept ready serves one command after another, is replaced if it was killed
// or its command was stopped, and ends with the executor.
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
	run := func(script string) (helper int) {
		t.Helper()
		got := mustExec(t, x, sh("pwd; echo $PPID; "+script))
		dir, line, _ := strings.Cut(string(got.Stdout), "\n")
		helper, err := strconv.Atoi(strings.TrimSpace(line))
		if dir != x.Dir() || err != nil || !got.Supervised || got.Survivors != 0 {
			t.Errorf("a command ran in %s, under %s: %+v", dir, line, got)
		}
		eventually(t, "one helper to be ready", func() bool { return len(helpers()) == 1 })
		return helper
	}
	first := run("")
	mark := marker(t)
	for _, script := range []string{"cat", "umask 077; ulimit -n 20; cd /", "sleep 100 " + mark + " & setsid sleep 100 " + mark + " &", "exit 3", "kill -9 $$"} {
		if next := run(script); next != first {
			t.Errorf("after %s another helper runs", script)
		}
		if left := marked(t, mark); len(left) != 0 {
			t.Errorf("%s left %v", script, left)
		}
	}
	files := func(t *testing.T) int {
		list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", first))
		if err != nil {
			t.Skip("a helper's descriptors can be listed by root only")
		}
		return len(list)
	}
	t.Run("descriptors", func(t *testing.T) {
		before := files(t)
		for range 20 {
			run("")
		}
		if after := files(t); after != before {
			t.Errorf("the helper has %d descriptors, and had %d", after, before)
		}
	})
	ctx, stop := context.WithCancel(t.Context())
	time.AfterFunc(300*time.Millisecond, stop) // when another helper is about to be ready
	x.Execute(ctx, &Session{}, sh("sleep 100"))
	second := run("")
	if second == first {
		t.Error("the helper of a stopped command runs another one")
	}
	syscall.Kill(second, syscall.SIGKILL)
	eventually(t, "the helper to be gone", func() bool { // with its end of the socket
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", second))
		threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", second))
		return err != nil || strings.Contains(string(stat), ") Z ") && len(threads) < 2
	})
	if third := run(""); third == second {
		t.Error("a helper that was killed runs a command")
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
