package main

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
)

var manFolder = flag.String("man", "", "write the manual pages into this `folder`")

// TestManPages makes a manual page for each command, with all its flags. A release does it
// with -man; the program is without the pages' generator, which would add templates (see
// printHelp).
func TestManPages(t *testing.T) {
	c := &cli{stdout: io.Discard, stderr: io.Discard, getenv: func(string) string { return "" }}
	root := c.command(nil)
	root.DisableAutoGenTag = true
	c.addCommands(root, newOptions(""))
	dir := *manFolder
	if dir == "" {
		dir = t.TempDir()
	}
	head := doc.GenManHeader{Section: "1", Source: "skill", Manual: "skill"} // of the day in SOURCE_DATE_EPOCH
	if err := doc.GenManTree(root, &head, dir); err != nil {
		t.Fatal(err)
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
		if !strings.Contains(string(page), cmd.Short) {
			t.Errorf("%s does not say: %s", name, cmd.Short)
		}
	}
}
