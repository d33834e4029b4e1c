//go:build unix

package skill

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"textskill/testdata/needs"
)

// TestStartProcess exchanges lines with a program, with a helper and without, and closes it.
func TestStartProcess(t *testing.T) {
	needs.Shell(t)
	mark := fmt.Sprintf("1000.%d", os.Getpid())
	for _, helper := range []string{"", self(t)} {
		x := newExecutor(t, Config{Helper: helper})
		c, err := x.StartProcess(Program{Command: "sh",
			Args: []string{"-c", "sleep " + mark +
				" & echo $MY; echo last words >&2; cat; [ $MY = ends ] || exec sleep " + mark},
			Env: []string{"PATH=/usr/bin:/bin", "MY=stays"}})
		if err != nil {
			t.Fatal(err)
		}
		out := bufio.NewReader(c.Stdout)
		first, _ := out.ReadString('\n')
		c.Stdin.WriteString("said\n")
		if line, err := out.ReadString('\n'); line != "said\n" || first != "stays\n" {
			t.Errorf("the program printed %q and %q, %v", first, line, err)
		}
		if got := c.Stderr(); got != "last words\n" {
			t.Errorf("Stderr is %q", got)
		}
		c.Close()
		if end, ended, err := c.Ended(); !ended || end.Lost || end.Signal != "SIGTERM" || err != nil {
			t.Errorf("it ended %v: %+v, %v", ended, end, err)
		}
		if lines, _ := filepath.Glob("/proc/[0-9]*/cmdline"); helper != "" {
			for _, line := range lines { // on Linux
				if data, _ := os.ReadFile(line); strings.Contains(string(data), mark) {
					t.Errorf("%s is still there: %q", line, data)
				}
			}
		}
		if _, err := c.Stdin.WriteString("x"); !errors.Is(err, os.ErrClosed) {
			t.Errorf("Stdin is still open: %v", err)
		}
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
