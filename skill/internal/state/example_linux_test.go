package state_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"textskill/skill/internal/state"
	"textskill/skill/internal/workspace/tree"
)

// A file is replaced, and found in the history.
func Example() {
	ctx := context.Background()
	base, err := os.MkdirTemp("", "example-")
	check(err)
	defer os.RemoveAll(base)
	root := filepath.Join(base, "workspace")
	check(os.Mkdir(root, 0o755))
	check(os.WriteFile(filepath.Join(root, "a.txt"), []byte("old"), 0o644))

	s, err := state.Open(state.Options{Root: root, Dir: filepath.Join(base, "state")})
	check(err)
	defer s.Close()
	folders, err := tree.Open(root, false)
	check(err)
	defer folders.Close()
	dir, err := folders.OpenFolder(".")
	check(err)
	defer dir.Close()

	// a. The new file is finished before anything is locked.
	file, err := dir.CreateUnnamed(0o644)
	check(err)
	defer file.Close()
	_, err = file.WriteString("new")
	check(err)
	check(tree.Datasync(file))

	lock, err := s.Lock(ctx, false)
	check(err)
	defer lock.Release()
	check(lock.Folders(ctx, dir.ID()))

	// b. The record. A real one has the sums of both contents.
	record := state.Record{Kind: "write", Bytes: 3, Steps: []state.Step{{
		Path:   "a.txt",
		Before: state.State{Kind: "file", Size: 3},
		After:  state.State{Kind: "file", Size: 3},
		Keep:   true,
	}}}
	change, err := s.Add(ctx, &record)
	check(err)
	defer change.Close()

	// c. The change.
	check(change.Exchange(0, file, dir, "a.txt"))
	lock.Release()

	// d. It is durable.
	check(change.Flush(dir))

	// e. The answer.
	for entry, err := range s.Newest(ctx, 0) {
		check(err)
		images, err := s.OpenImages(entry.ID)
		check(err)
		defer images.Close()
		image, err := images.Open(entry.Record().Steps[0].Image, os.O_RDONLY)
		check(err)
		defer image.Close()
		old := make([]byte, 3)
		_, err = image.Read(old)
		check(err)
		now, err := os.ReadFile(filepath.Join(root, "a.txt"))
		check(err)
		fmt.Printf("change %d: %s %s, from %q to %q\n", entry.ID, entry.Record().Kind, entry.Record().Steps[0].Path, old, now)
	}
	// Output: change 1: write a.txt, from "old" to "new"
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
