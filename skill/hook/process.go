package hook

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A Process is a process of the system.
type Process struct {
	name, start string // start is the time as the system gives it
	pid         int
	terminal    string
}

// String returns what tells the process apart from later ones with the same ID.
func (p Process) String() string { return fmt.Sprintf("%d %s", p.pid, p.start) }

// Ancestors returns the processes above this one, the parent first. It returns nothing where there is no /proc.
func Ancestors() (list []Process) {
	for pid := os.Getppid(); pid > 0 && len(list) < 64; {
		data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
		open, closing := strings.IndexByte(string(data), '('), strings.LastIndexByte(string(data), ')')
		if err != nil || open < 0 || closing < open {
			break
		}
		fields := strings.Fields(string(data[closing+1:])) // from the third on: see proc(5)
		if len(fields) < 20 {
			break
		}
		a := Process{name: string(data[open+1 : closing]), start: fields[19], pid: pid}
		if fields[4] != "0" {
			a.terminal = fields[4]
		}
		list = append(list, a)
		pid, err = strconv.Atoi(fields[1])
		if err != nil {
			break
		}
	}
	return list
}

// starters are programs through which hosts start a hook.
var starters = []string{"sh", "ash", "bash", "dash", "fish", "ksh", "mksh", "zsh", "busybox", "env", "timeout", "nice",
	"nohup", "setsid", "stdbuf", "skill"}

// From sets the process and the terminal of the host: the nearest process above the hook that is not a starter.
func (e *Event) From(above []Process) {
	i := slices.IndexFunc(above, func(p Process) bool { return !slices.Contains(starters, p.name) })
	if i >= 0 {
		e.Process, e.Terminal = above[i].String(), above[i].terminal
	}
}
