package skill

import (
	"os/exec"
	"testing"
)

func BenchmarkExec(b *testing.B) {
	for name, cfg := range map[string]Config{"fence": {Helper: self(b)},
		"ready": {Helper: self(b), KeepHelper: true}, "ready-nofence": {Helper: self(b), KeepHelper: true,
			Fence: FenceOff}, "helper": {Helper: self(b), Fence: FenceOff}, "group": {}} {
		x := newExecutor(b, cfg)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				mustExec(b, x, Exec{Command: "/bin/true"})
			}
		})
	}
	b.Run("os-exec", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := exec.Command("/bin/true").Output(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
