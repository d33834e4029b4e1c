package runs_test

import (
	"log"

	"textskill/skill"
	"textskill/skill/agent"
	"textskill/skill/page"
	"textskill/skill/page/runs"
)

// Show the recorded runs of a workspace, with their costs at list prices.
func ExampleOf() {
	x, err := skill.New(skill.Config{Dir: "."})
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()
	prices, err := agent.ReadPrices(nil)
	if err != nil {
		log.Fatal(err)
	}
	c := page.Config{Title: x.Dir(), Token: "a token", Runs: runs.Of(agent.Records{Executor: x}, prices)}
	_ = c // for page.Serve
}
