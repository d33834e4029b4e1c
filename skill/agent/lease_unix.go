//go:build unix && !aix && !solaris

package agent

import (
	"errors"
	"os"
	"syscall"
)

// tryLock locks a file for this process alone, or with others that share it, until it is
// closed. It reports false if another process has the lock. The error is
// [errors.ErrUnsupported] if the system or the file system has no locks.
func tryLock(file *os.File, shared bool) (bool, error) {
	how := syscall.LOCK_EX
	if shared {
		how = syscall.LOCK_SH
	}
	for {
		switch err := syscall.Flock(int(file.Fd()), how|syscall.LOCK_NB); err {
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
