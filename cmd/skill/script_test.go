package main

import (
	"errors"
	"flag"
	"fmt"
	"image"
	"image/color/palette"
	"image/gif"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"textskill/skill"
	"textskill/testdata/needs"
)

// update rewrites what the tests compare with: the outputs that scripts compare,
// golden files and the README's table.
var update = flag.Bool("update", false, "rewrite goldens, scripts and the README's table")

// noSleep keeps a program with the race detector from sleeping a second at its end.
const noSleep = "GORACE=atexit_sleep_ms=0"

func TestMain(m *testing.M) {
	skill.HelperMain()
	testscript.Main(clean{m}, map[string]func(){"skill": main, packagedName: main})
}

// clean runs the tests without the settings of the user. The program, which the test
// binary is too, is given what its tests give it.
type clean struct{ *testing.M }

func (c clean) Run() int {
	return needs.Run(c.M)
}

// TestScript runs the program from end to end, a script for each side of it. Three
// commands are added: "exits CODE PROGRAM ARGS…" checks the exit code, and "holds
// FILE TEXT" compares a file with a text in which \n and \r are escaped; "picture FILE"
// makes one. The condition [mounts] is true where a file system may be mounted in a namespace, and
// where no test may be skipped. $PROGRAM is the program's path.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Condition:           condition,
		Setup: func(env *testscript.Env) error {
			state, err := os.MkdirTemp("", "skill-state") // the workspace is all that the script has
			if err != nil {
				return err
			}
			env.Defer(func() { os.RemoveAll(state) })
			program, err := exec.LookPath("skill")
			env.Vars = append(env.Vars, noSleep, "PROGRAM="+program, "XDG_STATE_HOME="+state)
			return err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "holds": holds,
			"picture": picture},
	})
}

// picture makes a GIF of one pixel. Its bytes cannot stand in a script.
func picture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: picture FILE")
	}
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	defer f.Close()
	ts.Check(gif.Encode(f, image.NewPaletted(image.Rect(0, 0, 1, 1), palette.WebSafe), nil))
}

func condition(name string) (bool, error) {
	if name != "mounts" {
		return false, fmt.Errorf("no condition %s", name)
	}
	return needs.All() || exec.Command("unshare", "-rm", "mount", "-t", "tmpfs", "none",
		os.TempDir()).Run() == nil, nil
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM [ARGS...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		ee, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%s: %v", args[1], err)
		}
		got = ee.ExitCode()
	}
	if got != want {
		ts.Fatalf("%s exited with %d, want %d", args[1], got, want)
	}
}

func holds(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: holds FILE TEXT")
	}
	want, err := strconv.Unquote(`"` + args[1] + `"`)
	ts.Check(err)
	if got := ts.ReadFile(args[0]); got != want {
		ts.Fatalf("%s holds %q, want %q", args[0], got, want)
	}
}
