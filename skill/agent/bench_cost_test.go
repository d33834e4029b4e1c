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
			b.ReportMetric(float64(endpoint.sent)/1000, "KB/request")
			b.ReportMetric(early.Seconds()*1000/2/around/float64(b.N), "ms/step100")
			b.ReportMetric(late.Seconds()*1000/2/around/float64(b.N), "ms/step2000")
			b.ReportMetric(float64(late)/float64(early), "ratio")
		})
	}
}
