package mcpserver

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"textskill/testdata/needs"
)

func TestNoCommandOutlivesItsCall(t *testing.T) {
	needs.Shell(t)
	for _, tt := range []struct {
		end  string
		stop func(*lineClient, *os.Process)
	}{
		{"cancelled", func(c *lineClient, _ *os.Process) {
			c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		}},
		{"timed out", func(*lineClient, *os.Process) {}},
		{"the input ended", func(c *lineClient, _ *os.Process) { c.in.Close() }},
		{"terminated", func(_ *lineClient, p *os.Process) { p.Signal(syscall.SIGTERM) }},
	} {
		t.Run(tt.end, func(t *testing.T) {
			t.Parallel()
			c, cmd := start(t, newWorkspace(t, nil), "perstack")
			c.greet("2025-11-25", "{}")
			length := fmt.Sprintf("1000.%d", cmd.Process.Pid)
			timeout := 60000
			if tt.end == "timed out" {
				timeout = 2000
			}
			c.send(call(1, "exec", fmt.Sprintf(`{"command":"sh","args":["-c","setsid sleep %s & sleep %s"],"env":{},"cwd":".","stdout":true,"stderr":true,"timeout":%d}`, length, length, timeout)))
			await(t, "the commands to start", func() bool { return commands(t, length) >= 2 })
			tt.stop(c, cmd.Process)
			await(t, "the commands to end", func() bool { return commands(t, length) == 0 })
		})
	}
}

// commands counts the processes that sleep for so long.
func commands(t *testing.T, text string) (n int) {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range lines {
		if line, err := os.ReadFile(name); err == nil &&
			bytes.HasPrefix(line, []byte("sleep\x00"+text+"\x00")) {
			n++
		}
	}
	return n
}

func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for began := time.Now(); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Since(began) > patience {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
