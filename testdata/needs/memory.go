package needs

import (
	"os"
	"testing"
)

// InMemory puts the test's folders on a file system in memory, if there is one: for
// tests of many small changes, which a disk would only slow down.
func InMemory(t testing.TB) {
	t.Helper()
	if fi, err := os.Stat("/dev/shm"); err == nil && fi.IsDir() {
		t.Setenv("TMPDIR", "/dev/shm")
		t.Setenv("XDG_STATE_HOME", t.TempDir()) // or histories of these folders stay there
	}
}
