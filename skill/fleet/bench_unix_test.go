//go:build unix

package fleet_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"textskill/skill/fleet"
)

// BenchmarkStep measures a step of a run whose model answers at once: 200 of them, in a
// folder with so many files, on a cluster of three servers. Other work on the machine
// changes the figures a lot; the time of one message that is published and waited for is
// measured beside them. To compare two versions, build both with go test -c, and let them
// take turns after sync.
func BenchmarkStep(b *testing.B) {
	const steps = 200
	for _, later := range []bool{false, true} {
		for _, files := range []int{1000, 10000} {
			b.Run(fmt.Sprintf("later=%v/files=%d", later, files), func(b *testing.B) {
				_, servers := newCluster(b, later)
				p := connectCluster(b, 0, servers)
				dir := newFolder(b)
				for i := range files {
					name := filepath.Join(dir, "many", fmt.Sprint(i%100), fmt.Sprint(i))
					os.MkdirAll(filepath.Dir(name), 0o777)
					if err := os.WriteFile(name, fmt.Appendf(nil, "file %d\n", i), 0o666); err != nil {
						b.Fatal(err)
					}
				}
				n := 0
				var step, publish time.Duration
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
					step += last.Time.Sub(first.Time) / (steps - 2)
					publish += publishing(b, p, steps)
				}
				b.ReportMetric(float64(step.Microseconds())/1000/float64(n), "ms/step")
				b.ReportMetric(float64(publish.Microseconds())/1000/float64(n), "ms/publish")
				b.ReportMetric(float64(step)/float64(publish), "publishes/step")
			})
		}
	}
}

// publishing returns how long the mean of n messages takes that are published and waited for.
func publishing(b *testing.B, p fleet.Plane, n int) time.Duration {
	r := fleet.Run{ID: "publish"}
	if old, err := p.Run(b.Context(), r.ID); err == nil {
		r.Revision = old.Revision
	}
	began := time.Now()
	for range n {
		if err := p.Commit(b.Context(), fleet.Batch{Run: &r}); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(began) / time.Duration(n)
}
