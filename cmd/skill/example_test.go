package main

import (
	"os/exec"
	"testing"
)

// A project's own test of its prompts: the golden files below testdata.
func Example() {
	_ = func(t *testing.T) { // TestPrompts
		out, err := exec.Command("go", "run", "textskill/cmd/skill", "test", "testdata").CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
}
