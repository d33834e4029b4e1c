//go:build unix

package skill

import (
	"bufio"
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"textskill/testdata/needs"
)

// TestStartProcess exchanges lines with a program, with a helper and without, and closes it.
func TestStartProcess(t *testing.T) {
	needs.Shell(t)
	for _, helper := range []string{"", self(t)} {
		x := newExecutor(t, Config{Helper: helper})
		c, err := x.StartProcess(Program{Command: "sh", Args: []string{"-c", "sleep 1000 & echo $! $MY; echo last words >&2; cat; [ $MY = ends ] || exec sleep 1000"}, Env: []string{"PATH=/usr/bin:/bin", "MY=stays"}})
		if err != nil {
			t.Fatal(err)
		}
		out := bufio.NewReader(c.Stdout)
		first, _ := out.ReadString('\n')
		c.Stdin.WriteString("said\n")
		if line, err := out.ReadString('\n'); line != "said\n" || !strings.HasSuffix(first, " stays\n") {
			t.Errorf("the program printed %q and %q, %v", first, line, err)
		}
		if got := c.Stderr(); got != "last words\n" {
			t.Errorf("Stderr is %q", got)
		}
		c.Close()
		if end, ended, err := c.Ended(); !ended || end.Lost || end.Signal != "SIGTERM" || err != nil {
			t.Errorf("it ended %v: %+v, %v", ended, end, err)
		}
		if helper != "" && runtime.GOOS == "linux" {
			expectGone(t, strings.Fields(first)[0])
		}
		if _, err := c.Stdin.WriteString("x"); !errors.Is(err, os.ErrClosed) {
			t.Errorf("Stdin is still open: %v", err)
		}
	}
}

func expectGone(t *testing.T, pid string) {
	t.Helper()
	data, err := os.ReadFile("/proc/" + pid + "/stat")
	if err == nil && !slices.Contains(strings.Fields(string(data)), "Z") {
		t.Errorf("process %s is still there: %s", pid, data)
	}
}

func TestStartProcessIsRefused(t *testing.T) {
	x := newExecutor(t, Config{ReadOnly: true})
	if _, err := x.StartProcess(Program{Command: "sh"}); err == nil {
		t.Error("a program runs in a read-only workspace")
	}
	x = newExecutor(t, Config{})
	var spawn *SpawnError
	if _, err := x.StartProcess(Program{Command: "no-such-program", Env: []string{"PATH=/bin"}}); !errors.As(err, &spawn) || spawn.Err != syscall.ENOENT {
		t.Errorf("a program that is not there: %v", err)
	}
}
