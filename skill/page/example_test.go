package page_test

import (
	"context"
	"fmt"
	"log"

	"textskill/skill"
	"textskill/skill/agent"
	"textskill/skill/page"
	"textskill/skill/page/runs"
)

// Serve a page about a workspace, and print the link that opens the page.
func ExampleServe() {
	x, err := skill.New(skill.Config{Dir: "."})
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()
	w := page.Workspace{Executor: x}
	c := page.Config{
		Title: x.Dir(), Token: "a token of your own",
		Changes: w.Changes(), Servers: w.Servers(), Runs: runs.Of(agent.Records{Executor: x}, nil),
	}
	err = page.Serve(context.Background(), c, "127.0.0.1:0", func(link string) { fmt.Println(link) })
	if err != nil {
		log.Fatal(err)
	}
}
