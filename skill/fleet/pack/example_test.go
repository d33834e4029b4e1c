package pack_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"textskill/skill/fleet/pack"
)

// kept stores blobs in memory.
type kept map[string][]byte

func (k kept) Put(_ context.Context, sum string, data []byte) error {
	k[sum] = append([]byte(nil), data...)
	return nil
}

func (k kept) Get(_ context.Context, sum string) ([]byte, error) {
	if data, ok := k[sum]; ok {
		return data, nil
	}
	return nil, errors.New("there is no blob " + sum)
}

// Copy the files of one folder to another folder.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	err = errors.Join(os.Mkdir(from, 0o777), os.Mkdir(to, 0o777),
		os.WriteFile(filepath.Join(from, "a.txt"), []byte("hi"), 0o666))
	if err != nil {
		log.Fatal(err)
	}
	ctx, o := context.Background(), pack.Options{Blobs: kept{}}
	folder, err := pack.Open(o, from)
	if err != nil {
		log.Fatal(err)
	}
	manifest, err := folder.Snapshot(ctx, nil, true)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := pack.Restore(ctx, o, manifest, to); err != nil {
		log.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(to, "a.txt"))
	fmt.Println(string(data), err)
	// Output: hi <nil>
}
