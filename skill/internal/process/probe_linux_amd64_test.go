package process

import "golang.org/x/sys/unix"

// legacyModeCalls are calls with a mode that later architectures lack.
var legacyModeCalls = map[string]uintptr{"open(2)": unix.SYS_OPEN, "creat(2)": unix.SYS_CREAT,
	"chmod(2)": unix.SYS_CHMOD, "mknod(2)": unix.SYS_MKNOD}
