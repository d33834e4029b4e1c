#!/usr/bin/env bash
# Expected: a value that was put with a time to live leaves no value behind when it ends, and watchers hear of it:
# the bucket has LimitMarkerTTL, which writes a marker where the last value of a key expires.
# Found: in a bucket with history, the value before it is back. Get returns the old value under its old revision,
# no marker is written, and a watcher who was told of the new value hears nothing. A key without an older value
# does get the marker, and the watcher a purge.
# Seen: nats-server 2.15.3, nats.go 1.55.0.
# It matters to leases and presence in such buckets: "who holds it" turns back to the holder before the last.
source "$(dirname "$0")/lib/common.sh"

cp "$lib/_nats.go" nats.go
go_program github.com/nats-io/nats-server/v2@v2.15.3 github.com/nats-io/nats.go@v1.55.0 <<'GO'
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func main() {
	ctx := context.Background()
	js := start()
	kv := must(js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
		Bucket: "leases", History: 5, LimitMarkerTTL: time.Second,
	}))
	watched := must(kv.WatchAll(ctx, jetstream.UpdatesOnly()))
	put := func(key, value string) {
		m := nats.NewMsg("$KV.leases." + key)
		m.Data = []byte(value)
		m.Header.Set("Nats-TTL", "1s")
		must(js.PublishMsg(ctx, m))
	}
	put("fresh", "holder 1")
	must(kv.PutString(ctx, "used", "holder 1"))
	put("used", "holder 2")
	for end := time.After(4 * time.Second); ; {
		select {
		case e := <-watched.Updates():
			if e != nil {
				fmt.Println("watched:", e.Key(), e.Operation(), string(e.Value()))
			}
			continue
		case <-end:
		}
		break
	}
	for _, key := range []string{"fresh", "used"} {
		if e, err := kv.Get(ctx, key); err != nil {
			fmt.Println("after:", key, err)
		} else {
			fmt.Println("after:", key, string(e.Value()), "revision", e.Revision())
		}
	}
}
GO
seen "$temp/program" "$temp/store" <<'OUT'
watched: fresh KeyValuePutOp holder 1
watched: used KeyValuePutOp holder 1
watched: used KeyValuePutOp holder 2
watched: fresh KeyValuePurgeOp 
after: fresh nats: key not found
after: used holder 1 revision 2
OUT
