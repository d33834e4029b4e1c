package operation

import (
	"os/exec"
	"testing"
)

func BenchmarkExec(b *testing.B) {
	for name, helper := range map[string]string{"helper": self(b), "group": ""} {
		x := newExecutor(b, Config{Helper: helper})
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
