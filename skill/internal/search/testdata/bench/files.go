package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"slices"
	"sync/atomic"

	"textskill/skill/internal/search"
	"textskill/skill/internal/workspace"
)

// listing says which names of a folder are printed.
type listing struct {
	count bool   // only how many files there are
	glob  string // only names that match
	all   bool   // those that git ignores too
}

// files prints the files below a folder, sorted.
func files(path string, l listing) error {
	w, err := workspace.Open(workspace.Options{Dir: path})
	if err != nil {
		return err
	}
	defer w.Close()
	var names []string
	switch {
	case l.count:
		var n atomic.Int64
		_, err = search.Walk(context.Background(), w, w.Dir(), search.WalkOptions{Git: true}, func(_ int, e *search.Entry) error {
			if e.Type.IsRegular() {
				n.Add(1)
			}
			return nil
		})
		fmt.Println(n.Load())
	case l.glob != "":
		names, err = matching(w, l)
	default:
		names, err = listed(w, l)
	}
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(os.Stdout, 64<<10)
	for _, name := range names {
		out.WriteString(name)
		out.WriteByte('\n')
	}
	return out.Flush()
}

func matching(w *workspace.Workspace, l listing) ([]string, error) {
	g, err := search.ParseBraces(l.glob)
	if err != nil {
		return nil, err
	}
	found, err := search.Find(context.Background(), w, w.Dir(), g, search.FindOptions{Ignore: !l.all, Git: l.all})
	return found.Paths, err
}

func listed(w *workspace.Workspace, l listing) ([]string, error) {
	parts, bufs := make([][]string, search.Workers()), make([][]byte, search.Workers())
	_, err := search.Walk(context.Background(), w, w.Dir(), search.WalkOptions{Ignore: !l.all, Git: l.all}, func(worker int, e *search.Entry) error {
		if e.Type.IsRegular() {
			bufs[worker] = e.AppendPath(append(append(bufs[worker][:0], w.Dir()...), '/'))
			parts[worker] = append(parts[worker], string(bufs[worker]))
		}
		return nil
	})
	names := slices.Concat(parts...)
	slices.Sort(names)
	return names, err
}
