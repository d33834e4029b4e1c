package skill

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// pipeName returns what /proc calls a pipe, "" if it cannot be told.
func pipeName(f *os.File) string {
	name, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	return name
}

// endWriters kills the processes that can write to one of the pipes. It serves
// where the helper was killed, and nobody knows any more whom the command started.
func endWriters(pipes []string) {
	for range 3 { // those too that were being started
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

// opensToWrite tells whether /proc/PID/fd/N is open for writing.
func opensToWrite(file string) bool {
	dir, n := filepath.Split(file)
	info, err := os.Open(filepath.Join(filepath.Dir(filepath.Clean(dir)), "fdinfo", n))
	if err != nil {
		return false
	}
	defer info.Close()
	for lines := bufio.NewScanner(info); lines.Scan(); {
		if flags, ok := strings.CutPrefix(lines.Text(), "flags:"); ok {
			bits, err := strconv.ParseUint(strings.TrimSpace(flags), 8, 64)
			return err == nil && bits&unix.O_ACCMODE != unix.O_RDONLY
		}
	}
	return false
}
