package main

import (
	"cmp"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
)

var manFolder = flag.String("man", "", "write the manual pages into this `folder`")

// TestManPages makes a manual page for each command, with all its flags, under either name of
// the program. A release does it with -man; the generator is not part of the program.
func TestManPages(t *testing.T) {
	for _, name := range []string{"", packagedName} {
		manPages(t, &cli{console: console{name: name, stdout: io.Discard, stderr: io.Discard, getenv: func(string) string { return "" }}})
	}
}

// otherName is a command to type that is not the program's, where that has packagedName.
var otherName = regexp.MustCompile(`(?m)(^|[^\w/.\n]|start )skill( (\\?-|\[|[a-z]+ [A-Z]+$|undo|run|log|trust|help|mcp|test|setup|diff|doctor|config|web)|$)`)

func manPages(t *testing.T, c *cli) {
	root := c.command(nil)
	root.DisableAutoGenTag = true
	c.addCommands(root, &configuration{})
	dir := cmp.Or(*manFolder, t.TempDir())
	// of the day in SOURCE_DATE_EPOCH
	head := doc.GenManHeader{Section: "1", Source: root.Name(), Manual: root.Name()}
	if err := doc.GenManTree(root, &head, dir); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, root.Name()+"*.1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		page, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if wrong := otherName.Find(page); wrong != nil && c.name != "" {
			t.Errorf("%s says to type another program: %q", filepath.Base(file), wrong)
		}
	}
	for _, cmd := range append(root.Commands(), root) {
		if !cmd.IsAvailableCommand() {
			continue
		}
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
		page, err := os.ReadFile(filepath.Join(dir, name+".1"))
		if err != nil {
			t.Error(err)
			continue
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && !strings.Contains(string(page), "--"+f.Name) {
				t.Errorf("%s does not have --%s", name, f.Name)
			}
		})
		for line := range strings.SplitSeq(cmd.Long, "\n") {
			if n := utf8.RuneCountInString(line); n > 92 {
				t.Errorf("the help of %s has a line of %d characters: %s", name, n, line)
			}
		}
		if !strings.Contains(string(page), cmd.Short) {
			t.Errorf("%s does not say: %s", name, cmd.Short)
		}
	}
}
