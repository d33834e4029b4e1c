package audit_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"textskill/skill"
	"textskill/skill/audit"
)

// Log each call of an executor to a file outside of the workspace.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "calls.jsonl")
	calls, err := audit.Open(name)
	if err != nil {
		log.Fatal(err)
	}
	x, err := skill.New(skill.Config{Dir: ".", Called: func(c skill.Call) {
		if err := calls.Add(c); err != nil {
			log.Print(err)
		}
	}})
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()
	// The log now records each tool call of x. A program can also add a line itself:
	if err := calls.Add(skill.Call{Dialect: "own", Tool: "hello"}); err != nil {
		log.Fatal(err)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(strings.Count(string(data), "\n"), "line")
	// Output: 1 line
}
