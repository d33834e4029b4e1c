package process

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"textskill/testdata/needs"

	"textskill/skill/internal/history"
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
	real, err := x.StartServer(t.Context(), "",
		ServerCommand{Command: "sleep 100", Port: needs.Port(t), Wait: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.StopServer(ServerName{ID: real.ID}) })
	dir, err := x.ws.State(history.Servers)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	helper := readRecords(dir)[0].Helper
	for id, p := range map[string]processID{"aaaaaa": {victim.Process.Pid, begin},
		"bbbbbb": {helper.Pid, helper.Begin + 1}} {
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
	if list, err := x.Servers(t.Context(), ServerName{ID: real.ID}); err != nil || len(list) != 1 ||
		!list[0].Running {
		t.Errorf("the server was killed: %+v", list)
	}
	if all, err := x.Servers(t.Context(), ServerName{}); err != nil || len(all) != 3 {
		t.Errorf("%+v, %v", all, err)
	}
}

// Nor does it kill the process group that a record names: where a history lies in the workspace, a
// server can write its own.
func TestForgedServerEventsKillNothing(t *testing.T) {
	t.Parallel() // a helper that does not end is waited for
	needs.Shell(t)
	x := newRunner(t, t.TempDir(), Config{Helper: self(t)})
	group := &syscall.SysProcAttr{Setpgid: true}
	victim := &exec.Cmd{Path: "/bin/sleep", Args: []string{"sleep", "1000"}, SysProcAttr: group}
	forged := &exec.Cmd{Path: "/bin/sh", Args: []string{helperName},
		Stdin: strings.NewReader("trap '' TERM; echo; while sleep 0.2; do :; done\n"), SysProcAttr: group}
	out, err := forged.StdoutPipe()
	if err := errors.Join(err, victim.Start(), forged.Start()); err != nil {
		t.Fatal(err)
	}
	defer forged.Wait()
	defer victim.Wait()
	defer victim.Process.Kill()
	defer forged.Process.Kill()
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	dir, err := x.ws.State(history.Servers)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	begin, _ := startTime(forged.Process.Pid)
	var events bytes.Buffer
	binary.Write(&events, binary.LittleEndian, event{eventStarted, uint32(victim.Process.Pid), 0})
	err = errors.Join((serverRecord{ID: "aaaaaa", Port: 1, Helper: processID{forged.Process.Pid,
		begin}}).save(dir), dir.WriteFile("aaaaaa"+eventsSuffix, events.Bytes(), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	if s, err := x.StopServer(ServerName{ID: "aaaaaa"}); err != nil || s.Running {
		t.Errorf("%+v, %v", s, err)
	}
	if _, ok := startTime(victim.Process.Pid); !ok {
		t.Error("the process was killed")
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
