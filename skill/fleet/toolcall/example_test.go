package toolcall_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"textskill/skill/fleet/jetstream"
	"textskill/skill/fleet/toolcall"
)

// Read a file of a workspace, on the machine that holds the workspace.
func ExampleCall() {
	ctx := context.Background()
	plane, err := jetstream.Connect(ctx, jetstream.Options{Servers: []string{"nats://127.0.0.1:4222"}})
	if err != nil {
		log.Fatal(err)
	}
	defer plane.Close()
	relay := toolcall.Relay(plane, "the-workspace", nil)
	a, err := toolcall.Call(ctx, relay, "readTextFile", json.RawMessage(`{"path":"a.txt"}`))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(a.Text)
}
