//go:build unix

package audit

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestPipe refuses a named pipe. Opening it would wait for a reader, and ignore signals.
func TestPipe(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(name); err == nil || !strings.Contains(err.Error(), "named pipe") {
		t.Errorf("it answers %v", err)
	}
}
