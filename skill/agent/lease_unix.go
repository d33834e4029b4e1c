//go:build unix && !aix && !solaris

package agent

import (
	"errors"
	"os"
	"syscall"
)

// tryLock locks a file for this process alone, until it is closed. It reports false if
// another process has the lock. The error is [errors.ErrUnsupported] if the system or
// the file system has no locks.
func tryLock(file *os.File) (bool, error) {
	for {
		switch err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err {
		case nil:
			return true, nil
		case syscall.EINTR:
		case syscall.EWOULDBLOCK:
			return false, nil
		case syscall.ENOSYS, syscall.ENOLCK, syscall.ENOTSUP:
			return false, errors.ErrUnsupported
		default:
			return false, os.NewSyscallError("flock", err)
		}
	}
}
