package process

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// descendants returns the processes that a process and its children have started.
func descendants(pid int) (all []int) {
	all = children(pid)
	for i := 0; i < len(all) && len(all) < 1000; i++ {
		all = append(all, children(all[i])...)
	}
	return all
}

// processorTime returns the time for which processes have run, in ticks of the system.
func processorTime(all []int) (sum int64) {
	for _, pid := range all {
		data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		f := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
		if len(f) < 13 {
			continue
		}
		for _, ticks := range f[11:13] { // in user mode and in the kernel
			var n int64
			fmt.Sscan(string(ticks), &n)
			sum += n
		}
	}
	return sum
}

// readsKeys reports whether a file is a terminal whose keys a program reads one by one.
func readsKeys(f int) bool {
	t, err := unix.IoctlGetTermios(f, unix.TCGETS)
	return err == nil && t.Lflag&unix.ICANON == 0
}

// waits reports whether one of the processes listens at a TCP port or watches files.
func waits(all []int) bool {
	for _, pid := range all {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		var sockets []string
		for _, file := range files {
			name, _ := os.Readlink(file)
			switch {
			case name == "anon_inode:inotify", name == "anon_inode:[fanotify]":
				return true
			case strings.HasPrefix(name, "socket:["):
				sockets = append(sockets, name)
			}
		}
		if len(sockets) > 0 && slices.ContainsFunc(listeners(fmt.Sprintf("/proc/%d/net", pid), ""),
			func(s string) bool { return slices.Contains(sockets, s) }) {
			return true
		}
	}
	return false
}

// listeners returns the TCP sockets that listen in a network whose tables are in the folder, at a port
// in hexadecimal digits, or at any for "". They are named as descriptors in /proc are.
func listeners(folder, port string) (sockets []string) {
	for _, table := range []string{"tcp", "tcp6"} {
		data, _ := os.ReadFile(filepath.Join(folder, table))
		for line := range strings.Lines(string(data)) {
			f := strings.Fields(line)
			if len(f) > 9 && f[3] == "0A" && (port == "" || strings.HasSuffix(f[1], ":"+port)) {
				sockets = append(sockets, "socket:["+f[9]+"]")
			}
		}
	}
	return sockets
}
