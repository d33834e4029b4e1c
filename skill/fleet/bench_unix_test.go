//go:build unix

package fleet_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"textskill/skill"
	"textskill/skill/agent"
	"textskill/skill/fleet"
)

// BenchmarkStep measures 200 steps of a run whose model answers at once, in a folder with many
// files. It alternates between a cluster of three servers and a run without a fleet. The run
// without a fleet waits for the disk, as skill run does. The overhead is the difference.
//
// Other work on the machine changes the figures much, so the benchmark also measures one
// published and acknowledged message. A step creates six files. A new file takes 10 µs on ext4,
// but up to 0.8 ms without a journal for minutes after files were removed: the kernel avoids the
// inodes of removed files, and looks at each.
func BenchmarkStep(b *testing.B) {
	const steps = 200
	for _, later := range []bool{false, true} {
		for _, files := range []int{1000, 10000} {
			b.Run(fmt.Sprintf("later=%v/files=%d", later, files), func(b *testing.B) {
				_, servers := newCluster(b, later)
				p := connectCluster(b, 0, servers)
				dir, local := newFolder(b), newFolder(b)
				for i := range 2 * files {
					name := filepath.Join([]string{dir, local}[i%2], "many", fmt.Sprint(i/2%100),
						fmt.Sprint(i/2))
					os.MkdirAll(filepath.Dir(name), 0o777)
					if err := os.WriteFile(name, fmt.Appendf(nil, "file %d\n", i/2), 0o666); err != nil {
						b.Fatal(err)
					}
				}
				n := 0
				var step, alone, publish time.Duration
				for b.Loop() {
					id := fmt.Sprint("run", n)
					n++
					submit(b, p, id, dir)
					stop := work(b, role{Name: fmt.Sprint("w", n), Root: b.TempDir(), Slots: 1,
						Steps: steps}.config(p, func(string) {}))
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
					step += last.Time.Sub(first.Time) / (steps - 1)
					alone += stepAlone(b, local, steps)
					publish += publishing(b, p, steps)
				}
				ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 / float64(n) }
				b.ReportMetric(ms(step), "ms/step")
				b.ReportMetric(ms(alone), "ms/step-alone")
				b.ReportMetric(ms(step-alone), "ms/overhead")
				b.ReportMetric(ms(publish), "ms/publish")
				b.ReportMetric(float64(step-alone)/float64(publish), "publishes/overhead")
			})
		}
	}
}

// stepAlone returns the time of a step without a fleet.
func stepAlone(b *testing.B, dir string, steps int) time.Duration {
	if err := os.WriteFile(filepath.Join(dir, "log"), nil, 0o666); err != nil {
		b.Fatal(err)
	}
	x, err := skill.New(skill.Config{Dir: dir, State: b.TempDir(), Unfenced: true})
	if err != nil {
		b.Fatal(err)
	}
	defer x.Close()
	cfg := agent.Config{Executor: x, Model: appending{steps: steps}, Expert: "e",
		Experts: map[string]agent.Expert{"e": {Instruction: "Count."}}}
	var first, last time.Time
	for e, err := range agent.Run(b.Context(), cfg, "go") {
		switch {
		case err != nil:
			b.Fatal(err)
		case e.StepNumber == 2 && first.IsZero():
			first = time.Now()
		case e.StepNumber == steps:
			last = time.Now()
		}
	}
	return last.Sub(first) / time.Duration(steps-1)
}

// publishing returns the mean time of n published and acknowledged messages.
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

// BenchmarkMemory measures the heap of a worker for each run that it holds, after a number of
// steps. The heap has the conversation of the run, and the index of its files.
func BenchmarkMemory(b *testing.B) {
	for _, size := range []struct{ runs, steps int }{{20, 100}, {2, 2000}} {
		b.Run(fmt.Sprintf("runs=%d/steps=%d", size.runs, size.steps), func(b *testing.B) {
			var held int64
			n := 0
			for b.Loop() {
				n++
				_, servers := newCluster(b, true)
				p := connectCluster(b, 0, servers)
				dir := newFolder(b)
				there := make(chan bool)
				cfg := role{Name: fmt.Sprint("w", n), Root: b.TempDir(), Slots: size.runs}.config(p,
					func(string) {})
				cfg.Model = func(cfg *agent.Config, _ agent.Project) error {
					cfg.Model = stopping{appending{steps: size.steps + 1}, 2 * size.steps, there}
					return nil
				}
				before := heap()
				stop := work(b, cfg)
				for i := range size.runs {
					submit(b, p, fmt.Sprint("run", i), dir)
				}
				for range size.runs {
					<-there
				}
				held += heap() - before
				for i := range size.runs {
					p.Cancel(b.Context(), fmt.Sprint("run", i))
				}
				stop()
				p.Close()
			}
			b.ReportMetric(float64(held)/1000/float64(n*size.runs), "kB/run")
		})
	}
}

// heap returns how many bytes are in use.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // twice: the second one clears sync.Pool
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// stopping is a model that does not answer long conversations.
type stopping struct {
	appending
	messages int
	there    chan bool
}

func (m stopping) Next(ctx context.Context, r agent.Request) (agent.Answer, error) {
	if len(r.Messages) >= m.messages {
		m.there <- true
		<-ctx.Done()
		return agent.Answer{}, ctx.Err()
	}
	return m.appending.Next(ctx, r)
}
