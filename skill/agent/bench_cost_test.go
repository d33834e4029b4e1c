package agent_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
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
		StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(answer)), Request: r,
	}, nil
}

// BenchmarkCost times steps of a run of 2,000 steps and of 500 KB of conversation or more,
// without the disk: what a step costs around step 100 and around the last, and the ratio.
// Beside it stands the floor: the same loop with an empty body, which asks the same model
// without a conversation and makes the same call, and records nothing.
func BenchmarkCost(b *testing.B) {
	const steps, around = 2000, 50
	for _, size := range []int{0, 100} {
		b.Run(fmt.Sprintf("text=%d", size), func(b *testing.B) {
			var at [steps + 1]time.Time
			var early, late time.Duration
			endpoint := &instant{body: strings.Repeat("x", size)}
			for b.Loop() {
				x, err := skill.New(skill.Config{Dir: b.TempDir(), NoSync: true})
				if err != nil {
					b.Fatal(err)
				}
				model, err := provider.New(provider.Endpoint{BaseURL: "http://localhost", Model: "m", Transport: endpoint})
				if err != nil {
					b.Fatal(err)
				}
				cfg := agent.Config{Executor: x, Model: model, Expert: "e", Experts: map[string]agent.Expert{"e": {Instruction: "Do it."}}, MaxSteps: steps}
				for e, err := range agent.Run(b.Context(), cfg, "go") {
					if err != nil {
						b.Fatal(err)
					}
					if e.Type == agent.StartGeneration {
						at[e.StepNumber] = time.Now()
					}
				}
				early += at[100+around].Sub(at[100-around])
				late += at[steps].Sub(at[steps-2*around])
				x.Close()
			}
			kilobytes := float64(endpoint.sent) / 1000
			floorEarly, floorLate := floor(b, endpoint, steps, around)
			b.ReportMetric(kilobytes, "KB/request")
			b.ReportMetric(floorEarly.Seconds()*1000/2/around, "ms/floor100")
			b.ReportMetric(floorLate.Seconds()*1000/2/around, "ms/floor2000")
			b.ReportMetric(early.Seconds()*1000/2/around/float64(b.N), "ms/step100")
			b.ReportMetric(late.Seconds()*1000/2/around/float64(b.N), "ms/step2000")
			b.ReportMetric(float64(late)/float64(early), "ratio")
		})
	}
}

// floor takes the steps of BenchmarkCost without a run.
func floor(b *testing.B, endpoint *instant, steps, around int) (early, late time.Duration) {
	x, err := skill.New(skill.Config{Dir: b.TempDir(), NoSync: true})
	if err != nil {
		b.Fatal(err)
	}
	defer x.Close()
	model, err := provider.New(provider.Endpoint{BaseURL: "http://localhost", Model: "m", Transport: endpoint})
	if err != nil {
		b.Fatal(err)
	}
	at := make([]time.Time, steps+1)
	for i := range at {
		at[i] = time.Now()
		if _, err := model.Next(b.Context(), agent.Request{}); err != nil {
			b.Fatal(err)
		}
		if _, err := x.Execute(b.Context(), &skill.Session{}, skill.WriteFile{Path: "f", Content: endpoint.body}); err != nil {
			b.Fatal(err)
		}
	}
	return at[100+around].Sub(at[100-around]), at[steps].Sub(at[steps-2*around])
}
