#!/usr/bin/env bash
# Expected: after the filter of a JetStream consumer is changed, it delivers only messages that the new filter matches.
# Found: messages that were delivered before and wait for their ack are delivered again, although the new filter does
# not match them. Only messages that nobody has fetched yet are left alone.
# Seen: nats-server 2.15.3, nats.go 1.55.0.
# It matters to a fleet that moves a worker to other subjects: for one AckWait it still gets tasks of its old ones.
source "$(dirname "$0")/lib/common.sh"

cp "$lib/_nats.go" nats.go
go_program github.com/nats-io/nats-server/v2@v2.15.3 github.com/nats-io/nats.go@v1.55.0 <<'GO'
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

func main() {
	ctx := context.Background()
	js := start()
	must(js.CreateStream(ctx, jetstream.StreamConfig{
		Name: "TASKS", Subjects: []string{"tasks.*"}, Retention: jetstream.WorkQueuePolicy,
	}))
	config := jetstream.ConsumerConfig{
		Durable: "worker", FilterSubject: "tasks.old", AckWait: time.Second, AckPolicy: jetstream.AckExplicitPolicy,
	}
	worker := must(js.CreateConsumer(ctx, "TASKS", config))
	for _, task := range []string{"old fetched", "old waiting"} {
		must(js.Publish(ctx, "tasks.old", []byte(task)))
	}
	must(js.Publish(ctx, "tasks.new", []byte("new")))
	fetch := func(n int, ack bool) {
		for m := range must(worker.Fetch(n, jetstream.FetchMaxWait(3*time.Second))).Messages() {
			fmt.Println("  ", m.Subject(), string(m.Data()))
			if ack && m.Ack() != nil {
				panic("no ack")
			}
		}
	}
	fmt.Println("filter tasks.old:")
	fetch(1, false)
	config.FilterSubject = "tasks.new"
	worker = must(js.UpdateConsumer(ctx, "TASKS", config))
	fmt.Println("filter", worker.CachedInfo().Config.FilterSubject+":")
	fetch(3, true)
}
GO
seen "$temp/program" "$temp/store" <<'OUT'
filter tasks.old:
   tasks.old old fetched
filter tasks.new:
   tasks.new new
   tasks.old old fetched
OUT
