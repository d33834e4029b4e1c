package jetstream

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"textskill/skill/fleet"
)

// BenchmarkCommit compares the commit of a step, six events and two states, with a single
// acknowledged message: each commit with the messages before and after it. A commit may take
// three times as long.
func BenchmarkCommit(b *testing.B) {
	for _, later := range []bool{false, true} {
		b.Run(fmt.Sprintf("later=%v", later), func(b *testing.B) {
			p := startClusterWith(b, 3, ServerOptions{SyncLater: later}).connect()
			ctx := context.Background()
			text := strings.Repeat("x", 500)
			m := nats.NewMsg("skill.runs.bench.events")
			m.Data = []byte(text)
			r, w := fleet.Run{ID: "bench"}, fleet.Workspace{Name: "bench"}
			events := make([]fleet.Event, 6)
			for i := range events {
				events[i].Text = text
			}
			var publish, commit time.Duration
			for b.Loop() {
				began := time.Now()
				if _, err := p.publish(ctx, m); err != nil {
					b.Fatal(err)
				}
				published := time.Now()
				if err := p.Commit(ctx, fleet.Batch{Run: &r, Workspace: &w, Events: events}); err != nil {
					b.Fatal(err)
				}
				publish += published.Sub(began)
				commit += time.Since(published)
			}
			b.ReportMetric(publish.Seconds()*1000/float64(b.N), "ms/publish")
			b.ReportMetric(commit.Seconds()*1000/float64(b.N), "ms/commit")
			b.ReportMetric(commit.Seconds()/publish.Seconds(), "publishes/commit")
		})
	}
}

// BenchmarkCall measures a call and its answer over two connections.
func BenchmarkCall(b *testing.B) {
	c := startCluster(b, 1)
	p := c.connect()
	stop, err := c.connect().Serve("bench", func(_ context.Context, request []byte) []byte { return request })
	if err != nil {
		b.Fatal(err)
	}
	defer stop()
	request := make([]byte, 1000)
	for b.Loop() {
		if _, err := p.Call(context.Background(), "bench", request); err != nil {
			b.Fatal(err)
		}
	}
}
