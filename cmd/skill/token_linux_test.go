package main

import (
	"os"
	"path/filepath"
	"testing"

	"textskill/skill"
	"textskill/testdata/needs"
)

// The power fails after a token was made that clients are given, and its name is on the disk: it is
// that token.
func TestPowerCutAfterToken(t *testing.T) {
	needs.EachDisk(t, 1, "SKILL_TEST_CUTS", func(t *testing.T, cuts int, disks []*needs.Disk) {
		disk := disks[0]
		c := &cli{console: console{getenv: func(string) string { return disk.Dir }}}
		o := &workspaceOptions{Config: skill.Config{Dir: t.TempDir()}}
		want, _, err := c.ownToken(o)
		if err != nil {
			t.Fatal(err)
		}
		dir, err := os.Open(filepath.Join(disk.Dir, "skill"))
		if err != nil {
			t.Fatal(err)
		}
		dir.Sync()
		dir.Close()
		disk.Cut()
		disk.Remount()
		if got, _, err := c.ownToken(o); got != want {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	})
}
