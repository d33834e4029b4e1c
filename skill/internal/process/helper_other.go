//go:build !linux

package process

import "os"

// canHelp reports whether this system lets a process adopt what its descendants
// leave behind.
const canHelp = false

// HelperMain does nothing where there are no helpers.
func HelperMain() {}

// Undumpable does nothing here.
func Undumpable() error { return nil }

func startHelped(_ string, o Spec, stdin, stdout, stderr *os.File) (Running, error) {
	return startGroup(o, stdin, stdout, stderr)
}

// awaitEnd cannot see the end of a process without taking its number from it.
func awaitEnd(int) bool { return false }
