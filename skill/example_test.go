package skill_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"

	"textskill/skill"
)

// A program opens a workspace, changes a file, and takes that back.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	x, err := skill.New(skill.Config{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()

	ctx, s := context.Background(), &skill.Session{}
	for _, op := range []skill.Args{
		skill.WriteFile{Path: "notes/a.txt", Content: "hi", Parents: true},
		skill.ReadFile{Path: "notes/a.txt"},
		skill.Undo{},
		skill.ReadFile{Path: "notes/a.txt"},
		skill.ReadFile{Path: "../a.txt"},
	} {
		r, err := x.Execute(ctx, s, op)
		switch read, isRead := r.(skill.FileRead); {
		case errors.Is(err, skill.ErrOutside):
			fmt.Println("outside the workspace")
		case errors.Is(err, fs.ErrNotExist):
			fmt.Println("there is no such file")
		case err != nil:
			log.Fatal(err)
		case isRead:
			fmt.Printf("%s\n", read.Content)
		}
	}
	// Output:
	// hi
	// there is no such file
	// outside the workspace
}

// A program that runs commands is its own helper: main calls HelperMain first. Without a
// helper, and without Unfenced, commands are refused.
func ExampleHelperMain() {
	skill.HelperMain()

	x, err := skill.New(skill.Config{Dir: os.TempDir(), Helper: "/proc/self/exe"})
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()
	done, err := x.Exec(context.Background(), &skill.Session{},
		skill.Exec{Command: "go", Args: []string{"version"}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("exit code %d, fence: %v\n%s", done.ExitCode, done.Fence, done.Stdout)
}
