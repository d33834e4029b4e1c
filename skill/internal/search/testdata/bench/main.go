// Command bench prints the lines that a search finds, as rg -uu -n does, or the
// names of files. With -table it prints how it compares with other programs.
package main

import (
	"bufio"
	"context"
	"flag"
	"log"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strconv"
	"sync"

	"textskill/skill/internal/search"
	"textskill/skill/internal/workspace"
)

func main() {
	fold := flag.Bool("i", false, "letters match in either case")
	profile := flag.String("profile", "", "`file` for a CPU profile")
	var l listing
	flag.BoolVar(&l.count, "count", false, "count the files")
	flag.StringVar(&l.glob, "glob", "", "list the names that match `PATTERN`")
	flag.BoolVar(&l.all, "all", false, "those that git ignores too")
	list := flag.Bool("list", false, "list the files")
	only := flag.String("only", "", "the rows of the table that hold `TEXT`")
	inTable := flag.Bool("table", false, "compare, with files that are made in PATH")
	flag.Usage = func() {
		log.Fatal("usage: bench [-i] [-profile FILE] PATTERN PATH, bench -count|-list|-glob PATTERN [-all] PATH, or bench -table [-only TEXT] PATH")
	}
	flag.Parse()
	if *profile != "" {
		f, err := os.Create(*profile)
		if err != nil {
			log.Fatal(err)
		}
		pprof.StartCPUProfile(f)
		defer pprof.StopCPUProfile()
	}
	var err error
	switch {
	case *inTable:
		err = table(flag.Arg(0), *only)
	case *list || l.count || l.glob != "":
		err = files(flag.Arg(0), l)
	default:
		err = run(flag.Arg(0), flag.Arg(1), *fold)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func run(expr, path string, fold bool) error {
	abs, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	w, err := workspace.Open(workspace.Options{Dir: filepath.Dir(abs)})
	if err != nil {
		return err
	}
	defer w.Close()
	p, err := search.Compile(expr, search.PatternOptions{FoldCase: fold})
	if err != nil {
		return err
	}
	out := printer{w: bufio.NewWriterSize(os.Stdout, 64<<10)}
	if _, err := search.Grep(context.Background(), w, abs, p, search.GrepOptions{WalkOptions: search.WalkOptions{Git: true}}, out.print); err != nil {
		return err
	}
	return out.w.Flush()
}

type printer struct {
	mu     sync.Mutex
	w      *bufio.Writer
	number []byte
}

// print writes FILE:NUMBER:TEXT for every line.
func (o *printer) print(file string, lines []search.Line) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, line := range lines {
		o.w.WriteString(file)
		o.number = append(strconv.AppendInt(append(o.number[:0], ':'), int64(line.Number), 10), ':')
		o.w.Write(o.number)
		o.w.Write(line.Text)
		o.w.WriteByte('\n')
	}
}
