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

// Each call of an executor becomes a line of a file outside the workspace.
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
	// From now on the log records each call that a dialect carries out with x. A program may add lines:
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
