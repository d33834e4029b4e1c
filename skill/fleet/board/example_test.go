package board_test

import (
	"context"
	"fmt"
	"log"

	"textskill/skill/fleet/board"
	"textskill/skill/fleet/jetstream"
	"textskill/skill/page"
)

// Serve a page with the runs of all tenants of a fleet.
func ExampleOf() {
	ctx := context.Background()
	plane, err := jetstream.Connect(ctx, jetstream.Options{Servers: []string{"nats://127.0.0.1:4222"}})
	if err != nil {
		log.Fatal(err)
	}
	defer plane.Close()
	runs := board.Of(plane, "")
	defer runs.Close()
	c := page.Config{Title: "the fleet", Token: "a token of your own", ReadOnly: true, Runs: runs}
	if err := page.Serve(ctx, c, "127.0.0.1:0", func(link string) { fmt.Println(link) }); err != nil {
		log.Fatal(err)
	}
}
