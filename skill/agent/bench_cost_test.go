//go:build unix

package agent_test

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"textskill/skill"
	"textskill/skill/agent"
	"textskill/skill/agent/provider"
)

// An instant is the transport of an endpoint that answers at once: it reads the request
// and calls a tool.
type instant struct {
	body  string // of the written file
	asked int
	sent  int64 // bytes of the last request
}

func (e *instant) RoundTrip(r *http.Request) (*http.Response, error) {
	e.asked++
	e.sent, _ = io.Copy(io.Discard, r.Body)
	r.Body.Close()
	answer := fmt.Sprintf(`{"choices":[{"finish_reason":"tool_calls","message":{"tool_calls":[{"id":"t%d","type":"function","function":{"name":"writeTextFile","arguments":"{\"path\":\"f\",\"text\":\"%s\"}"}}]}}]}`, e.asked, e.body)
	return &http.Response{
		StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(answer)), Request: r,
	}, nil
}

// BenchmarkCost measures steps of a run of 2,000 steps and of 500 KB of conversation or more,
// without the disk: the CPU time of a step around step 100 and around step 2,000. Beside it
// stands the floor: the same loop with an empty body, which asks the same model without a
// conversation and makes the same call, and records nothing. growth is how much more a step
// costs over its floor at step 2,000 than at step 100. Each figure is the median of all runs:
// -benchtime 9x makes nine.
func BenchmarkCost(b *testing.B) {
	const steps, around = 2090, 90 // a window holds several collections of garbage
	for _, size := range []int{0, 100} {
		b.Run(fmt.Sprintf("text=%d", size), func(b *testing.B) {
			endpoint := &instant{body: strings.Repeat("x", size)}
			model, err := provider.New(provider.Endpoint{BaseURL: "http://localhost", Model: "m",
				Transport: endpoint})
			if err != nil {
				b.Fatal(err)
			}
			// A measure takes the steps, and calls at when each begins.
			measure := func(take func(x *skill.Executor, at func(step int))) (early, late float64) {
				x, err := skill.New(skill.Config{Dir: b.TempDir(), NoSync: true})
				if err != nil {
					b.Fatal(err)
				}
				defer x.Close()
				var used [steps + 1]time.Duration
				runtime.GC()
				take(x, func(step int) { used[step] = cpuTime(b) })
				of := func(step int) float64 {
					return (used[step+around] - used[step-around]).Seconds() * 1000 / (2 * around)
				}
				return of(100), of(steps - around)
			}
			figures := map[string][]float64{}
			kilobytes := 0.0
			for b.Loop() {
				floor100, floor2000 := measure(func(x *skill.Executor, at func(int)) {
					for i := range steps + 1 {
						at(i)
						if _, err := model.Next(b.Context(), agent.Request{}); err != nil {
							b.Fatal(err)
						}
						if _, err := x.Execute(b.Context(), &skill.Session{},
							skill.WriteFile{Path: "f", Content: endpoint.body}); err != nil {
							b.Fatal(err)
						}
					}
				})
				step100, step2000 := measure(func(x *skill.Executor, at func(int)) {
					cfg := agent.Config{Executor: x, Model: model, Expert: "e",
						Experts: map[string]agent.Expert{"e": {Instruction: "Do it."}}, MaxSteps: steps}
					for e, err := range agent.Run(b.Context(), cfg, "go") {
						if err != nil {
							b.Fatal(err)
						}
						if e.Type == agent.StartGeneration {
							at(e.StepNumber)
						}
					}
				})
				kilobytes = float64(endpoint.sent) / 1000
				for name, value := range map[string]float64{
					"ms/floor100": floor100, "ms/floor2000": floor2000, "ms/step100": step100,
					"ms/step2000": step2000,
					"growth":      step2000 / floor2000 / (step100 / floor100),
				} {
					figures[name] = append(figures[name], value)
				}
			}
			b.ReportMetric(kilobytes, "KB/request")
			for name, values := range figures {
				slices.Sort(values)
				b.ReportMetric(values[len(values)/2], name)
			}
		})
	}
}

// cpuTime returns what this process has used.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
