package main

import (
	"os"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// start starts a server whose files lie in the folder that the first argument names, and connects to it.
func start() jetstream.JetStream {
	s := must(server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: os.Args[1], NoLog: true, NoSigs: true,
	}))
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		panic("not ready")
	}
	return must(jetstream.New(must(nats.Connect(s.ClientURL()))))
}
