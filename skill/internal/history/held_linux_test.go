package history

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// An undo leaves a file that this process has locked, and the lock.
func TestUndoKeepsLocks(t *testing.T) {
	base := t.TempDir()
	name := base + "/ws/f"
	os.Mkdir(base+"/ws", 0o755)
	os.WriteFile(name, []byte("old"), 0o644)
	s := open(t, Options{Root: base + "/ws", Dir: base + "/state", NoSync: true})
	c, err := s.Begin(t.Context(), About{Command: "true"}, ".", 64<<20, walkOf(base+"/ws"))
	if err != nil {
		t.Fatal(err)
	}
	os.WriteFile(name, []byte("new"), 0o644)
	op, err := c.End(t.Context())
	if err != nil || len(op.Deltas) != 1 {
		t.Fatalf("%+v, %v", op, err)
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lock := unix.Flock_t{Type: unix.F_WRLCK}
	if err := unix.FcntlFlock(f.Fd(), unix.F_SETLK, &lock); err != nil {
		t.Fatal(err)
	}
	for _, how := range []How{{}, {Perhaps: true}} {
		tx, err := s.Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, err = tx.Undo(t.Context(), op.ID, how)
		tx.End()
		if _, ok := errors.AsType[*ConflictError](err); !ok {
			t.Errorf("%+v: %v", how, err)
		}
	}
	var st unix.Stat_t
	if unix.Fstat(int(f.Fd()), &st); !ownLocks()[st.Ino] {
		t.Error("the lock is released")
	}
	if data, _ := os.ReadFile(name); string(data) != "new" {
		t.Errorf("the file holds %q", data)
	}
}
