package agent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"textskill/skill"
)

// BenchmarkStep times what a step costs without its model: a hundred steps, each
// with a call of a tool, with events and checkpoints recorded. ms/step is
// over all of them, ms/step100 over the last ones, and ms/bare what the disk takes
// for as many files of their size without any of this.
func BenchmarkStep(b *testing.B) {
	for _, sync := range []bool{true, false} {
		b.Run(fmt.Sprintf("sync=%v", sync), func(b *testing.B) {
			b.ReportAllocs()
			var all, late time.Duration
			for b.Loop() {
				x, err := skill.New(skill.Config{Dir: b.TempDir(), NoSync: !sync})
				if err != nil {
					b.Fatal(err)
				}
				cfg := Config{Executor: x, Model: stepper{}, Expert: "e",
					Experts: map[string]Expert{"e": {Instruction: "Do it."}}, MaxSteps: 100}
				start := time.Now()
				var at90 time.Time
				for e, err := range Run(b.Context(), cfg, "go") {
					if err != nil {
						b.Fatal(err)
					}
					if e.Type == StartGeneration && e.StepNumber == 91 {
						at90 = time.Now()
					}
				}
				all += time.Since(start)
				late += time.Since(at90)
				x.Close()
			}
			n := float64(b.N)
			b.ReportMetric(bareFiles(b), "ms/bare")
			b.ReportMetric(all.Seconds()*1000/n/100, "ms/step")
			b.ReportMetric(late.Seconds()*1000/n/10, "ms/step100")
		})
	}
}

// bareFiles returns how many milliseconds it takes to make the files of a step.
func bareFiles(b *testing.B) float64 {
	const steps, files = 100, 6
	dir, content := b.TempDir(), make([]byte, 900)
	start := time.Now()
	for i := range steps * files {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), content, 0o666); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(start).Seconds() * 1000 / steps
}

// stepper is a model that takes no time and always calls a tool.
type stepper struct{}

func (stepper) Next(_ context.Context, r Request) (Answer, error) {
	n := len(r.Messages)
	return Answer{Calls: []Call{{Name: "todo", Arguments: fmt.Sprintf(`{"newTodos":["step %d"]}`, n)}}}, nil
}
