//go:build unix

package parser_test

import (
	"syscall"
	"time"
)

// cpuTime is how long this process has worked, which does not grow while others do.
func cpuTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
