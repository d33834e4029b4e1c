package process

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"textskill/testdata/needs"

	"textskill/skill/internal/state"
)

// Stopping a server never kills a process that is not its helper, whatever the record says.
func TestForgedServerRecordsKillNothing(t *testing.T) {
	needs.Shell(t)
	x := newRunner(t, t.TempDir(), Config{Helper: self(t)})
	victim := exec.Command("sleep", "1000")
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	defer victim.Wait()
	defer victim.Process.Kill()
	begin, ok := startTime(victim.Process.Pid)
	if !ok {
		t.Fatal("/proc does not show the process")
	}
	real, err := x.StartServer(t.Context(), "", ServerCommand{Command: "sleep 100", Port: needs.Port(t), Wait: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.StopServer(ServerName{ID: real.ID}) })
	dir, err := x.ws.State(state.Servers)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	helper := readRecords(dir)[0].Helper
	for id, p := range map[string]processID{"aaaaaa": {victim.Process.Pid, begin}, "bbbbbb": {helper.Pid, helper.Begin + 1}} {
		if err := (serverRecord{ID: id, Port: 1, Helper: p}).save(dir); err != nil {
			t.Fatal(err)
		}
		if s, err := x.StopServer(ServerName{ID: id}); err != nil || s.Running || !s.Lost {
			t.Errorf("%s: %+v, %v", id, s, err)
		}
	}
	for _, name := range []string{"cccccc", "../x.json", "dddddddd.json"} {
		dir.WriteFile(strings.ReplaceAll(name, "/", "_"), []byte("{"), 0o600)
	}
	if err := victim.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the process was killed: %v", err)
	}
	if list, err := x.Servers(t.Context(), ServerName{ID: real.ID}); err != nil || len(list) != 1 || !list[0].Running {
		t.Errorf("the server was killed: %+v", list)
	}
	if all, err := x.Servers(t.Context(), ServerName{}); err != nil || len(all) != 3 {
		t.Errorf("%+v, %v", all, err)
	}
}

// A helper counts as running from its start, before the kernel shows its name: about one
// in fifteen reads of its command line right after the start is empty.
func TestHelperIsRunningFromItsStart(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for range 200 {
		h, err := startServerHelper(self(t), Spec{Dir: "/"}, null, null)
		if err != nil {
			t.Fatal(err)
		}
		id, err := h.id()
		running := id.isRunning()
		h.release(false)
		if err != nil || !running {
			t.Fatalf("helper %+v is not running, %v", id, err)
		}
	}
}
