package process

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// pipeName returns the name of a pipe in /proc, "" if unknown.
func pipeName(f *os.File) string {
	name, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	return name
}

// endWriters kills the processes that can write to one of the pipes. It is for commands
// whose helper was killed where this process adopts no orphans: their output pipes are then
// the only trace of what they started.
func endWriters(pipes []string) {
	for range 3 { // catches processes that are starting meanwhile
		files, _ := filepath.Glob("/proc/[0-9]*/fd/*")
		for _, file := range files {
			name, err := os.Readlink(file)
			if err != nil || !slices.Contains(pipes, name) || !opensToWrite(file) {
				continue
			}
			if pid, err := strconv.Atoi(strings.Split(file, "/")[2]); err == nil && pid != os.Getpid() {
				unix.Kill(pid, unix.SIGKILL)
			}
		}
	}
}

// opensToWrite reports whether /proc/PID/fd/N is open for writing, which the mode of that link says.
func opensToWrite(file string) bool {
	info, err := os.Lstat(file)
	return err == nil && info.Mode().Perm()&0o200 != 0
}
