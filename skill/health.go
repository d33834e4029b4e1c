package skill

import (
	"os"
	"runtime"
	"time"
)

// Health tells that the program answers, and how it is.
type Health struct{}

func (Health) op() {}

// HealthReport is how the program is. It holds nothing of the environment.
type HealthReport struct {
	Workspace           string        // absolute
	Uptime              time.Duration // since the executor was opened
	HeapUsed, HeapTotal uint64        // bytes that live objects take; bytes had from the system for them
	PID                 int
	Fence               Fence // what would keep a command that is started now
}

// Message names the workspace.
func (h HealthReport) Message() string { return "ready at " + h.Workspace }

func (x *Executor) health() (Result, error) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return HealthReport{
		Workspace: x.Dir(),
		Uptime:    time.Since(x.opened),
		HeapUsed:  m.HeapAlloc,
		HeapTotal: m.HeapSys - m.HeapReleased,
		PID:       os.Getpid(),
		Fence:     x.process.Fence(),
	}, nil
}
