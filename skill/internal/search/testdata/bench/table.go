package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// row compares this program with another.
type row struct {
	name   string
	own    []string
	theirs []string
	most   float64 // how much longer than the other it may take
}

// rows are what is compared below a folder that corpus made.
func rows(dir string) []row {
	tree, big := filepath.Join(dir, "tree"), filepath.Join(dir, "big.txt")
	list := []row{
		{"walk", []string{"-count", tree}, []string{"find", tree, "-type", "f"}, 0.6},
		{"glob `**/*.py`, sorted", []string{"-glob", "**/*.py", "-all", tree}, []string{"fdfind", "-uu", "-t", "f", "-g", "*.py", tree}, 0.7},
		{"list without what git ignores, sorted", []string{"-list", tree}, []string{"rg", "--files", "--hidden", "--glob", "!.git", tree}, 0.5},
	}
	for _, p := range [][]string{
		{"rare literal", "xyzzy_needle_42"}, {"common literal", "return"}, {"`def\\s+\\w+`", `def\s+\w+`},
		{"either case", "-i", "valueerror"}, {"no match", "qqqqzzzzjjjj"}, {"four alternatives", "import|return|raise|class"},
		{"no literal", `\w+\s+=\s+\w+\[\d+\]`},
	} {
		for i, where := range []string{tree, big} {
			own := append(slices.Clone(p[1:]), where)
			theirs := slices.Concat([]string{"rg", "-uu", "-n"}, own)
			list = append(list, row{"grep, " + []string{"tree", "file"}[i] + ": " + p[0], own, theirs, []float64{1.2, 1.3}[i]})
		}
	}
	return list
}

// table prints the rows whose names hold only as Markdown.
func table(dir, only string) error {
	if err := corpus(dir); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	fmt.Println("| | reference | ms | own ms | ratio | at the most |\n|---|---|---|---|---|---|")
	for _, r := range rows(dir) {
		if !strings.Contains(r.name, only) {
			continue
		}
		r.own = append([]string{self}, r.own...)
		if err := r.sameLines(); err != nil {
			return err
		}
		best := [2]time.Duration{math.MaxInt64, math.MaxInt64}
		for range 15 {
			for i, args := range [][]string{r.theirs, r.own} {
				cmd := exec.Command(args[0], args[1:]...)
				cmd.Stdout = sink{}
				start := time.Now()
				if err := exitsWell(cmd.Run()); err != nil {
					return err
				}
				best[i] = min(best[i], time.Since(start))
			}
		}
		ratio := float64(best[1]) / float64(best[0])
		fmt.Printf("| %s | %s | %d | %d | %.2f | %.1f |\n", r.name, r.theirs[0], best[0].Milliseconds(), best[1].Milliseconds(), ratio, r.most)
	}
	return nil
}

// sink takes what is printed through a pipe. With a null device as standard output
// rg would stop at the first line of a file.
type sink struct{}

func (sink) Write(p []byte) (int, error) { return len(p), nil }

// sameLines fails if the two programs do not print as many lines.
func (r row) sameLines() error {
	var n [2]int
	for i, args := range [][]string{r.theirs, r.own} {
		out, err := exec.Command(args[0], args[1:]...).Output()
		if err := exitsWell(err); err != nil {
			return err
		}
		n[i] = bytes.Count(out, []byte("\n"))
		if slices.Contains(args, "-count") {
			fmt.Sscan(string(out), &n[i])
		}
	}
	if n[0] != n[1] {
		return fmt.Errorf("%s: %d lines, and %s prints %d", r.name, n[1], r.theirs[0], n[0])
	}
	return nil
}

// exitsWell passes over the status 1 of a search that finds nothing.
func exitsWell(err error) error {
	if exit, ok := err.(*exec.ExitError); ok && exit.ExitCode() == 1 && len(exit.Stderr) == 0 {
		return nil
	}
	return err
}
