//go:build !linux

package process

import (
	"errors"
	"os"
	"os/exec"
)

// canSupervise reports whether this system lets a process adopt the orphans of its
// descendants.
const canSupervise = false

// HelperMain does nothing on this system, which has no helpers.
func HelperMain() {}

// Undumpable does nothing on this system.
func Undumpable() error { return nil }

func startSupervised(_ string, _ *Helpers, spec Spec, stdin, stdout, stderr *os.File) (Running, error) {
	return startGroup(spec, stdin, stdout, stderr)
}

// awaitEnd returns false: this system cannot wait for a process without freeing its id.
func awaitEnd(int) bool { return false }

func adoptOrphans() error { return errors.New("only Linux lets a process adopt orphans") }

func startChild(cmd *exec.Cmd) error { return cmd.Start() }

func waitChild(cmd *exec.Cmd) error { return cmd.Wait() }

// Helpers does nothing on this system.
type Helpers struct{}

// Close does nothing on this system.
func (p *Helpers) Close() {}
