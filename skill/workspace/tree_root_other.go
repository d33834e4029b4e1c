//go:build !unix

package workspace

import (
	"os"
	"syscall"
)

const nonblock, nofollow, directory = 0, 0, 0

// mayWrite fails where the file is marked read-only.
func mayWrite(_ *os.Root, _ string, info Info) error {
	if !info.IsDir() && info.Mode.Perm()&0o200 == 0 {
		return syscall.EACCES
	}
	return nil
}
