#!/usr/bin/env bash
# Expected: a key made with KeyTTL(1s) ends after a second; LimitMarkerTTL says only how long its marker stays then.
# Found: in a bucket with history, LimitMarkerTTL is also the shortest life of a key: with 5s, the key of one second
# lives for five, and nothing says so. In a bucket that keeps one value per key it ends after a second.
# Seen: nats-server 2.15.3, nats.go 1.55.0.
# It matters to leases: turning on history for a look back makes a lost worker's lease last as long as the marker.
source "$(dirname "$0")/lib/common.sh"

cp "$lib/_nats.go" nats.go
go_program github.com/nats-io/nats-server/v2@v2.15.3 github.com/nats-io/nats.go@v1.55.0 <<'GO'
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

func main() {
	ctx := context.Background()
	history := must(strconv.Atoi(os.Args[2]))
	js := start()
	kv := must(js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
		Bucket: "leases", History: uint8(history), LimitMarkerTTL: 5 * time.Second,
	}))
	must(kv.Create(ctx, "task", []byte("held"), jetstream.KeyTTL(time.Second)))
	begin := time.Now()
	for time.Since(begin) < 30*time.Second {
		if _, err := kv.Get(ctx, "task"); err != nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	long := time.Since(begin) > 4*time.Second
	fmt.Printf("history %d: a TTL of 1s lasts as long as LimitMarkerTTL (5s): %t\n", history, long)
}
GO
all() { "$temp/program" "$temp/store1" 1; "$temp/program" "$temp/store2" 2; }
seen all <<'OUT'
history 1: a TTL of 1s lasts as long as LimitMarkerTTL (5s): false
history 2: a TTL of 1s lasts as long as LimitMarkerTTL (5s): true
OUT
