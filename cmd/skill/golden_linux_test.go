package main

import (
	"regexp"
	"strconv"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// TestGoldenServersEnd ends what a golden file started.
func TestGoldenServersEnd(t *testing.T) {
	got, err := goldenRunner{helper: ownProgram(), given: goldenGiven(t)}.play(t.Context(), txtar.Parse([]byte(`-- flags --
--tools stack
-- prompt --
server(command: 'sleep 1000', port: 45671, background: true)
`)))
	if err != nil {
		t.Fatal(err)
	}
	text := string(txtar.Format(got))
	m := regexp.MustCompile(`"pid":(\d+)`).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no server was started: %s", text)
	}
	pid, _ := strconv.Atoi(m[1])
	if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
		t.Errorf("server %d runs after the test, %v", pid, err)
	}
}
