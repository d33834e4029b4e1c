//go:build unix

package tree

import (
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// lockTemp makes the file beside a folder of temporary files, with a lock. On a file system without locks it makes
// none.
func lockTemp(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	switch err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err {
	case nil:
		if _, err = f.WriteString(lockText); err == nil && !isAt(f, name) { // another process has swept it
			err = os.ErrExist
		}
		if err == nil {
			return f, nil
		}
	case unix.EWOULDBLOCK:
		err = os.ErrExist
	default:
		err = nil
	}
	os.Remove(name)
	f.Close()
	return nil, err
}

// isAt reports whether a file still has its name.
func isAt(f *os.File, name string) bool {
	was, err := f.Stat()
	is, ierr := os.Lstat(name)
	return err == nil && ierr == nil && os.SameFile(was, is)
}

// sweepTemp removes a folder of temporary files, and the file beside it, if its process has ended.
func sweepTemp(path string) {
	f, err := os.OpenFile(path+lockSuffix, os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if !isOwn(f.Stat()) || unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return
	}
	text, err := io.ReadAll(io.LimitReader(f, int64(len(lockText)+1)))
	info, missing := os.Lstat(path)
	switch {
	case err != nil || string(text) != lockText && len(text) > 0:
	case missing != nil: // its process was killed before it made the folder, or after it removed that
		os.Remove(path + lockSuffix)
	case len(text) > 0 && info.IsDir() && isOwn(info, nil):
		RemoveTemp(path)
	}
}

// isOwn reports whether a file belongs to this user.
func isOwn(info os.FileInfo, err error) bool {
	return err == nil && info.Sys().(*syscall.Stat_t).Uid == uint32(os.Geteuid())
}
