//go:build !linux

package tree

// SetWaiting does nothing on this system.
func SetWaiting(int, bool) {}

// Waiting reports false on this system.
func Waiting(int) bool { return false }
