package state

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"textskill/skill/internal/workspace/tree"
)

// holdLocks is a process that holds the locks of a history until it is ended.
func holdLocks(args []string) {
	s, err := Open(Options{Root: args[0], Dir: args[1]})
	if err == nil {
		_, err = s.Lock(bg, true)
	}
	if err == nil {
		err = s.enter(bg)
	}
	fmt.Println("held", err)
	time.Sleep(time.Hour)
	s.Close()
}

// Who waits for a lock in vain is told by which process it is held, and the kernel
// gives it back when that is killed.
func TestHolder(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	s := open(t, Options{Root: root, Dir: dir, LockWait: 50 * time.Millisecond})
	add(t, s, Record{})
	cmd := exec.Command(os.Args[0], "the holder")
	cmd.Env = append(os.Environ(), "STATE_TEST_HOLDER="+root+"\n"+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	line := make([]byte, 100)
	if n, _ := out.Read(line); !strings.HasPrefix(string(line[:n]), "held <nil>") {
		t.Fatalf("%s", line[:n])
	}
	var busy *BusyError
	_, err = s.Lock(bg, false)
	if !errors.As(err, &busy) || busy.PID != cmd.Process.Pid || !strings.Contains(err.Error(), "the holder") {
		t.Errorf("the root: %v", err)
	}
	_, err = s.Add(bg, &Record{})
	if !errors.As(err, &busy) || busy.PID != cmd.Process.Pid {
		t.Errorf("the log: %v", err)
	}
	if list := s.holders(); len(list) != 2 || list[0].PID != cmd.Process.Pid || list[0].Lock != "log" || list[1].Lock != "root" {
		t.Errorf("holders: %+v", list)
	}
	cmd.Process.Kill()
	cmd.Wait()
	l, err := s.Lock(bg, false)
	if err != nil {
		t.Fatal(err)
	}
	l.Release()
	add(t, s, Record{})
}

// Goroutines of two Stores exclude each other, in one folder and with the root alone.
func TestLocksExclude(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	stores := []*Store{open(t, Options{Root: root, Dir: dir}), open(t, Options{Root: root, Dir: dir})}
	ids := []tree.FileID{{Dev: 1, Ino: 1}, {Dev: 1, Ino: 2}, {Dev: 1, Ino: 3}}
	inside := make([]atomic.Int64, len(ids))
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for n := range 100 {
				l, err := stores[g%2].Lock(bg, n%10 == 0)
				if err != nil {
					t.Error(err)
					return
				}
				one := []int{(g + n) % 3, (g + n + 1 + n%2) % 3}
				if n%10 == 0 {
					one = []int{0, 1, 2}
				} else if err := l.Folders(bg, ids[one[0]], ids[one[1]]); err != nil {
					t.Error(err)
					l.Release()
					return
				}
				for _, i := range one {
					if inside[i].Add(1) > 1 {
						t.Error("two are inside")
					}
				}
				runtime.Gosched()
				for _, i := range one {
					inside[i].Add(-1)
				}
				l.Release()
			}
		})
	}
	all.Wait()
}

// Those who share the root leave a gap for one who wants it alone.
func TestLockAloneIsNotStarved(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	shared, alone := open(t, Options{Root: root, Dir: dir}), open(t, Options{Root: root, Dir: dir})
	stop := make(chan struct{})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				l, err := shared.Lock(bg, false)
				if err != nil {
					t.Error(err)
					return
				}
				time.Sleep(time.Millisecond)
				l.Release()
			}
		})
	}
	for range 5 {
		l, err := alone.Lock(bg, true)
		if err != nil {
			t.Error(err)
			break
		}
		l.Release()
	}
	close(stop)
	all.Wait()
}
