package jetstream_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"textskill/skill/fleet"
	"textskill/skill/fleet/jetstream"
)

// Use a server in this process as the plane of a fleet on one machine.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	server, err := jetstream.StartServer(jetstream.ServerOptions{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Shutdown()
	ctx := context.Background()
	plane, err := jetstream.Connect(ctx, jetstream.Options{Servers: []string{server.URL()}})
	if err != nil {
		log.Fatal(err)
	}
	defer plane.Close()
	runs, err := fleet.Runs(ctx, plane, "tenant")
	fmt.Println(len(runs), err)
	// Output: 0 <nil>
}
