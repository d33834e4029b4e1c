package jetstream

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"textskill/skill/fleet"
)

// BenchmarkCommit compares the commit of a step, six events and two states, with one
// message that is published and waited for. It may take three times as long.
func BenchmarkCommit(b *testing.B) {
	for _, later := range []bool{false, true} {
		p := startClusterWith(b, 3, ServerOptions{SyncLater: later}).connect()
		ctx := context.Background()
		text := strings.Repeat("x", 500)
		b.Run(fmt.Sprintf("later=%v/publish", later), func(b *testing.B) {
			m := nats.NewMsg("skill.runs.bench.events")
			m.Data = []byte(text)
			for b.Loop() {
				if _, err := p.publish(ctx, m); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("later=%v/commit", later), func(b *testing.B) {
			id := fmt.Sprint("bench", b.N, later)
			r, w := fleet.Run{ID: id}, fleet.Workspace{Name: id}
			events := make([]fleet.Event, 6)
			for i := range events {
				events[i].Text = text
			}
			old, _ := p.Run(ctx, id)
			files, _ := p.Workspace(ctx, id)
			r.Revision, w.Revision = old.Revision, files.Revision
			for b.Loop() {
				if err := p.Commit(ctx, fleet.Batch{Run: &r, Workspace: &w, Events: events}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCall measures a call and its answer, by two connections.
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
