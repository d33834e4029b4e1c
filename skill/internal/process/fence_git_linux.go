package process

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// A guard holds the stubs of a command.
type guard struct {
	folders []guardedFolder
}

type guardedFolder struct {
	path   string
	fd     int // with a lock on it
	locked bool
	stubs  []fenceRule
}

// lockPatience is how long a helper waits while another one removes its stubs.
const lockPatience = time.Second

// hold makes the stubs of rules, and returns the rules whose files exist then. It fails if a stub can
// neither be made by this user nor, for that reason, by the command.
func (g *guard) hold(rules []fenceRule) (held []fenceRule, err error) {
	for _, r := range rules {
		if r.stub == noStub {
			continue
		}
		f, err := g.folder(filepath.Dir(r.path))
		if err != nil {
			return nil, err
		}
		if f == nil { // it has been replaced
			continue
		}
		switch err := r.stub.make(f.fd, filepath.Base(r.path)); err {
		case nil, unix.EEXIST:
			f.stubs = append(f.stubs, r)
			held = append(held, r)
		case unix.EROFS, unix.EACCES, unix.EPERM: // as for the command
		default:
			return nil, err
		}
	}
	return held, nil
}

// folder returns a folder with a lock, nil if a path leads to none without links.
func (g *guard) folder(path string) (*guardedFolder, error) {
	for i := len(g.folders) - 1; i >= 0; i-- { // mostly among the last
		if g.folders[i].path == path {
			return &g.folders[i], nil
		}
	}
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
		Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err == unix.EMFILE || err == unix.ENFILE || err == unix.ENOMEM {
		return nil, err
	}
	if err != nil {
		return nil, nil
	}
	f := guardedFolder{path: path, fd: fd}
	for wait := patient(lockPatience); ; unix.Poll(nil, 1) {
		err := unix.Flock(fd, unix.LOCK_SH|unix.LOCK_NB)
		if err == unix.EWOULDBLOCK && !wait.over() {
			continue
		}
		if err == unix.EWOULDBLOCK {
			unix.Close(fd)
			return nil, unix.EBUSY
		}
		f.locked = err == nil // or else the file system has no locks, and the stubs stay
		break
	}
	g.folders = append(g.folders, f)
	return &g.folders[len(g.folders)-1], nil
}

// release removes the stubs that no other helper uses.
func (g *guard) release() {
	for i := len(g.folders) - 1; i >= 0; i-- {
		f := g.folders[i]
		if f.locked && unix.Flock(f.fd, unix.LOCK_EX|unix.LOCK_NB) == nil {
			for _, r := range f.stubs {
				r.stub.remove(f.fd, filepath.Base(r.path))
			}
		}
	}
	g.close()
}

// close gives the locks back.
func (g *guard) close() {
	for _, f := range g.folders {
		unix.Close(f.fd)
	}
	g.folders = nil
}

// make makes a stub in a folder, whole from the beginning.
func (s stub) make(dir int, name string) error {
	if s != folderStub {
		return makeFile(dir, name, stubTexts[s])
	}
	if err := unix.Mkdirat(dir, name, 0o777); err != nil {
		return err
	}
	return makeFile(dir, name+"/"+stubMark, stubTexts[textStub])
}

func makeFile(dir int, name string, text []byte) error {
	if unix.Faccessat(dir, name, unix.F_OK, unix.AT_SYMLINK_NOFOLLOW) == nil {
		return unix.EEXIST
	}
	own := ""
	fd, err := unix.Openat(dir, filepath.Dir(name), unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o666)
	if err != nil {
		own = ownName(name)
		fd, err = unix.Openat(dir, own, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o666)
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if n, err := unix.Write(fd, text); err != nil || n < len(text) {
		if own != "" {
			unix.Unlinkat(dir, own, 0)
		}
		if err == nil {
			err = unix.ENOSPC
		}
		return err
	}
	if own != "" {
		if err = unix.Renameat2(dir, own, dir, name, unix.RENAME_NOREPLACE); err != nil {
			unix.Unlinkat(dir, own, 0)
		}
		return err
	}
	return unix.Linkat(unix.AT_FDCWD, fmt.Sprint("/proc/self/fd/", fd), dir, name, unix.AT_SYMLINK_FOLLOW)
}

// ownName returns a name beside another one that nobody else uses. The history skips it.
func ownName(name string) string { return fmt.Sprintf("%s.%x.lock", name, rand.Uint64()) }

// remove removes a file if it is the stub.
func (s stub) remove(dir int, name string) {
	if s == folderStub {
		textStub.remove(dir, name+"/"+stubMark)
		unix.Unlinkat(dir, name, unix.AT_REMOVEDIR) // fails if it holds anything else
		return
	}
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	file := os.NewFile(uintptr(fd), name)
	defer file.Close()
	text := make([]byte, len(stubTexts[s])+1)
	if n, _ := file.Read(text); !bytes.Equal(text[:max(n, 0)], stubTexts[s]) {
		return
	}
	// A person may replace it just now, and that file must stay.
	own := ownName(name)
	if unix.Renameat2(dir, name, dir, own, unix.RENAME_NOREPLACE) != nil {
		return
	}
	var was, is unix.Stat_t
	if unix.Fstat(fd, &was) == nil && unix.Fstatat(dir, own, &is, unix.AT_SYMLINK_NOFOLLOW) == nil &&
		was.Ino == is.Ino {
		unix.Unlinkat(dir, own, 0)
		return
	}
	unix.Renameat2(dir, own, dir, name, unix.RENAME_NOREPLACE)
}
