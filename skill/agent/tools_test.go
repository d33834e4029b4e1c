package agent_test

import (
	"context"
	"fmt"
	"os"

	"textskill/skill"
	"textskill/skill/agent"
	"textskill/skill/dialect"
)

// buyer is a model that calls one tool, then ends.
type buyer struct{}

func (buyer) Next(_ context.Context, r agent.Request) (agent.Answer, error) {
	switch {
	case r.Tools == nil:
		return agent.Answer{Text: "It costs 6 euros."}, nil
	case len(r.Messages) == 2:
		return agent.Answer{Calls: []agent.Call{{ID: "1", Name: "price", Arguments: `{"count":2}`}}}, nil
	}
	return agent.Answer{Calls: []agent.Call{{ID: "2", Name: "attemptCompletion", Arguments: "{}"}}}, nil
}

// An agent calls a Go function.
func ExampleConfig() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	x, err := skill.New(skill.Config{Dir: dir})
	if err != nil {
		panic(err)
	}
	defer x.Close()
	shop, err := dialect.New("shop", "the tools of a shop",
		dialect.Func("price", "Return the price of some pears.", func(_ context.Context, in struct {
			Count int `json:"count"`
		}) (string, error) {
			return fmt.Sprintf("%d euros", 3*in.Count), nil
		}))
	if err != nil {
		panic(err)
	}
	cfg := agent.Config{
		Executor: x, Tools: shop, Model: buyer{},
		Experts: map[string]agent.Expert{"buyer": {Instruction: "You buy pears."}}, Expert: "buyer",
	}
	for e, err := range agent.Run(context.Background(), cfg, "What are two pears?") {
		switch {
		case err != nil:
			fmt.Println("error:", err)
		case e.ToolResult != nil:
			fmt.Println(e.Type, e.ToolResult.Result[0].Text)
		case e.Text != nil:
			fmt.Println(e.Type, *e.Text)
		}
	}
	// Output:
	// resolveToolResult 6 euros
	// attemptCompletion {}
	// completeRun It costs 6 euros.
}
