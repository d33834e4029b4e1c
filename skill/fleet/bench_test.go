package fleet_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"textskill/skill/fleet"
)

// BenchmarkStep measures a step of a run whose model answers at once: 200 of them, in a
// folder with so many files.
func BenchmarkStep(b *testing.B) {
	const steps = 200
	for _, files := range []int{1000, 10000} {
		b.Run(fmt.Sprintf("files=%d", files), func(b *testing.B) {
			p := connect(b, 0, newServer(b))
			dir := newFolder(b)
			for i := range files {
				name := filepath.Join(dir, "many", fmt.Sprint(i%100), fmt.Sprint(i))
				os.MkdirAll(filepath.Dir(name), 0o777)
				if err := os.WriteFile(name, fmt.Appendf(nil, "file %d\n", i), 0o666); err != nil {
					b.Fatal(err)
				}
			}
			n := 0
			for b.Loop() {
				id := fmt.Sprint("run", n)
				n++
				submit(b, p, id, dir)
				stop := work(b, role{Name: fmt.Sprint("w", n), Root: b.TempDir(), Slots: 1, Steps: steps}.config(p, func(string) {}))
				var first, last fleet.Event
				for _, e := range follow(b, p, id) {
					switch {
					case e.Kind == fleet.Agent && e.Step == 2 && first.Step == 0:
						first = e
					case e.Kind == fleet.Agent && e.Step == steps:
						last = e
					}
				}
				stop()
				b.ReportMetric(float64(last.Time.Sub(first.Time).Microseconds())/float64(steps-2)/1000, "ms/step")
			}
		})
	}
}
