package process

import (
	"context"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"textskill/skill/internal/workspace/tree"
)

// TestLockServers has another start hold the lock until just before the waiting ends, and for
// longer: nobody goes on without it.
func TestLockServers(t *testing.T) {
	path := t.TempDir()
	dir, err := os.OpenRoot(path)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	for _, held := range []time.Duration{0, lockTimeout - pollInterval/2, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			other, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer other.Close()
			fd := int(other.Fd())
			if ok, err := tree.TryLock(fd, true); !ok {
				t.Fatal(err)
			}
			time.AfterFunc(held, func() { tree.Unlock(fd) })
			release, err := lockServers(t.Context(), dir)
			if held > lockTimeout {
				if err == nil || err.Error() != "another server of this workspace is being started; try again" {
					t.Errorf("held for %v: %v", held, err)
				}
				return
			}
			if err != nil {
				t.Fatalf("held for %v: %v", held, err)
			}
			if ok, _ := tree.TryLock(fd, true); ok {
				t.Errorf("held for %v: it went on without the lock", held)
			}
			release()
			if ok, err := tree.TryLock(fd, true); !ok {
				t.Errorf("it is not free after the release: %v", err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := lockServers(ctx, dir); err != context.Canceled {
				t.Errorf("after the end of its context: %v", err)
			}
		})
	}
}
