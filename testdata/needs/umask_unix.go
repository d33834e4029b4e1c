//go:build unix

package needs

import "syscall"

func umask() { syscall.Umask(0o022) }
