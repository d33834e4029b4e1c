package process

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"textskill/testdata/needs"
)

// TestKilledProcessesAreNoSurvivors stops a process, for longer than it waits for the end of its
// children, while it kills them.
func TestKilledProcessesAreNoSurvivors(t *testing.T) {
	if os.Getenv("KILLS_CHILDREN") != "" {
		for range 400 {
			exec.Command("sleep", "1000").Start()
		}
		time.AfterFunc(200*time.Microsecond, func() { syscall.Kill(os.Getpid(), syscall.SIGSTOP) }) // killing them takes longer
		if left := (&helper{pidfd: -1}).killRemaining(); left > 0 {
			t.Errorf("%d are left", left)
		}
		return
	}
	if !needs.All() {
		t.Skip("it takes 4 s: set SKILL_TEST_ALL")
	}
	t.Parallel()
	child := exec.Command(self(t), "-test.run", "^"+t.Name()+"$")
	child.Env = append(os.Environ(), "KILLS_CHILDREN=1")
	child.Stdout, child.Stderr = os.Stderr, os.Stderr
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	var state syscall.WaitStatus
	if _, err := syscall.Wait4(child.Process.Pid, &state, syscall.WUNTRACED, nil); err != nil || !state.Stopped() {
		t.Fatalf("it ended before it stopped: %v", err)
	}
	time.Sleep(killTimeout + time.Second/2)
	child.Process.Signal(syscall.SIGCONT)
	if err := child.Wait(); err != nil {
		t.Error(err)
	}
}
