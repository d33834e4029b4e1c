package skill

import (
	"os"
	"runtime"
	"time"

	"textskill/skill/internal/process"
)

// Health reports on the running program. It returns a [HealthReport].
type Health struct{}

func (Health) op() {}

// HealthReport is the result of [Health]. It contains nothing of the environment.
type HealthReport struct {
	Workspace           string        // absolute
	Uptime              time.Duration // since the executor was opened
	HeapUsed, HeapTotal uint64        // bytes of heap objects; bytes of heap obtained from the system
	PID                 int
	Fence               Fence // the fence that a command would get now
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

// FenceReport says what commands may use: see [Executor.FenceReport].
type FenceReport = process.FenceReport

// FenceReport returns what commands may read and write, and which variables they do not get.
func (x *Executor) FenceReport() FenceReport { return x.process.FenceReport() }
