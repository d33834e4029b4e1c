package agent_test

import (
	"context"
	"fmt"
	"os"

	"textskill/skill"
	"textskill/skill/agent"
)

// greeter is a model that knows what it wants: one file, then the end.
type greeter struct{}

func (greeter) Next(_ context.Context, r agent.Request) (agent.Answer, error) {
	switch {
	case r.Tools == nil:
		return agent.Answer{Text: "hello.txt is written."}, nil
	case len(r.Messages) == 2: // the instruction and the query
		return agent.Answer{Calls: []agent.Call{{ID: "1", Name: "writeTextFile",
			Arguments: `{"path":"hello.txt","text":"hello"}`}}}, nil
	}
	return agent.Answer{Calls: []agent.Call{{ID: "2", Name: "attemptCompletion", Arguments: "{}"}}}, nil
}

func ExampleRun() {
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
	cfg := agent.Config{
		Executor: x,
		// or provider.New(provider.Endpoint{Model: "gpt-4o", Key: os.Getenv("OPENAI_API_KEY")})
		Model:   greeter{},
		Experts: map[string]agent.Expert{"greeter": {Instruction: "You write greetings."}},
		Expert:  "greeter",
	}
	for e, err := range agent.Run(context.Background(), cfg, "Say hello") {
		switch {
		case err != nil:
			fmt.Println("error:", err)
		case e.ToolCall != nil:
			fmt.Println(e.StepNumber, e.Type, e.ToolCall.ToolName, string(e.ToolCall.Args))
		case e.Text != nil:
			fmt.Println(e.StepNumber, e.Type, *e.Text)
		default:
			fmt.Println(e.StepNumber, e.Type)
		}
	}
	// Output:
	// 1 startRun
	// 1 startGeneration
	// 1 callTool writeTextFile {"path":"hello.txt","text":"hello"}
	// 1 resolveToolResult
	// 1 finishToolCall
	// 1 continueToNextStep
	// 2 startGeneration
	// 2 callTool attemptCompletion {}
	// 2 attemptCompletion
	// 2 completeRun hello.txt is written.
}
