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
	got := mustExec(t, x, sh(`h=$PPID; [ $h != 0 ] || h=1 # in a PID namespace the helper has no id, and its child is the first process
		kill -KILL $h; for task in /proc/$h/task/*; do kill -KILL ${task##*/}; done
		for fd in 0 3 4 5; do echo x >/proc/$h/fd/$fd; done; cat /proc/$h/mem /proc/$h/environ | head -c 1; readlink /proc/$h/fd/0; echo end`))
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
		for _, pid := range marked(t, helperLine) {
			if parentOf(pid) == os.Getpid() && !slices.Contains(others, pid) {
				pids = append(pids, pid)
			}
		}
		return pids
	}
	others = helpers()
	run := func(script string) (helper int) {
		t.Helper()
		got := mustExec(t, x, sh("pwd; "+script))
		if string(got.Stdout) != x.Dir()+"\n" || !got.Supervised || got.Survivors != 0 {
			t.Errorf("a command ran in %s: %+v", got.Stdout, got)
		}
		eventually(t, "one helper to be ready", func() bool { return len(helpers()) == 1 })
		return helpers()[0]
	}
	first := run("")
	mark := marker(t)
	for _, script := range []string{"cat", "umask 077; ulimit -n 20; cd /",
		"sleep 100 " + mark + " & setsid sleep 100 " + mark + " &", "exit 3", "kill -9 $$"} {
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
	killHelper(t, second)
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
		// with the parent, which is marked too
		enough := map[string]int{"background": 4, "setsid": 4, "double fork": 5}[name]
		helper := 0
		eventually(t, name+" to begin", func() bool {
			pids := marked(t, mark)
			helper = helperOf(pids)
			return helper != 0 && len(pids) >= enough
		})
		killHelper(t, helper)
		said, _ := io.ReadAll(out) // until the command has been answered, and all that had its output is gone
		if parent.Wait(); string(said) != "lost true, left 0\n" {
			t.Errorf("%s: %s", name, said)
		}
		if left := marked(t, mark); len(left) > 0 {
			t.Errorf("%s: left %v", name, left)
		}
	}
}

// Where there is a PID namespace, nothing is left of a command whose helper and program are
// killed at once, nor of a server whose helper is.
func TestNothingOutlivesHelperAndProgram(t *testing.T) {
	t.Parallel()
	needs.That(t, fenced(t, Config{}).process.Fence().Processes, "PID namespaces",
		"run the tests as root, or allow user namespaces")
	users := []uint32{uint32(os.Geteuid())}
	if os.Geteuid() == 0 {
		needs.Users(t)
		users = append(users, 65534)
	}
	dir := t.TempDir()
	binary := userBinary(t, dir)
	for _, user := range users {
		dir := fmt.Sprint(dir, "/", user)
		if err := errors.Join(os.Mkdir(dir, 0o755), os.Chown(dir, int(user), -1)); err != nil {
			t.Fatal(err)
		}
		for name, script := range escapes {
			for _, role := range []string{"parent", "serve"} {
				mark := marker(t)
				args := map[string][]string{"parent": {dir, "sh", "-c", script, "sh", mark},
					"serve": {dir, "set -- " + mark + "; " + script, strconv.Itoa(needs.Port(t))}}[role]
				program := exec.Command(binary, args...)
				program.Env = []string{"PATH=" + os.Getenv("PATH"), "EXEC_TEST_ROLE=" + role}
				program.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user,
					Gid: user, NoSetGroups: true}}
				if err := program.Start(); err != nil {
					t.Fatal(err)
				}
				// without the program, which is marked too
				enough := map[string]int{"background": 3, "setsid": 3, "double fork": 4}[name]
				helper := 0
				eventually(t, name+" to begin", func() bool {
					pids := slices.DeleteFunc(marked(t, mark),
						func(pid int) bool { return pid == program.Process.Pid })
					helper = helperOf(pids)
					return helper != 0 && len(pids) >= enough
				})
				if role == "serve" {
					program.Wait() // it leaves its server
				} else {
					program.Process.Kill()
				}
				killHelper(t, helper)
				program.Wait()
				eventually(t, fmt.Sprintf("nothing to be left of %s, started by a %s as user %d", name,
					role, user), func() bool { return len(marked(t, mark)) == 0 })
			}
		}
	}
}
