package fleet_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"textskill/skill/fleet"
	"textskill/skill/fleet/jetstream"
)

// A run is submitted, and waits for a worker.
func ExampleSubmit() {
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
	workspace, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(workspace)
	const experts = "[experts.writer]\ninstruction = \"You write.\"\n"
	if err := os.WriteFile(workspace+"/perstack.toml", []byte(experts), 0o666); err != nil {
		log.Fatal(err)
	}
	s := fleet.Submission{Run: fleet.Run{ID: "r1", Tenant: "us", Expert: "writer", Query: "Write a poem."},
		Dir: workspace}
	run, err := fleet.Submit(ctx, plane, s)
	fmt.Println(run.ID, run.Status, err)
	// Output: r1 waiting <nil>
}
