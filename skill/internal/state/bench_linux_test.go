package state

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"textskill/skill/internal/workspace/tree"
)

func benchRecord() Record {
	state := State{Kind: "file", Mode: 0o644, Size: 4096, MTime: 1700000000123456789, Sum: strings.Repeat("ab", 32), Stamp: Stamp{123456, 4096, 1700000000123456789, 1700000000123456789}}
	return Record{Dialect: "workspace", Tool: "write_file", Kind: "write", Bytes: 4096,
		Steps: []Step{{Path: "internal/server/handler.go", Before: state, After: state, Keep: true}}}
}

// fillLog writes n records as fast as possible.
func fillLog(b testing.TB, s *Store, n int64) {
	for range n {
		r := benchRecord()
		c, err := s.Add(bg, &r)
		if err != nil {
			b.Fatal(err)
		}
		c.Close()
	}
}

func BenchmarkAdd(b *testing.B) {
	s := open(b, Options{NoSync: true, Limits: Limits{Count: -1}})
	b.ReportAllocs()
	defer cpu(b)()
	for b.Loop() {
		fillLog(b, s, 1)
	}
}

// A record costs the same when the limits are met.
func BenchmarkAddAtLimit(b *testing.B) {
	s := open(b, Options{NoSync: true, Limits: Limits{Bytes: 4 << 20}})
	fillLog(b, s, 2000)
	defer cpu(b)()
	for b.Loop() {
		fillLog(b, s, 1)
	}
}

// What is asked of a long history.
func BenchmarkLong(b *testing.B) {
	const n = 100_000
	root, dir := b.TempDir(), b.TempDir()
	s := open(b, Options{Root: root, Dir: dir, NoSync: true, Limits: Limits{Count: -1}})
	fillLog(b, s, n)
	b.Run("open", func(b *testing.B) {
		defer cpu(b)()
		for b.Loop() {
			s := open(b, Options{Root: root, Dir: dir, NoSync: true, Limits: Limits{Count: -1}})
			for range s.Newest(bg, 0) {
				break
			}
			s.Close()
		}
	})
	b.Run("newest50", func(b *testing.B) {
		defer cpu(b)()
		for b.Loop() {
			count := 0
			for _, err := range s.Newest(bg, 0) {
				if err != nil {
					b.Fatal(err)
				}
				if count++; count == 50 {
					break
				}
			}
		}
	})
	b.Run("find", func(b *testing.B) {
		defer cpu(b)()
		for id := int64(1); b.Loop(); id = id*7919%n + 1 {
			if _, err := find(s, id); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("add", func(b *testing.B) {
		defer cpu(b)()
		for b.Loop() {
			fillLog(b, s, 1)
		}
	})
	for _, keep := range []int64{99_000, 1000} {
		b.Run(fmt.Sprintf("prune to %d", keep), func(b *testing.B) {
			for b.Loop() {
				s.o.Limits.Count = keep
				s.retain()
			}
		})
	}
}

// A change as package workspace makes it, and the floor: what the same guarantee costs
// without locks, retention and other processes.
func BenchmarkChange(b *testing.B) {
	for _, sync := range []bool{true, false} {
		for _, writers := range []int{1, 8} {
			for _, kind := range []string{"store", "floor"} {
				b.Run(fmt.Sprintf("sync=%v/writers=%d/%s", sync, writers, kind), func(b *testing.B) {
					root := b.TempDir()
					dir, err := openFolder(root)
					if err != nil {
						b.Fatal(err)
					}
					defer dir.Close()
					for i := range writers {
						os.WriteFile(filepath.Join(root, fmt.Sprint(i)), make([]byte, 4096), 0o644)
					}
					s := open(b, Options{Root: root, NoSync: !sync})
					f := newFloor(b, s)
					b.ResetTimer()
					defer cpu(b)()
					inFlight(b, writers, func(i int) error {
						if kind == "floor" {
							return f.replace(dir, fmt.Sprint(i), make([]byte, 4096))
						}
						return replaceLocked(s, dir, fmt.Sprint(i), make([]byte, 4096))
					})
				})
			}
		}
	}
}

// cpu reports the processor time of each op, which says more than the clock on a busy
// machine.
func cpu(b *testing.B) func() {
	used := func() int64 {
		var u unix.Rusage
		unix.Getrusage(unix.RUSAGE_SELF, &u)
		return u.Utime.Nano() + u.Stime.Nano()
	}
	before := used()
	return func() { b.ReportMetric(float64(used()-before)/float64(b.N), "cpu-ns/op") }
}

// inFlight does something b.N times, by so many goroutines.
func inFlight(b *testing.B, writers int, do func(i int) error) {
	var all sync.WaitGroup
	var left atomic.Int64
	left.Store(int64(b.N))
	for i := range writers {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				if err := do(i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

// A floor makes changes with a log of fixed lines in one file.
type floor struct {
	s      *Store
	log    *os.File
	images tree.Folder
	mu     sync.Mutex
	last   int64
	flush  flusher
}

func newFloor(b *testing.B, s *Store) *floor {
	where := b.TempDir()
	log, err := os.Create(where + "/log")
	if err != nil {
		b.Fatal(err)
	}
	if err := allocate(log, 64<<20); err != nil {
		b.Fatal(err)
	}
	images, err := openFolder(where)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { log.Close(); images.Close() })
	return &floor{s: s, log: log, images: images, flush: newFlusher()}
}

func (f *floor) replace(dir tree.Folder, name string, content []byte) error {
	file, err := unnamed(f.s, dir, content)
	if err != nil {
		return err
	}
	defer file.Close()
	var line [600]byte
	f.mu.Lock()
	f.last++
	id := f.last
	_, err = f.log.WriteAt(line[:], id*int64(len(line)))
	f.mu.Unlock()
	if err != nil {
		return err
	}
	image := fmt.Sprint(id)
	if err := f.images.LinkUnnamed(file, image); err != nil {
		return err
	}
	if err := f.images.Exchange(image, dir, name); err != nil {
		return err
	}
	if f.s.o.NoSync {
		return nil
	}
	return f.flush.wait(&segment{log: f.log, images: f.images}, []tree.Folder{dir})
}

// replaceLocked is replace with the locks of a change.
func replaceLocked(s *Store, dir tree.Folder, name string, content []byte) error {
	f, err := unnamed(s, dir, content)
	if err != nil {
		return err
	}
	defer f.Close()
	l, err := s.Lock(bg, false)
	if err != nil {
		return err
	}
	defer l.Release()
	if err := l.Folders(bg, dir.ID()); err != nil {
		return err
	}
	r := benchRecord()
	r.Steps[0].Path = Name(name)
	c, err := s.Add(bg, &r)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.Exchange(0, f, dir, name); err != nil {
		return err
	}
	l.Release()
	return c.Flush(dir)
}

func unnamed(s *Store, dir tree.Folder, content []byte) (*os.File, error) {
	f, err := dir.CreateUnnamed(0o644)
	if err != nil {
		return nil, err
	}
	_, err = f.Write(content)
	if err == nil && !s.o.NoSync {
		err = tree.Datasync(f)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
