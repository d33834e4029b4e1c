package tree

import (
	"errors"
	"io/fs"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOpenAtLimit opens a folder with no descriptor left, or with one. The error must be the one of
// opening the folder, not of a system call inside this package.
func TestOpenAtLimit(t *testing.T) {
	dir := t.TempDir()
	free, err := unix.Open(dir, unix.O_PATH|unix.O_CLOEXEC, 0) // the lowest free descriptor
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(free)
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	for left := range 2 {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(free + left), Max: was.Max}); err != nil {
			t.Fatal(err)
		}
		_, err := Open(dir, false)
		unix.Setrlimit(unix.RLIMIT_NOFILE, &was)
		pe, ok := errors.AsType[*fs.PathError](err)
		if !ok || pe.Op != "open" || pe.Path != dir || pe.Err != syscall.EMFILE {
			t.Errorf("with %d descriptors left: %v", left, err)
		}
	}
}
