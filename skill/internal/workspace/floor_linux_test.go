package workspace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// A floor replaces files with the guarantee of a durable change, and with nothing else: no
// confinement, no locks against other processes, no sums. The old content and a record are
// on the disk before a change is reported, and a crash leaves either content.
type floor struct {
	images, log *os.File
	flush       chan struct{} // holds a value during a flush

	mu   sync.Mutex
	id   int
	next *floorBatch
}

type floorBatch struct {
	folders map[*os.File]bool
	done    chan struct{}
	err     error
}

func newFloor(b *testing.B, dir string) *floor {
	f := &floor{flush: make(chan struct{}, 1), next: newFloorBatch()}
	if err := os.Mkdir(filepath.Join(dir, "images"), 0o700); err != nil {
		b.Fatal(err)
	}
	f.images = openForFloor(b, filepath.Join(dir, "images"), os.O_RDONLY)
	f.log = openForFloor(b, filepath.Join(dir, "log"), os.O_RDWR|os.O_CREATE)
	f.log.Write(make([]byte, 64<<20)) // room for the records
	f.log.Sync()
	return f
}

func newFloorBatch() *floorBatch {
	return &floorBatch{folders: map[*os.File]bool{}, done: make(chan struct{})}
}

func openForFloor(b *testing.B, name string, flag int) *os.File {
	f, err := os.OpenFile(name, flag, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { f.Close() })
	return f
}

// write replaces the file name in dir.
func (f *floor) write(dir *os.File, name string, data []byte) error {
	fd, err := unix.Openat(int(dir.Fd()), ".", unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if _, err := unix.Write(fd, data); err != nil {
		return err
	}
	if err := unix.Fdatasync(fd); err != nil {
		return err
	}
	record := fmt.Appendf(nil, "%-511s\n", name)
	f.mu.Lock()
	f.id++
	id := f.id
	_, err = f.log.WriteAt(record, int64(id)*512)
	f.mu.Unlock()
	image, images := strconv.Itoa(id), int(f.images.Fd())
	err = errors.Join(err, unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), images, image,
		unix.AT_SYMLINK_FOLLOW))
	if err = errors.Join(err, unix.Renameat2(images, image, int(dir.Fd()), name, unix.RENAME_EXCHANGE)); err != nil {
		return err
	}
	return f.settle(dir)
}

// settle flushes the log, the folders and the images, for all that wait.
func (f *floor) settle(dir *os.File) error {
	f.mu.Lock()
	b := f.next
	b.folders[dir] = true
	f.mu.Unlock()
	select {
	case <-b.done:
		return b.err
	case f.flush <- struct{}{}:
	}
	defer func() { <-f.flush }()
	f.mu.Lock()
	first := f.next == b
	if first {
		f.next = newFloorBatch()
	}
	f.mu.Unlock()
	if !first {
		return b.err
	}
	b.err = unix.Fdatasync(int(f.log.Fd()))
	for d := range b.folders {
		b.err = errors.Join(b.err, d.Sync())
	}
	b.err = errors.Join(b.err, f.images.Sync())
	close(b.done)
	return b.err
}

// BenchmarkFloor compares durable changes with a floor, and those without flushes with
// [os.WriteFile], which keeps nothing: one at a time and eight, in one folder and in eight.
func BenchmarkFloor(b *testing.B) {
	data := []byte(strings.Repeat("x", 4096))
	for _, noSync := range []bool{false, true} {
		for _, at := range []struct{ flight, folders int }{{1, 1}, {8, 1}, {8, 8}} {
			b.Run(fmt.Sprintf("%s/%d in %d folders",
				map[bool]string{true: "nosync", false: "durable"}[noSync], at.flight, at.folders),
				func(b *testing.B) {
					s := newSite(b, false)
					w, f := s.open(Options{NoSync: noSync}), newFloor(b, s.base)
					var names, bare []string
					var dirs []*os.File
					for i := range at.flight {
						dir := strconv.Itoa(i % at.folders)
						s.layout(dir+"/f"+strconv.Itoa(i), dir+"/g"+strconv.Itoa(i))
						names, bare = append(names, s.p(dir+"/f"+strconv.Itoa(i))),
							append(bare, s.p(dir+"/g"+strconv.Itoa(i)))
						dirs = append(dirs, openForFloor(b, s.p(dir), os.O_RDONLY))
					}
					reference := func(i int) error { return f.write(dirs[i], filepath.Base(bare[i]), data) }
					if noSync {
						reference = func(i int) error { return os.WriteFile(bare[i], data, 0o644) }
					}
					versus(b, 20, inFlight(at.flight, reference), inFlight(at.flight, func(i int) error {
						return failed(w.WriteFile(bg, names[i], data, WriteOptions{}))
					}))
				})
		}
	}
}

// inFlight returns a function that calls run n times at once.
func inFlight(n int, run func(i int) error) func() error {
	return func() error {
		errs := make([]error, n)
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() { errs[i] = run(i) })
		}
		all.Wait()
		return errors.Join(errs...)
	}
}
