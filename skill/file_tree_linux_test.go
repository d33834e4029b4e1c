package skill

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// A directory that cannot be opened for want of descriptors is not listed as an empty one.
func TestTreeWithoutDescriptors(t *testing.T) {
	x := newExecutor(t, Config{NoSync: true})
	for i := range 20 {
		dir := fmt.Sprintf("%s/d%d", x.Dir(), i)
		if err := os.MkdirAll(dir+"/sub", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("sub", dir+"/link"); err != nil {
			t.Fatal(err)
		}
	}
	list := func() (folders int, err error) {
		r, err := x.Execute(t.Context(), &Session{}, ListTree{Path: ".", Depth: 3})
		if err != nil {
			return 0, err
		}
		return foldersIn(r.(TreeListed).Tree), nil
	}
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	defer unix.Setrlimit(unix.RLIMIT_NOFILE, &was)
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan bool)
	defer close(done)
	go func() { // takes descriptors, and gives them back
		for {
			select {
			case <-done:
				return
			default:
			}
			a, aerr := unix.Dup(0)
			b, berr := unix.Dup(0)
			if aerr == nil {
				unix.Close(a)
			}
			if berr == nil {
				unix.Close(b)
			}
		}
	}()
	for i := range 600 {
		unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(max(len(fds)-6+i%12, 3)), Max: was.Max})
		if got, err := list(); err == nil && got != 60 {
			t.Fatalf("%d folders, want 60 or an error", got)
		}
	}
}

func foldersIn(t *Tree) (n int) {
	for _, e := range t.Entries {
		if n += foldersIn(e); e.Folder {
			n++
		}
	}
	return n
}
