package process

import (
	"fmt"
	"iter"
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
		for pid, file := range openFiles(pipes) {
			if pid != os.Getpid() && opensToWrite(file) {
				unix.Kill(pid, unix.SIGKILL)
			}
		}
	}
}

// openFiles yields the processes that have one of the pipes or sockets open, and the names of the
// descriptors in /proc.
func openFiles(names []string) iter.Seq2[int, string] {
	return func(yield func(pid int, file string) bool) {
		files, _ := filepath.Glob("/proc/[0-9]*/fd/*")
		for _, file := range files {
			name, err := os.Readlink(file)
			if err != nil || !slices.Contains(names, name) {
				continue
			}
			if pid, err := strconv.Atoi(strings.Split(file, "/")[2]); err == nil && !yield(pid, file) {
				return
			}
		}
	}
}

// opensToWrite reports whether /proc/PID/fd/N is open for writing, which the mode of that link says.
func opensToWrite(file string) bool {
	info, err := os.Lstat(file)
	return err == nil && info.Mode().Perm()&0o200 != 0
}
