//go:build !linux && !darwin

package tree

import "syscall"

const nonblock = 0

// mayWrite fails if the file is marked read-only.
func mayWrite(info Info) error {
	if !info.IsDir() && info.Mode.Perm()&0o200 == 0 {
		return syscall.EACCES
	}
	return nil
}
