// Command manifests checks the files that a fleet is deployed with: against the schema of
// Compose and the types of Kubernetes, and what neither knows, such as that labels are
// selected, that NATS keeps what it has accepted, and that skill-fleet has each flag.
// usage: manifests SKILL-FLEET compose.yaml kubernetes.yaml
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: manifests SKILL-FLEET compose.yaml kubernetes.yaml")
		os.Exit(2)
	}
	status := 0
	for i, check := range []func(context.Context, []byte, program) []error{compose, kubernetes} {
		file := os.Args[i+2]
		data, err := os.ReadFile(file)
		problems := []error{err}
		if err == nil {
			problems = check(context.Background(), data, installed(os.Args[1]))
		}
		for _, err := range problems {
			fmt.Fprintf(os.Stderr, "%s: %v\n", file, err)
			status = 1
		}
	}
	os.Exit(status)
}

// A program says why it would not take a command line, nil if it would.
type program func(args []string) error

// installed is a program that is there: with --help it reads a command line and does nothing.
func installed(path string) program {
	return func(args []string) error {
		if out, err := exec.Command(path, append(args, "--help")...).CombinedOutput(); err != nil {
			return fmt.Errorf("skill-fleet %q: %s", args, out)
		}
		return nil
	}
}
