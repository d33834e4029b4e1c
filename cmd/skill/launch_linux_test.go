package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestNoKeyInTheCommandLine starts the program with secrets in its arguments, and looks
// at it as other users do.
func TestNoKeyInTheCommandLine(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"--openai-api-key", "sk-s3cret", "writeFile", "a.txt", "content:"},
		{"--openai-api-key=sk-s3cret"},
		{"run", "--openai-api-key", "sk-s3cret", "expert"},
		{"mcp", "--http-token=sk-s3cret", "--http", "127.0.0.1:0"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			cmd := exec.Command(self, args...)
			cmd.Args[0] = "skill"
			cmd.Dir = t.TempDir()
			stdin, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer cmd.Wait()
			defer cmd.Process.Kill()
			defer stdin.Close()
			var seen []byte
			for range 1000 {
				if seen, err = os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/cmdline"); err != nil || bytes.Contains(seen, []byte("*********")) || len(seen) == 0 {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
			if bytes.Contains(seen, []byte("s3cret")) {
				t.Errorf("the command line is %q, %v", seen, err)
			}
		})
	}
}

// TestTakeInterrupts has skill start take over Ctrl-C before the program has begun to wait
// for signals, as it may on a busy machine.
func TestTakeInterrupts(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	waiting, taken := make(chan struct{}), make(chan (<-chan os.Signal), 1)
	go func() { taken <- takeInterrupts(waiting) }()
	go cancelOnSignal(cancel, waiting)
	received := <-taken
	defer signal.Reset(os.Interrupt, syscall.SIGTERM)
	if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	<-received
	if ctx.Err() != nil {
		t.Error("the interrupt ends the program, too")
	}
}
