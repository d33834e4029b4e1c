package process

import "runtime"

// A limit is a part of the fence that some systems cannot enforce.
type limit struct {
	system  string // the systems that lack it
	missing string // the missing part
	refused bool   // [FenceRequire] runs no command then
	applies func(f Fence, filtered bool) bool
}

// limits are the limits of all systems. SECURITY.md holds the same table.
var limits = []limit{
	{"Linux before 5.13, or without Landlock", "files are not protected from commands", true,
		func(f Fence, _ bool) bool { return runtime.GOOS == "linux" && f.ABI == 0 }},
	{"Linux before 6.7, no network namespaces", "TCP is not limited", true,
		func(f Fence, _ bool) bool { return f.ABI > 0 && f.ABI < abiTCP && !f.Alone }},
	{"Linux before 6.12, no namespaces", "abstract sockets and signals are not limited", false,
		func(f Fence, _ bool) bool { return f.ABI > 0 && f.ABI < abiSignals && !f.Alone && !f.Processes }},
	{"containers without user namespaces", "no own mounts: commands see which files exist, change modes, " +
		"times and attributes of the user's files, connect to any Unix socket, make no terminals", false,
		func(f Fence, _ bool) bool { return f.ABI > 0 && f.ABI < abiNamedSockets && !f.Sockets }},
	{"containers that hide parts of `/proc`", "no process namespace: commands see all processes", false,
		func(f Fence, _ bool) bool { return f.ABI > 0 && !f.Processes }},
	{"processors other than amd64 and arm64", "no filter of system calls", true,
		func(f Fence, filtered bool) bool { return f.ABI > 0 && !filtered }},
	{"macOS", "no sandbox; `skill` ends the process group of a command", true,
		func(Fence, bool) bool { return runtime.GOOS == "darwin" }},
	{"Windows", "no sandbox; `skill` ends only the command; no promise after a power failure", true,
		func(Fence, bool) bool { return runtime.GOOS == "windows" }},
}

// limitsOf returns the limits of this system that a command with the fence f would meet.
func limitsOf(f Fence) (list []limit) {
	for _, l := range limits {
		if l.applies(f, canFilter()) {
			list = append(list, l)
		}
	}
	return list
}

// refusedFor returns the first limit of f for which [FenceRequire] runs no command, nil if f is all that it demands.
func refusedFor(f Fence) *limit {
	for _, l := range limitsOf(f) {
		if l.refused {
			return &l
		}
	}
	return nil
}

func (l limit) String() string { return l.missing + " (" + l.system + ")" }
